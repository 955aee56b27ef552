/* Attention maps and other figures as SVG, PNG and PDF files. */
#ifndef TOOLS_ATTEND_DRAWING_FILES_H
#define TOOLS_ATTEND_DRAWING_FILES_H

#include "output.h"

/* The files asked for; NULL: not asked for. With several figures, a number is added to each name.
 */
typedef struct drawing_files {
    const char *svg;
    const char *png;
    const char *pdf;
    double scale; /* PNG pixels per SVG pixel; 0: the default */
    int digits;   /* of maps, as in att_render_options; 0: the default */
    bool arcs;    /* draw maps as arcs between words */
} drawing_files;

bool drawing_files_any(const drawing_files *asked);

/* The error in the names, or NULL. Figures cannot go to standard output: there may be several, and
 * it has the document. */
const char *drawing_files_conflict(const drawing_files *asked);

/* A figure that can be drawn as SVG; `flat` if it will be rasterized. */
typedef struct drawing_source {
    const char *name; /* "map": printed when its file was written */
    att_status (*svg)(att_string *out, const void *of, bool flat, att_error *err);
    const void *object;
} drawing_source;

/* Draws each figure into *files, to be written later. */
att_status drawing_files_draw(output_list *files, const drawing_source *figures, size_t count,
                              const drawing_files *asked, att_error *err);

att_status drawing_files_draw_maps(output_list *files, const att_map *const *maps, size_t count,
                                   const drawing_files *asked, att_error *err);

/* A figure that is SVG already; `name` is printed when its file was written. */
att_status drawing_files_draw_svg(output_list *files, const att_string *svg, const char *name,
                                  const drawing_files *asked, att_error *err);

/* Appends `svg` as PNG, with `scale` pixels per SVG pixel, or as a one-page PDF, to *out (librsvg
 * and cairo; rasterize.c). The same SVG gives the same bytes. ATT_UNSUPPORTED if the program was
 * built without librsvg. */
att_status rasterize_png(att_string *out, const att_string *svg, double scale, att_error *err);
att_status rasterize_pdf(att_string *out, const att_string *svg, att_error *err);

#endif
