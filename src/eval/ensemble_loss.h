/* References followed token by token by models that decode together: the loss of an ensemble, which
 * no single model's training loss is. */
#ifndef ATT_EVAL_ENSEMBLE_LOSS_H
#define ATT_EVAL_ENSEMBLE_LOSS_H

#include "decode/session.h"

/* Adds to *result what the models together give the targets of a batch. Of one model alone that is
 * what att_model_loss() adds. */
att_status att_ensemble_loss(att_loss_result *result, att_session *session, const att_batch *batch,
                             att_error *err);

#endif
