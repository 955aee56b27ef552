/* Values that are not finite: finite but huge weights overflow to infinities and NaN, which would
 * become confident outputs. A check of the final scores finds them at no cost; then the layers of
 * the forward pass, which the tape has kept, are searched for the first where they appeared.
 *
 * The error is ATT_BAD_INPUT: "encoder layer 1: its output is not finite (inf); …". Its `line` is
 * the row of the batch, from 1, which callers replace by the number of the input line. -inf in a
 * row with other scores is not an error: such a token is impossible. */
#ifndef ATT_MODEL_LAYER_CHECK_H
#define ATT_MODEL_LAYER_CHECK_H

#include "model/model.h"

/* Fails for row `row` of `rows` rows: names the first layer on the tape with a value that is not
 * finite; where there is none, the output layer, whose score the caller found to be `found`. */
att_status att_layer_fail(const att_tape *tape, int64_t row, int64_t rows, double found,
                          att_error *err);

/* Checks the layers that encoded these sources, all of them, but not at padding. */
att_status att_layer_check_encoded(const att_tape *tape, const att_sources *sources,
                                   att_error *err);

/* Checks all layers on the tape, of a single input: `line` stays 0. */
att_status att_layer_check(const att_tape *tape, att_error *err);

/* Checks the losses of a batch after att_model_loss(). */
att_status att_layer_check_losses(const att_tape *tape, const att_loss_result *result, int64_t rows,
                                  att_error *err);

/* Replaces the row in `line` by the number of an input line, which is `indices[row] + 1`; NULL: by
 * 0. Other errors have no line, and keep none. */
void att_layer_error_line(att_status status, const int64_t *indices, att_error *err);

#endif
