/* Attention maps, and whatever else can be drawn, as picture files. */
#ifndef TOOLS_ATTEND_DRAWING_FILES_H
#define TOOLS_ATTEND_DRAWING_FILES_H

#include "output.h"

/* The files asked for; NULL where a kind is not. Of several pictures, each file gets a number. */
typedef struct drawing_files {
    const char *svg;
    const char *png;
    const char *pdf;
    double scale; /* pixels of a PNG to a pixel of the SVG; 0: the usual */
} drawing_files;

/* Whether any is asked for. */
bool drawing_files_any(const drawing_files *asked);

/* What is wrong with the files as they are named, or NULL: pictures are files, for there may be
 * several, and standard output is the document's. */
const char *drawing_files_conflict(const drawing_files *asked);

/* What can be drawn: as SVG, `flat` for a rasteriser. */
typedef struct drawing_source {
    const char *name; /* "map": what it is, told when its file was written */
    att_status (*svg)(att_string *out, const void *of, bool flat, att_error *err);
    const void *object;
} drawing_source;

/* Draws each of the pictures into *files, to be written later. */
att_status drawing_files_draw(output_list *files, const drawing_source *pictures, size_t count,
                              const drawing_files *asked, att_error *err);

/* The same for maps. */
att_status drawing_files_draw_maps(output_list *files, const att_map *const *maps, size_t count,
                                   const drawing_files *asked, att_error *err);

/* One drawing that is SVG already; `what` names it on standard error, and stays. */
att_status drawing_files_draw_svg(output_list *files, const att_string *svg, const char *what,
                                  const drawing_files *asked, att_error *err);

#endif
