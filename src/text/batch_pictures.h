/* Batches of captions, each with its picture. */
#ifndef ATT_TEXT_BATCH_PICTURES_H
#define ATT_TEXT_BATCH_PICTURES_H

#include "text/batch.h"

/* Cells of a picture that a model with these settings looks at: convolutions leave fewer. */
int64_t att_picture_cells(const att_settings *settings, const att_grids *grids);

att_status att_picture_batches_new(att_batches **out, const att_corpus *corpus,
                                   const att_settings *settings, int64_t tokens, uint64_t seed,
                                   att_error *err);

#endif
