/* Images as grids of vectors, row by row: features of an image encoder per cell, or pixels. */
#ifndef ATT_DATA_IMAGE_GRIDS_H
#define ATT_DATA_IMAGE_GRIDS_H

#include "attend.h"

typedef struct att_image_grids {
    int64_t count, rows, columns, depth;
    float *values;    /* [count,rows,columns,depth] */
    att_tensor owned; /* holds `values` if they are owned; else empty */
} att_image_grids;

/* Reads a .npy file of shape [images,cells,depth] or [images,rows,columns,depth]. Cells form a
 * square unless `rows` is given (0: not given). Values are multiplied by `scale`: a number, or the
 * name of a .npy file with one factor or one per channel; NULL: 1. A NaN or infinity is
 * ATT_BAD_INPUT, naming the image and the cell. */
att_status att_image_grids_load(att_image_grids *out, const char *path, int64_t rows,
                                const char *scale, att_error *err);

/* The same for a tensor in memory, which is not copied; `name` stands for it in errors. */
att_status att_image_grids_view(att_image_grids *out, const att_tensor *values, int64_t rows,
                                const char *name, att_error *err);

/* Allocates grids of zeros. */
att_status att_image_grids_new(att_image_grids *out, int64_t count, int64_t rows, int64_t columns,
                               int64_t depth, att_error *err);

void att_image_grids_free(att_image_grids *grids);

/* The number of values of an image, and the values of one image. */
int64_t att_image_grids_stride(const att_image_grids *grids);
const float *att_image_grids_get(const att_image_grids *grids, int64_t image);

#endif
