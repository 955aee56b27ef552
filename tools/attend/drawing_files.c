/* Figures drawn as SVG, and rasterized where PNG or PDF files were asked for. */
#include "drawing_files.h"

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Twice the size of the SVG is sharp on high-resolution screens and in print. */
static const double default_scale = 2;

/* A file format: appends the figure to *out. */
typedef att_status draw_function(att_string *out, const drawing_source *figure, double scale,
                                 att_error *err);

static att_status draw_svg(att_string *out, const drawing_source *figure, double scale,
                           att_error *err)
{
    (void)scale;
    return figure->svg(out, figure->object, false, err);
}

static att_status draw_png(att_string *out, const drawing_source *figure, double scale,
                           att_error *err)
{
    att_string svg = { 0 };
    att_status status = figure->svg(&svg, figure->object, true, err);
    if (status == ATT_OK)
        status = rasterize_png(out, &svg, scale > 0 ? scale : default_scale, err);
    att_string_free(&svg);
    return status;
}

static att_status draw_pdf(att_string *out, const drawing_source *figure, double scale,
                           att_error *err)
{
    (void)scale;
    att_string svg = { 0 };
    att_status status = figure->svg(&svg, figure->object, true, err);
    if (status == ATT_OK)
        status = rasterize_pdf(out, &svg, err);
    att_string_free(&svg);
    return status;
}

/* `path` for a single figure; of several, "maps.svg" becomes "maps-3.svg". */
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

/* All figures in one file format. */
static att_status draw_all(output_list *files, const drawing_source *figures, size_t count,
                           const char *path, draw_function *draw, double scale, att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        att_string name = { 0 };
        output_file *file = NULL;
        if (numbered(&name, path, i, count) == ATT_OK)
            file = output_add(files, name.data, figures[i].name);
        att_string_free(&name);
        if (!file)
            return error_memory(err);
        att_status status = draw(&file->bytes, &figures[i], scale, err);
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
            return "--svg, --png and --pdf expect a file, not standard output";
    if (asked->scale > 0 && !asked->png)
        return "--scale needs --png";
    return NULL;
}

att_status drawing_files_draw(output_list *files, const drawing_source *figures, size_t count,
                              const drawing_files *asked, att_error *err)
{
    const struct {
        const char *path;
        draw_function *draw;
    } formats[] = { { asked->svg, draw_svg }, { asked->png, draw_png }, { asked->pdf, draw_pdf } };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].path)
            continue;
        att_status status =
            draw_all(files, figures, count, formats[i].path, formats[i].draw, asked->scale, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

static att_status map_svg(att_string *out, const void *map, bool flat, att_error *err)
{
    att_render_options options = output_format(ATT_FORMAT_SVG);
    options.flat = flat;
    return att_map_render(out, map, &options, err);
}

att_status drawing_files_draw_maps(output_list *files, const att_map *const *maps, size_t count,
                                   const drawing_files *asked, att_error *err)
{
    drawing_source *figures = calloc(count + 1, sizeof *figures);
    if (!figures)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        figures[i] = (drawing_source){ "map", map_svg, maps[i] };
    att_status status = drawing_files_draw(files, figures, count, asked, err);
    free(figures);
    return status;
}

static att_status copy_svg(att_string *out, const void *svg, bool flat, att_error *err)
{
    const att_string *text = svg;
    (void)flat;
    return att_string_append(out, text->data, text->length) == ATT_OK ? ATT_OK : error_memory(err);
}

att_status drawing_files_draw_svg(output_list *files, const att_string *svg, const char *name,
                                  const drawing_files *asked, att_error *err)
{
    return drawing_files_draw(files, &(drawing_source){ name, copy_svg, svg }, 1, asked, err);
}
