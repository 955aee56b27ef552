/* The maps that `plot` lines asked for, as picture files. */
#ifndef PICTURES_H
#define PICTURES_H

#include "output.h"
#include "sheets.h"

/* The files asked for; NULL where a kind is not. Of several maps, each file gets a number. */
typedef struct picture_files {
    const char *svg;
    const char *png;
    const char *pdf;
    double scale; /* pixels of a PNG to a pixel of the SVG; 0: the usual */
} picture_files;

/* Draws every map of the sheets into *files, to be written later. */
att_status pictures_make(output_list *files, const sheet_list *sheets, const picture_files *asked,
                         att_error *err);

#endif
