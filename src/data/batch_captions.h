/* Batches of captions, each with the feature grid of its image. */
#ifndef ATT_DATA_BATCH_CAPTIONS_H
#define ATT_DATA_BATCH_CAPTIONS_H

#include "data/batch.h"
#include "settings/settings.h"

/* The number of cells that the model attends to: every convolution layer halves rows and columns.
 */
int64_t att_image_grid_cells(const att_settings *settings, const att_image_grids *grids);

att_status att_caption_batches_new(att_batches **out, const att_corpus *corpus,
                                   const att_settings *settings, int64_t tokens, uint64_t seed,
                                   att_error *err);

#endif
