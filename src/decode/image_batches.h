/* Pictures on their way through the search, a batch at a time. */
#ifndef ATT_DECODE_IMAGE_BATCHES_H
#define ATT_DECODE_IMAGE_BATCHES_H

#include "decode/beam_search.h"
#include "data/image_grids.h"

enum { ATT_IMAGE_BATCH_SIZE = 64 }; /* pictures to a batch at most */

typedef struct att_image_batches {
    const att_image_grids *grids;
    att_decoding_options options;
    att_beam_search *search;
    int64_t cells; /* that the model looks at */
    float *batch;  /* [ATT_IMAGE_BATCH_SIZE, width of a picture] */
    int64_t lengths[ATT_IMAGE_BATCH_SIZE];
    uint64_t stream_ids[ATT_IMAGE_BATCH_SIZE];
} att_image_batches;

/* Opens a search over pictures, which are lent. What is said of them is made of known tokens alone:
 * there is no source that an unknown one could stand for. Pictures of another size than the model's
 * are ATT_BAD_INPUT. Release with att_image_batches_close(), whether it succeeded or not. */
att_status att_image_batches_open(att_image_batches *out, const att_model *model,
                                  const att_image_grids *grids, const att_decoding_options *how,
                                  att_error *err);
void att_image_batches_close(att_image_batches *viewing);

/* Searches for what is to be said of `rows` pictures by their numbers; what was found is
 * att_beam_search_hypotheses() of viewing->search. `forced` [rows] may be NULL. */
att_status att_image_batches_run(att_image_batches *viewing, const int64_t *pictures, int64_t rows,
                                 const att_forced_tokens *forced, const att_keep_attention *keep,
                                 att_error *err);

#endif
