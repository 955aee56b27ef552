/* One input through a session and through beam search; see single_search.h. */
#include "inspect/single_search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/extended_vocab.h"
#include "decode/complete.h"
#include "decode/requests.h"
#include "model/layer_check.h"

#include <string.h>

/* ---- opening */

att_status att_single_input_check(const att_single_input *input, const att_model *model,
                                  const char *image_call, att_error *err)
{
    if (input->image)
        return att_model_require_type(model, ATT_MODEL_CAPTION, err);
    if (att_model_type_get(model) != ATT_MODEL_CAPTION)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "a caption model reads an image: use %s()",
                    image_call);
}

/* A line is refused where att_model_generate() refuses it by default. The session checks the limit
 * before it encodes the line: the time of a Transformer grows with the square of the length. */
static att_status start_line(att_single_search *s, const char *line, att_error *err)
{
    const att_decoding_options *options = &s->options;
    s->session->max_source_length =
        att_input_limit_of(s->session->model, options->ensemble, options->ensemble_count, 0)
            .max_length;
    return att_session_start_lines(s->session, &line, 1, err);
}

static att_status start_image(att_single_search *s, const att_tensor *image, att_error *err)
{
    const att_model *model = s->session->model;
    ATT_TRY(att_image_grids_view(&s->grids, image, model->settings->image_rows, NULL, err));
    if (s->grids.count != 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected features of 1 image, found %lld",
                        (long long)s->grids.count);
    return att_session_start_images(s->session, image, err);
}

static att_status start(att_single_search *s, const att_single_input *input, att_error *err)
{
    switch (att_model_type_get(s->session->model)) {
    case ATT_MODEL_LM:
        ATT_TRY(att_prompt_encode(&s->prompt, s->session->model, input->line, strlen(input->line),
                                  err));
        return att_session_start_text(s->session, 1, err);
    case ATT_MODEL_CAPTION:
        return start_image(s, input->image, err);
    default:
        return start_line(s, input->line, err);
    }
}

att_status att_single_search_open(att_single_search *out, const att_model *model,
                                  const att_single_input *input,
                                  const att_decoding_options *options, att_error *err)
{
    att_session_options models = ATT_INIT(att_session_options);
    models.ensemble = options->ensemble;
    models.ensemble_count = options->ensemble_count;
    out->options = *options;
    ATT_TRY(att_session_new(&out->session, model, &models, err));
    return start(out, input, err);
}

void att_single_search_close(att_single_search *search)
{
    att_beam_search_free(search->search);
    att_image_batches_close(&search->images);
    att_session_free(search->session);
    att_ids_free(&search->prompt);
    att_ids_free(&search->forced);
}

/* ---- searching */

/* The tokens of a forced output. Tokens that only the source has are found in it, for a model that
 * copies. */
static att_status encode_target(att_single_search *s, const att_single_input *input, att_error *err)
{
    const att_model *model = s->session->model;
    const char *target = input->target;
    ATT_TRY(att_vocab_encode(model->target_vocab, NULL, &s->forced, target, strlen(target), err));
    if (!att_settings_copies(model->settings))
        return ATT_OK;
    att_extended_vocab vocab = { .source = model->source_vocab, .target = model->target_vocab };
    att_ids source = { 0 };
    att_status status = att_extended_vocab_source(&vocab, &source, s->session->source_ids,
                                                  (size_t)s->session->source_lengths[0],
                                                  input->line, strlen(input->line), err);
    if (status == ATT_OK)
        status = att_extended_vocab_target(&vocab, s->forced.items, s->forced.count, target,
                                           strlen(target), err);
    att_ids_free(&source);
    att_extended_vocab_free(&vocab);
    return status;
}

static att_status search_image(att_single_search *s, const att_forced_tokens *forced,
                               att_beam_observer *observer, void *context, att_error *err)
{
    static const int64_t first[] = { 0 };
    ATT_TRY(att_image_batches_open(&s->images, s->session->model, &s->grids, &s->options, err));
    s->images.observer = observer;
    s->images.observer_context = context;
    return att_image_batches_run(&s->images, first, 1, forced, NULL, err);
}

static att_status search_line(att_single_search *s, const att_forced_tokens *forced,
                              att_beam_observer *observer, void *context, att_error *err)
{
    const att_session *session = s->session;
    const att_sources sources = { .rows = 1,
                                  .length = session->source_length,
                                  .ids = session->source_ids,
                                  .lengths = session->source_lengths,
                                  .copy_ids = session->copy_ids.count > 0 ? session->copy_ids.items
                                                                          : NULL };
    const att_search_batch batch = {
        .sources = &sources, .forced = forced, .observer = observer, .observer_context = context
    };
    ATT_TRY(att_beam_search_new(&s->search, session->model, &s->options, err));
    return att_beam_search_run(s->search, &batch, err);
}

static att_status search_prompt(att_single_search *s, int64_t new_tokens,
                                att_beam_observer *observer, void *context, att_error *err)
{
    const att_vocab *vocab = s->session->model->target_vocab;
    att_completion_batch prompt;
    s->options = att_completion_decoding(&s->options, vocab, &s->prompt, new_tokens);
    att_completion_batch_fill(&prompt, vocab, &s->prompt);
    prompt.batch.observer = observer;
    prompt.batch.observer_context = context;
    ATT_TRY(att_beam_search_new(&s->search, s->session->model, &s->options, err));
    att_status status = att_beam_search_run(s->search, &prompt.batch, err);
    att_layer_error_line(status, NULL, err); /* a text has no lines */
    return status;
}

att_status att_single_search_run(att_single_search *s, const att_single_input *input,
                                 int64_t new_tokens, att_beam_observer *observer, void *context,
                                 att_error *err)
{
    att_model_type type = att_model_type_get(s->session->model);
    if (input->target) {
        ATT_TRY(encode_target(s, input, err));
        s->options.shortlist = NULL; /* it restricts what is chosen, and nothing is */
    }
    const att_forced_tokens target = { s->forced.items, s->forced.count, true };
    const att_forced_tokens *forced = input->target ? &target : NULL;
    ATT_TRY(type == ATT_MODEL_LM        ? search_prompt(s, new_tokens, observer, context, err)
            : type == ATT_MODEL_CAPTION ? search_image(s, forced, observer, context, err)
                                        : search_line(s, forced, observer, context, err));
    int64_t count;
    s->output = att_beam_search_hypotheses(s->search ? s->search : s->images.search, 0, &count)[0];
    return ATT_OK;
}
