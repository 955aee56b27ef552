/* Models that copy (the setting `copy`, pointer-generators): the tokens of the sources that can be
 * copied, the loss, and the log-probabilities of a step. The formula is in reference/loss.h; where
 * the gate and the attention weights come from is up to the architecture (nn/copy_layer.h). */
#ifndef ATT_MODEL_COPYING_H
#define ATT_MODEL_COPYING_H

#include "model/model.h"

/* The index of sources, which replaces that of earlier ones. Release with att_copy_index_free(). */
att_status att_copy_index_set(att_copy_index *index, const att_model *model,
                              const att_sources *sources, att_error *err);
void att_copy_index_free(att_copy_index *index);

/* The same in the memory of a tape, for a loss; NULL on failure. */
const att_copy_index *att_copy_index_on_tape(att_tape *tape, const att_model *model,
                                             const att_sources *sources);

/* Tokens for the embedding of the decoder: those that the vocabulary lacks are unknown. In the
 * memory of the tape; NULL on failure. */
const int32_t *att_copy_decoder_input(att_tape *tape, const att_copy_index *index,
                                      const int32_t *tokens, int64_t count);

/* The loss of rows (tape/ops.h) and, if `predicted` is not NULL, whether each target of 0 or more
 * is the most probable token, the first of equals. */
att_node *att_copy_loss(att_tape *tape, const att_copy_inputs *in, const att_copy_index *index,
                        const int64_t *source_of, const int32_t *targets, float label_smoothing,
                        float *losses, bool *predicted);

/* The most probable token of each row, in the memory of the tape; NULL on failure. */
const int32_t *att_copy_argmax(att_tape *tape, const att_copy_inputs *in,
                               const att_copy_index *index, const int64_t *source_of);

/* Sets log_probs and copied of a step. */
void att_copy_output(att_tape *tape, const att_copy_inputs *in, const att_copy_index *index,
                     const int64_t *source_of, att_decoder_output *out);

#endif
