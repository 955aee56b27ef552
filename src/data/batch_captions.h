/* Batches of captions, each with its picture. */
#ifndef ATT_DATA_BATCH_CAPTIONS_H
#define ATT_DATA_BATCH_CAPTIONS_H

#include "data/batch.h"
#include "settings/settings.h"

/* Cells of a picture that a model with these settings looks at: convolutions leave fewer. */
int64_t att_image_grid_cells(const att_settings *settings, const att_image_grids *grids);

att_status att_caption_batches_new(att_batches **out, const att_corpus *corpus,
                                   const att_settings *settings, int64_t tokens, uint64_t seed,
                                   att_error *err);

#endif
