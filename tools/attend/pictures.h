/* Attention maps, and whatever else can be drawn, as picture files. */
#ifndef PICTURES_H
#define PICTURES_H

#include "output.h"

/* The files asked for; NULL where a kind is not. Of several pictures, each file gets a number. */
typedef struct picture_files {
    const char *svg;
    const char *png;
    const char *pdf;
    double scale; /* pixels of a PNG to a pixel of the SVG; 0: the usual */
} picture_files;

/* Whether any is asked for. */
bool pictures_asked(const picture_files *asked);

/* What is wrong with the files as they are named, or NULL: pictures are files, for there may be
 * several, and standard output is the document's. */
const char *pictures_bad(const picture_files *asked);

/* What can be drawn: as SVG, `flat` for a rasteriser. */
typedef struct picture {
    const char *name; /* "map": what it is, told when its file was written */
    att_status (*svg)(att_text *out, const void *of, bool flat, att_error *err);
    const void *of;
} picture;

/* Draws each of the pictures into *files, to be written later. */
att_status pictures_draw(output_list *files, const picture *pictures, size_t count,
                         const picture_files *asked, att_error *err);

/* The same for maps. */
att_status pictures_make(output_list *files, const att_map *const *maps, size_t count,
                         const picture_files *asked, att_error *err);

/* One drawing that is SVG already; `what` names it on standard error, and stays. */
att_status pictures_of_svg(output_list *files, const att_text *svg, const char *what,
                           const picture_files *asked, att_error *err);

#endif
