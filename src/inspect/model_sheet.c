/* A whole model on one line as a worksheet (att_model_sheet): every step from the embeddings to the
 * probabilities, which the sheet expects to be those of the model's own decoding. */
#include "inspect/model_sheet.h"

#include "base/error.h"
#include "base/math.h"
#include "base/options.h"
#include "base/progress.h"
#include "decode/session.h"

#include <math.h>
#include <string.h>

/* ---- what the model itself computes */

static const char *copy_text(att_model_sheet_writer *s, const char *text)
{
    return att_arena_strndup(&s->memory, text ? text : "?", text ? strlen(text) : 1);
}

/* The most probable tokens of a step, the best first; of equals the first. */
static att_status take_step(att_model_sheet_writer *s, att_session *session,
                            const att_session_output *out, att_sheet_step *step, att_error *err)
{
    *step = (att_sheet_step){ 0 };
    while (step->count < ATT_SHEET_TOP && step->count < out->vocab_size) {
        int32_t best = -1;
        for (int32_t id = 0; id < out->vocab_size; id++) {
            bool taken = false;
            for (int i = 0; i < step->count; i++)
                taken |= step->ids[i] == id;
            if (!taken && (best < 0 || out->log_probs[id] > out->log_probs[best]))
                best = id;
        }
        step->ids[step->count] = best;
        step->probs[step->count] = (float)att_exp((double)out->log_probs[best]);
        const char *name = copy_text(s, att_session_token(session, 0, best));
        if (!name)
            return att_fail_memory(err);
        step->names[step->count++] = name;
    }
    if (!out->attention || out->layers * out->heads != 1)
        return ATT_OK;
    float *weights = att_arena_alloc(&s->memory, s->source_length, sizeof *weights);
    if (!weights)
        return att_fail_memory(err);
    memcpy(weights, out->attention, s->source_length * sizeof *weights);
    step->weights = weights;
    return ATT_OK;
}

static att_status start_session(att_model_sheet_writer *s, att_session *session, att_error *err)
{
    if (s->image.values)
        return att_session_start_images(session, s->features, err);
    if (!s->model->source_vocab)
        return att_session_start_text(session, 1, err);
    ATT_TRY(att_session_start_lines(session, &s->input, 1, err));
    if (session->copy_ids.count < s->source_length)
        return ATT_OK;
    int32_t *ids = att_arena_alloc(&s->memory, s->source_length, sizeof *ids);
    if (!ids)
        return att_fail_memory(err);
    memcpy(ids, session->copy_ids.items, s->source_length * sizeof *ids);
    s->copy_ids = ids;
    return ATT_OK;
}

/* Feeds the target to the model, as decoding does. */
static att_status decode_steps(att_model_sheet_writer *s, att_error *err)
{
    att_session *session;
    const att_session_options options = { .size = sizeof(att_session_options), .attention = true };
    s->steps = att_arena_alloc(&s->memory, s->target.count, sizeof *s->steps);
    if (!s->steps)
        return att_fail_memory(err);
    ATT_TRY(att_session_new(&session, s->model, &options, err));
    att_status status = start_session(s, session, err);
    for (size_t t = 0; t < s->target.count && status == ATT_OK; t++) {
        const att_session_output *out;
        status = att_session_step(session, 1, &s->target.items[t], NULL, &out, err);
        if (status == ATT_OK)
            status = take_step(s, session, out, &s->steps[t], err);
    }
    att_session_free(session);
    return status;
}

/* ---- tokens */

static att_status encode_target(att_model_sheet_writer *s, const char *target, att_error *err)
{
    const att_vocab *vocab = s->model->target_vocab;
    att_outputs *outputs = NULL;
    if (att_model_type_get(s->model) == ATT_MODEL_LM)
        return att_vocab_encode(vocab, NULL, &s->target, s->input, strlen(s->input), err);
    if (att_ids_add(&s->target, ATT_ID_BOS) != ATT_OK)
        return att_fail_memory(err);
    if (!target) {
        ATT_TRY(s->image.values ? att_model_caption(&outputs, s->model, s->features, NULL, err)
                                : att_model_generate(&outputs, s->model, &s->input, 1, NULL, err));
        target = att_outputs_get(outputs, 0)->text;
    }
    att_status status = att_vocab_encode(vocab, NULL, &s->target, target, strlen(target), err);
    att_outputs_free(outputs);
    return status;
}

static att_status encode(att_model_sheet_writer *s, const char *target, att_error *err)
{
    att_model_type type = att_model_type_get(s->model);
    bool labels = type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER;
    if (type == ATT_MODEL_CAPTION)
        ATT_TRY(att_model_sheet_take_image(s, s->features, err));
    if (s->model->source_vocab)
        ATT_TRY(att_vocab_encode(s->model->source_vocab, NULL, &s->source, s->input,
                                 strlen(s->input), err));
    if (type != ATT_MODEL_CAPTION)
        s->source_length = s->source.count;
    if (s->source_length == 0 && type != ATT_MODEL_LM)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    if (!labels)
        ATT_TRY(encode_target(s, target, err));
    if (s->target.count == 0 && !labels)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    if (s->source_length > ATT_SHEET_MAX_TOKENS || s->target.count > ATT_SHEET_MAX_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        s->image.values
                            ? "the image has %zu cells and the caption %zu tokens; a worksheet "
                              "takes at most %d"
                            : "the line has %zu source and %zu target tokens; a worksheet takes at "
                              "most %d",
                        s->source_length, s->target.count, ATT_SHEET_MAX_TOKENS);
    if (s->step > (int64_t)s->target.count && !labels)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no step %lld: the output has %zu",
                        (long long)s->step, s->target.count);
    return ATT_OK;
}

const int32_t *att_model_sheet_positions(att_model_sheet_writer *s, int32_t first_tag)
{
    if (first_tag <= 0)
        return NULL;
    int32_t *positions = att_arena_alloc(&s->memory, s->source.count, sizeof *positions);
    if (!positions) {
        s->w.status = ATT_NO_MEMORY;
        return NULL;
    }
    size_t tags = 0;
    while (tags < s->source.count && s->source.items[tags] < first_tag)
        tags++;
    for (size_t i = 0; i < s->source.count; i++)
        positions[i] = i < tags ? (int32_t)i + 1 : 0;
    return positions;
}

/* ---- the probabilities of the next token */

/* Which source token (row) has the id of which shown token (column). */
static void put_copy_matrix(att_model_sheet_writer *s, const att_sheet_step *step)
{
    att_sheet_put(&s->w, "[");
    for (size_t i = 0; i < s->source.count; i++) {
        att_sheet_put(&s->w, i > 0 ? "; " : "");
        for (int j = 0; j < step->count; j++)
            att_sheet_put(&s->w, "%s%d", j > 0 ? " " : "", s->copy_ids[i] == step->ids[j]);
    }
    att_sheet_put(&s->w, "]");
}

static void put_copying(att_model_sheet_writer *s, const char *state, const char *weights,
                        const att_sheet_step *step)
{
    att_sheet_writer *w = &s->w;
    att_sheet_put(w,
                  "\nThe model generates a token with probability g, or copies one of the source "
                  "by its attention weights.\n\n");
    att_sheet_put(w, "g = sigmoid(linear(%s, ", state);
    att_sheet_put_load(w, "copy.gate");
    att_sheet_put(w, ", ");
    att_sheet_put_load(w, "copy.gate_bias");
    att_sheet_put(w, "))\ncopied = %s * ", weights);
    put_copy_matrix(s, step);
    att_sheet_put(w, "\nnext = g * next + (1 - g) * copied\n");
}

void att_model_sheet_put_probabilities(att_model_sheet_writer *s, const char *state,
                                       const char *weights, const att_copy_layer *copy, bool tied,
                                       bool biased, size_t index)
{
    att_sheet_writer *w = &s->w;
    const att_sheet_step *step = &s->steps[index];
    int32_t extended = 0;
    for (int i = 0; i < step->count; i++)
        extended = step->ids[i] > extended ? step->ids[i] : extended;
    extended -= (int32_t)s->vocab_size - 1;
    att_sheet_put(w, "z = linear(%s, ", state);
    att_sheet_put_load(w, tied ? "target.embed" : "output.w");
    att_sheet_put(w, tied ? "'" : "");
    if (biased) {
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "output.bias");
    }
    att_sheet_put(w, ")\np = softmax(z)\n");
    if (extended > 0)
        att_sheet_put(w, "p = [p, zeros(1, %ld)]\n", (long)extended);
    if (s->vocab_size > step->count)
        att_sheet_put(w, "\nThe %d most probable of %lld tokens:\n", step->count,
                      (long long)s->vocab_size);
    att_sheet_put(w, "\nnext = p[:, [");
    for (int i = 0; i < step->count; i++)
        att_sheet_put(w, i > 0 ? " %ld" : "%ld", (long)step->ids[i] + 1);
    att_sheet_put(w, "]]\n");
    if (copy->enabled && s->copy_ids)
        put_copying(s, state, weights, step);
    att_sheet_put(w, "label next cols");
    for (int i = 0; i < step->count; i++) {
        att_sheet_put(w, " ");
        att_sheet_put_string(w, att_visible_token(step->names[i]));
    }
    att_sheet_put(w, "\n");
    att_sheet_put_claim(w, "next", step->probs, 1, step->count, step->count);
}

/* ---- the sheet */

static void put_heading(att_model_sheet_writer *s)
{
    static const char *const titles[ATT_MODEL_TYPES] = {
        [ATT_MODEL_SEQ2SEQ] = "From the source to the output",
        [ATT_MODEL_LM] = "The next token of a text",
        [ATT_MODEL_CLASSIFIER] = "The label of a sentence",
        [ATT_MODEL_CAPTION] = "From the image to the caption",
        [ATT_MODEL_TAGGER] = "The labels of the tokens of a sentence",
    };
    att_sheet_put(&s->w,
                  "# %s\n\nA trained model (architecture %s), computed step by step in double "
                  "precision. The model itself computes in single precision; its numbers are "
                  "expected at the end of each step.\n",
                  titles[att_model_type_get(s->model)], s->model->architecture->name);
}

static att_status write_sheet(att_model_sheet_writer *s, const char *target, att_error *err)
{
    att_model_type type = att_model_type_get(s->model);
    ATT_TRY(encode(s, target, err));
    put_heading(s);
    s->vocab_size = att_vocab_size(s->model->target_vocab);
    if (type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER)
        return att_sentence_sheet_write(s, err);
    ATT_TRY(decode_steps(s, err));
    return s->model->settings->architecture == ATT_ARCHITECTURE_TRANSFORMER
               ? att_transformer_sheet_write(s, err)
               : att_rnn_sheet_write(s, err);
}

att_status att_model_sheet(att_string *out, const att_model *model, const char *file,
                           const att_model_sheet_options *options, att_error *err)
{
    ATT_TRY(att_model_require_float(model, NULL, "a worksheet", err));
    att_model_sheet_options given;
    ATT_TRY(ATT_OPTIONS_COPY(att_model_sheet_options, &given, options, err));
    if (!given.input && att_model_type_get(model) != ATT_MODEL_CAPTION)
        return att_fail(err, ATT_BAD_INPUT, "att_model_sheet_options", "expected an input");
    att_model_sheet_writer s = { .w = { .out = out, .model = model, .file = file },
                                 .model = model,
                                 .input = given.input,
                                 .features = given.image,
                                 .step = given.step };
    size_t before = out->length;
    att_progress_scope scope;
    att_progress_begin(&scope, "writing a worksheet", 0);
    att_status status = write_sheet(&s, given.target, err);
    if (status == ATT_OK && s.w.status != ATT_OK)
        status = att_fail_memory(err);
    status = att_progress_end(&scope, status, err);
    att_ids_free(&s.source);
    att_ids_free(&s.target);
    att_arena_free(&s.memory);
    if (status != ATT_OK)
        out->length = before;
    return status;
}
