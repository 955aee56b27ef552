/* Attention maps as picture files. */
#ifndef PICTURES_H
#define PICTURES_H

#include "output.h"

/* The files asked for; NULL where a kind is not. Of several maps, each file gets a number. */
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

/* Draws each of the maps into *files, to be written later. */
att_status pictures_make(output_list *files, const att_map *const *maps, size_t count,
                         const picture_files *asked, att_error *err);

#endif
