/* Beam search over image features, batch by batch. */
#ifndef ATT_DECODE_IMAGE_BATCHES_H
#define ATT_DECODE_IMAGE_BATCHES_H

#include "decode/beam_search.h"
#include "data/image_grids.h"

enum { ATT_IMAGE_BATCH_SIZE = 64 }; /* images of a batch, at most */

typedef struct att_image_batches {
    const att_image_grids *grids;
    att_decoding_options options;
    att_beam_search *search;
    int64_t cells; /* of the encoder's output: the source length */
    float *batch;  /* [ATT_IMAGE_BATCH_SIZE, floats of an image] */
    int64_t lengths[ATT_IMAGE_BATCH_SIZE];
    uint64_t stream_ids[ATT_IMAGE_BATCH_SIZE];
    att_beam_observer *observer; /* of the candidates, set after opening; or NULL */
    void *observer_context;
} att_image_batches;

/* ATT_BAD_INPUT unless the images have the size that the model was trained on. */
att_status att_image_batches_check(const att_model *model, const att_image_grids *grids,
                                   att_error *err);

/* Opens a search over images, which must outlive it. Captions never contain the unknown token: an
 * image has no source token that could replace it. Release with att_image_batches_close(), also
 * after a failure. */
att_status att_image_batches_open(att_image_batches *out, const att_model *model,
                                  const att_image_grids *grids, const att_decoding_options *options,
                                  att_error *err);
void att_image_batches_close(att_image_batches *batches);

/* Searches for captions of `rows` images by index; att_beam_search_hypotheses() of batches->search
 * has the result. `forced` [rows] may be NULL. */
att_status att_image_batches_run(att_image_batches *batches, const int64_t *images, int64_t rows,
                                 const att_forced_tokens *forced, const att_keep_attention *keep,
                                 att_error *err);

#endif
