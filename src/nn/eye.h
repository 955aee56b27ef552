/* How a model sees pictures: convolutions where it is given pixels, or what another network saw
 * normalised; then every cell as a vector of the model's width, with its row and column added. */
#ifndef ATT_NN_EYE_H
#define ATT_NN_EYE_H

#include "nn/build.h"
#include "settings/settings.h"
#include "tape/ops.h"

enum { ATT_MOST_CONVOLUTIONS = 8 };

typedef struct att_eye {
    int64_t in_rows, in_columns, depth; /* of pictures as they come */
    int64_t rows, columns;              /* of the cells that the model looks at */
    int64_t width;                      /* N */
    int convolutions;
    struct {
        int w, bias; /* [3 3 C, C'], [C'] */
    } convolution[ATT_MOST_CONVOLUTIONS];
    int gain, shift;               /* [depth] of the norm, where there are no convolutions */
    int project_w, project_b;      /* [C,N], [N] */
    int row_places, column_places; /* [rows,N], [columns,N]; or none */
    float dropout;
    uint64_t drop_place;
} att_eye;

/* Adds its parameters, named "eye.…". Pictures too small for their convolutions, or of no size, are
 * ATT_BAD_INPUT. */
void att_eye_build(att_eye *out, att_builder *builder, const att_settings *settings,
                   uint64_t drop_place);

/* Sees `count` pictures [count,in_rows,in_columns,depth], which are lent to the tape: [count, rows
 * columns, N]. */
att_node *att_eye_run(const att_eye *eye, att_tape *tape, int64_t count, const float *pictures);

/* Cells that the model looks at. */
int64_t att_eye_cells(const att_eye *eye);

/* The mean of each picture's cells, x [count,cells,N]: [count,N]. */
att_node *att_eye_mean(const att_eye *eye, att_tape *tape, att_node *x);

#endif
