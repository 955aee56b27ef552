/* Pictures as grids of vectors, row by row: what a network saw in each cell, or pixels. */
#ifndef ATT_DATA_IMAGE_GRIDS_H
#define ATT_DATA_IMAGE_GRIDS_H

#include "attend.h"

typedef struct att_image_grids {
    int64_t count, rows, columns, depth;
    float *values;    /* [count,rows,columns,depth] */
    att_tensor owned; /* them, where they are owned; else they are lent */
} att_image_grids;

/* Reads a .npy file of [pictures,cells,depth] or [pictures,rows,columns,depth]. Cells are a square,
 * unless `rows` (0: not known) says otherwise. Values are multiplied by `scale`: a number, or the
 * name of a .npy file of one number or one for each of the depth; NULL: taken as they are. What is
 * no number in them is ATT_BAD_INPUT, which names the picture and the cell. */
att_status att_image_grids_load(att_image_grids *out, const char *path, int64_t rows,
                                const char *scale, att_error *err);

/* The same of a tensor in memory, which is lent; `name` stands for it in errors. */
att_status att_image_grids_view(att_image_grids *out, const att_tensor *values, int64_t rows,
                                const char *name, att_error *err);

/* Room for so many, of zeros. */
att_status att_image_grids_new(att_image_grids *out, int64_t count, int64_t rows, int64_t columns,
                               int64_t depth, att_error *err);

void att_image_grids_free(att_image_grids *grids);

/* Numbers of one picture, and where those of a picture are. */
int64_t att_image_grids_stride(const att_image_grids *grids);
const float *att_image_grids_get(const att_image_grids *grids, int64_t picture);

#endif
