/* The search for the output of one input, as att_model_generate(), att_model_caption() and
 * att_model_complete() make it, with an observer of its candidates. */
#ifndef ATT_INSPECT_SINGLE_SEARCH_H
#define ATT_INSPECT_SINGLE_SEARCH_H

#include "decode/beam_search.h"
#include "decode/image_batches.h"

/* What is searched. */
typedef struct att_single_input {
    const char *line;        /* a source, prompt, text or sentence; NULL: an image */
    const att_tensor *image; /* of a caption model: features of one image */
    const char *target;      /* forced output, or NULL; not of a language model */
} att_single_input;

typedef struct att_single_search {
    att_session *session;  /* with the input encoded: nothing was fed to it yet */
    att_ids prompt;        /* of a language model */
    att_hypothesis output; /* the best one; its arrays belong to the search */

    att_decoding_options options;
    att_beam_search *search; /* NULL for images */
    att_image_batches images;
    att_image_grids grids;
    att_ids forced;
} att_single_search;

/* ATT_BAD_INPUT for an image if the model reads none, and for a line if it does: then the error
 * names `image_call`, the function for images. */
att_status att_single_input_check(const att_single_input *input, const att_model *model,
                                  const char *image_call, att_error *err);

/* Encodes the input for att_session_step() with all models of options->ensemble. ATT_BAD_INPUT for
 * a model that generates no tokens. Start from {0}; release with att_single_search_close(), also
 * after a failure. Model, options and input must outlive it. */
att_status att_single_search_open(att_single_search *out, const att_model *model,
                                  const att_single_input *input,
                                  const att_decoding_options *options, att_error *err);

/* Searches for the output, of a language model for `new_tokens` tokens, and sets out->output. The
 * observer may be NULL. */
att_status att_single_search_run(att_single_search *search, const att_single_input *input,
                                 int64_t new_tokens, att_beam_observer *observer, void *context,
                                 att_error *err);
void att_single_search_close(att_single_search *search);

#endif
