/* Picture files; see pictures.h. */
#include "drawing_files.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

/* Twice the size of the SVG is sharp on the screens and in the papers of today. */
static const double default_scale = 2;

/* A kind of picture: draws what there is into *out. */
typedef att_status draw_function(att_string *out, const drawing_source *what, double scale,
                                 att_error *err);

static att_status draw_svg(att_string *out, const drawing_source *what, double scale,
                           att_error *err)
{
    (void)scale;
    return what->svg(out, what->object, false, err);
}

static att_status draw_png(att_string *out, const drawing_source *what, double scale,
                           att_error *err)
{
    att_string svg = { 0 };
    att_status status = what->svg(&svg, what->object, true, err);
    if (status == ATT_OK)
        status = rasterize_png(out, &svg, scale > 0 ? scale : default_scale, err);
    att_string_free(&svg);
    return status;
}

static att_status draw_pdf(att_string *out, const drawing_source *what, double scale,
                           att_error *err)
{
    (void)scale;
    att_string svg = { 0 };
    att_status status = what->svg(&svg, what->object, true, err);
    if (status == ATT_OK)
        status = rasterize_pdf(out, &svg, err);
    att_string_free(&svg);
    return status;
}

/* `path` itself for the only picture; otherwise "maps.svg" becomes "maps-3.svg". */
static att_status numbered(att_string *out, const char *path, size_t index, size_t count)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot != name ? (size_t)(dot - path) : strlen(path);
    char number[32] = "";
    if (count > 1)
        snprintf(number, sizeof number, "-%zu", index + 1);
    return string_join(out, (string_piece[]){ { path, stem },
                                              { number, strlen(number) },
                                              { path + stem, strlen(path + stem) },
                                              { 0 } });
}

/* All of them as one kind of picture. */
static att_status draw_all(output_list *files, const drawing_source *pictures, size_t count,
                           const char *path, draw_function *draw, double scale, att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        att_string name = { 0 };
        output_file *file = NULL;
        if (numbered(&name, path, i, count) == ATT_OK)
            file = output_add(files, name.data, pictures[i].name);
        att_string_free(&name);
        if (!file)
            return error_memory(err);
        att_status status = draw(&file->bytes, &pictures[i], scale, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

bool drawing_files_any(const drawing_files *asked)
{
    return asked->svg || asked->png || asked->pdf;
}

const char *drawing_files_conflict(const drawing_files *asked)
{
    const char *const paths[] = { asked->svg, asked->png, asked->pdf };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i] && (strcmp(paths[i], "-") == 0 || !paths[i][0]))
            return "--svg, --png and --pdf draw into files, not to standard output";
    if (asked->scale > 0 && !asked->png)
        return "--scale is for --png";
    return NULL;
}

att_status drawing_files_draw(output_list *files, const drawing_source *pictures, size_t count,
                              const drawing_files *asked, att_error *err)
{
    const struct {
        const char *path;
        draw_function *draw;
    } kinds[] = { { asked->svg, draw_svg }, { asked->png, draw_png }, { asked->pdf, draw_pdf } };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kinds[i].path)
            continue;
        att_status status =
            draw_all(files, pictures, count, kinds[i].path, kinds[i].draw, asked->scale, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

static att_status map_svg(att_string *out, const void *map, bool flat, att_error *err)
{
    return (flat ? att_map_svg_flat : att_map_svg)(out, map, err);
}

att_status drawing_files_draw_maps(output_list *files, const att_map *const *maps, size_t count,
                                   const drawing_files *asked, att_error *err)
{
    drawing_source *pictures = calloc(count + 1, sizeof *pictures);
    if (!pictures)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        pictures[i] = (drawing_source){ "map", map_svg, maps[i] };
    att_status status = drawing_files_draw(files, pictures, count, asked, err);
    free(pictures);
    return status;
}

static att_status copy_svg(att_string *out, const void *svg, bool flat, att_error *err)
{
    const att_string *made = svg;
    (void)flat;
    return att_string_append(out, made->data, made->length) == ATT_OK ? ATT_OK : error_memory(err);
}

att_status drawing_files_draw_svg(output_list *files, const att_string *svg, const char *what,
                                  const drawing_files *asked, att_error *err)
{
    return drawing_files_draw(files, &(drawing_source){ what, copy_svg, svg }, 1, asked, err);
}
