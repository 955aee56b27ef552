/* Figures drawn as SVG, and rasterized where PNG or PDF files were asked for. */
#include "drawing_files.h"

#include "drawing_process.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Twice the size of the SVG is sharp on high-resolution screens and in print. */
static const double default_scale = 2;

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

/* Adds the output file of figure `index` of `count`; NULL if memory is out. */
static output_file *add_file(output_list *files, const char *path, const drawing_source *figure,
                             size_t index, size_t count)
{
    att_string name = { 0 };
    output_file *file = NULL;
    if (numbered(&name, path, index, count) == ATT_OK)
        file = output_add(files, name.data, figure->name);
    att_string_free(&name);
    return file;
}

/* All figures as SVG, which the library draws. */
static att_status draw_all_svg(output_list *files, const drawing_source *figures, size_t count,
                               const char *path, att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        output_file *file = add_file(files, path, &figures[i], i, count);
        if (!file)
            return error_memory(err);
        att_status status = figures[i].svg(&file->bytes, figures[i].object, false, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

/* Appends the jobs that draw all figures in one file format. */
static att_status add_jobs(drawing_job *jobs, size_t *job_count, output_list *files,
                           const drawing_source *figures, size_t count, const char *path,
                           draw_function *draw, double scale)
{
    for (size_t i = 0; i < count && path; i++) {
        if (!add_file(files, path, &figures[i], i, count))
            return ATT_NO_MEMORY;
        jobs[(*job_count)++] = (drawing_job){ files->count - 1, &figures[i], draw, scale };
    }
    return ATT_OK;
}

/* All figures as PNG and PDF: one process draws them, since loading its fonts takes longer than a
 * drawing. */
static att_status draw_all_rasterized(output_list *files, const drawing_source *figures,
                                      size_t count, const drawing_files *asked, att_error *err)
{
    drawing_job *jobs = calloc(2 * count + 1, sizeof *jobs);
    if (!jobs)
        return error_memory(err);
    size_t job_count = 0;
    att_status status =
        add_jobs(jobs, &job_count, files, figures, count, asked->png, draw_png, asked->scale);
    if (status == ATT_OK)
        status = add_jobs(jobs, &job_count, files, figures, count, asked->pdf, draw_pdf, 0);
    if (status == ATT_OK)
        status = drawing_process_run(files, jobs, job_count, err);
    else
        error_memory(err);
    free(jobs);
    return status;
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
    att_status status = ATT_OK;
    if (asked->svg)
        status = draw_all_svg(files, figures, count, asked->svg, err);
    if (status == ATT_OK && (asked->png || asked->pdf))
        status = draw_all_rasterized(files, figures, count, asked, err);
    return status;
}

typedef struct map_figure {
    const att_map *map;
    int digits;
    bool arcs;
} map_figure;

static att_status map_svg(att_string *out, const void *object, bool flat, att_error *err)
{
    const map_figure *figure = object;
    att_render_options options = output_format(ATT_FORMAT_SVG);
    options.flat = flat;
    options.digits = figure->digits;
    options.arcs = figure->arcs;
    return att_map_render(out, figure->map, &options, err);
}

att_status drawing_files_draw_maps(output_list *files, const att_map *const *maps, size_t count,
                                   const drawing_files *asked, att_error *err)
{
    drawing_source *sources = calloc(count + 1, sizeof *sources);
    map_figure *figures = calloc(count + 1, sizeof *figures);
    for (size_t i = 0; sources && figures && i < count; i++) {
        figures[i] = (map_figure){ maps[i], asked->digits, asked->arcs };
        sources[i] = (drawing_source){ "map", map_svg, &figures[i] };
    }
    att_status status = sources && figures ? drawing_files_draw(files, sources, count, asked, err)
                                           : error_memory(err);
    free(sources);
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
