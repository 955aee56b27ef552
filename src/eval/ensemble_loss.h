/* The loss of an ensemble with teacher forcing: the decoders of all models are fed the reference
 * token by token, and their probabilities are averaged at each step. It cannot be computed from the
 * losses of the single models. */
#ifndef ATT_EVAL_ENSEMBLE_LOSS_H
#define ATT_EVAL_ENSEMBLE_LOSS_H

#include "decode/session.h"

/* Adds the loss of the targets of a batch to *result. For a single model, it adds the same as
 * att_model_loss(). */
att_status att_ensemble_loss(att_loss_result *result, att_session *session, const att_batch *batch,
                             att_error *err);

#endif
