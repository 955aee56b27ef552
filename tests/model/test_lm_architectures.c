/* Every variant of language models: the teacher-forced loss of a text has the bits of step-wise
 * decoding, also across chunks with a carried state (truncated BPTT) and beyond the context. */
#include "model/quantize_help.h"
#include "model/model_help.h"
#include "text/text_help.h"

#include "tensor/bundle.h"

#define TEXT_TRANSFORMER                                                                           \
    { "architecture", "transformer" }, { "hidden-size", "12" }, { "heads", "2" },                  \
        { "layers", "2" },                                                                         \
    {                                                                                              \
        "ffn-size", "16"                                                                           \
    }

static const variant text_variants[] = {
    { "lstm", { { 0 } } },
    { "gru, two layers", { { "rnn-cell", "gru" }, { "layers", "2" } } },
    { "rnn, three layers", { { "rnn-cell", "vanilla" }, { "layers", "3" } } },
    { "lstm, tied", { { "tie-embeddings", "output" }, { "layers", "2" } } },
    { "lstm, bytes", { { "tokens", "byte" } } },
    { "transformer, rotary", { TEXT_TRANSFORMER } },
    { "transformer, learned, rms, gelu",
      { TEXT_TRANSFORMER,
        { "positions", "learned" },
        { "norm-kind", "rms" },
        { "activation", "gelu" } } },
    { "transformer, sinusoidal, gated, one head of keys",
      { TEXT_TRANSFORMER,
        { "positions", "sinusoidal" },
        { "activation", "swiglu" },
        { "kv-heads", "1" },
        { "tie-embeddings", "no" } } },
    { "transformer, norm after", { TEXT_TRANSFORMER, { "norm", "post" } } },
    { "transformer, no norm, no biases",
      { TEXT_TRANSFORMER, { "norm", "none" }, { "biases", "no" }, { "positions", "none" } } },
    { NULL, { { 0 } } },
};

#define EACH_TEXT_VARIANT(row) for (const variant *row = text_variants; row->name; row++)

typedef struct text_scene {
    char path[64];
    att_settings *settings;
    att_data data;
    att_model *model;
    att_tape *tape;
} text_scene;

/* A small untrained model: all parameters but the biases differ from zero. */
static void text_scene_new(text_scene *s, const variant *row)
{
    static const char text[] =
        "the cat sat on the mat and the rat sat on the cat, and the bat that the cat saw "
        "sat on the rat. one day the bat had had it and flew at the cat; the rat ran on.\n";
    static const char *const small[] = { "hidden-size",
                                         "10",
                                         "embedding-size",
                                         "6",
                                         "sequence-length",
                                         "8",
                                         "batch-tokens",
                                         "24",
                                         "valid-fraction",
                                         "0.3",
                                         "dropout",
                                         "0",
                                         NULL };
    att_error err = { 0 };
    *s = (text_scene){ 0 };
    text_file(s->path, text, strlen(text));
    s->settings = text_settings(s->path, small);
    for (const setting_pair *set = row->set; set->key; set++)
        if (att_settings_set(s->settings, set->key, set->value, &err) != ATT_OK)
            fail_msg("%s: %s", row->name, err.message);
    assert_int_equal(att_data_load(&s->data, s->settings, NULL), ATT_OK);
    if (att_model_new(&s->model, s->settings, NULL, s->data.target_vocab, &err) != ATT_OK)
        fail_msg("%s: %s", row->name, err.message);
    assert_int_equal(att_tape_new(&s->tape, &s->model->params, NULL), ATT_OK);
}

static void text_scene_free(text_scene *s)
{
    att_tape_free(s->tape);
    att_model_free(s->model);
    att_data_free(&s->data);
    att_settings_free(s->settings);
    text_remove(s->path);
}

static bool is_rnn(const text_scene *s)
{
    return s->settings->architecture == ATT_ARCHITECTURE_RNN;
}

/* The loss of `count` targets from position `from` of the text, as one row. */
static double loss_at(text_scene *s, int64_t from, int64_t count, bool follows,
                      att_carried_state *carried)
{
    const int32_t *ids = s->data.train.target.ids + from;
    const att_batch batch = { .rows = 1,
                              .target_length = count,
                              .target_in = ids,
                              .target_out = ids + 1,
                              .target_lengths = &count,
                              .pair_index = &from,
                              .continues_previous = follows,
                              .target_tokens = count };
    const att_loss_options loss_options = { .carried_state = carried };
    att_loss_result result = { 0 };
    att_error err = { 0 };
    att_tape_begin(s->tape, false, 0, 0);
    att_model_loss(s->model, s->tape, &batch, carried ? &loss_options : NULL, &result);
    if (att_tape_status(s->tape, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(result.tokens, count);
    return result.loss;
}

/* The loss of the same targets by step-wise decoding. */
static void log_probs_along(const text_scene *s, const int32_t *ids, int64_t count, float *out)
{
    static const int64_t no_lengths[1] = { 0 };
    const att_sources nothing = { .rows = 1, .lengths = no_lengths };
    att_decoder *decoder;
    att_decoder_output decoded;
    assert_int_equal(att_decoder_new(&decoder, s->model, NULL), ATT_OK);
    assert_int_equal(att_decoder_start(decoder, &nothing, NULL), ATT_OK);
    for (int64_t t = 0; t < count; t++) {
        assert_int_equal(att_decoder_step(decoder, 1, &ids[t], NULL, &decoded, NULL), ATT_OK);
        out[t] = decoded.log_probs[ids[t + 1]];
    }
    att_decoder_free(decoder);
}

static void check_step_by_step(text_scene *s, const char *name)
{
    float log_probs[8];
    double whole = loss_at(s, 5, 8, false, NULL), loss = 0;
    log_probs_along(s, s->data.train.target.ids + 5, 8, log_probs);
    for (int t = 0; t < 8; t++)
        loss -= (double)log_probs[t];
    if (loss != whole)
        fail_msg("%s: %.17g step by step, %.17g at once", name, loss, whole);
}

static void decoding_step_by_step_has_the_bits_of_the_loss(void **state)
{
    (void)state;
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        text_scene_new(&s, row);
        check_step_by_step(&s, row->name);
        quantize_in_place(&s.model, &s.tape);
        check_step_by_step(&s, row->name);
        text_scene_free(&s);
    }
}

static void a_carried_state_has_the_bits_of_one_long_chunk(void **state)
{
    (void)state;
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        float log_probs[24];
        text_scene_new(&s, row);
        if (is_rnn(&s)) {
            att_carried_state carried;
            assert_int_equal(att_carried_state_new(&carried, s.model, 1, NULL), ATT_OK);
            assert_true(carried.width >= s.settings->hidden_size);
            log_probs_along(&s, s.data.train.target.ids, 24, log_probs);
            static const int64_t parts[] = { 7, 1, 16 };
            int64_t at = 0;
            for (int i = 0; i < 3; at += parts[i++]) {
                double loss = 0;
                for (int64_t t = 0; t < parts[i]; t++)
                    loss -= (double)log_probs[at + t];
                assert_true(loss_at(&s, at, parts[i], at > 0, &carried) == loss);
            }
            assert_true(loss_at(&s, 8, 16, false, &carried) != loss_at(&s, 8, 16, true, &carried));
            att_carried_state_free(&carried);
        }
        text_scene_free(&s);
    }
}

static void transformers_carry_nothing(void **state)
{
    (void)state;
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        att_carried_state carried;
        text_scene_new(&s, row);
        assert_int_equal(att_carried_state_new(&carried, s.model, 3, NULL), ATT_OK);
        assert_int_equal(carried.width > 0, is_rnn(&s));
        att_carried_state_free(&carried);
        text_scene_free(&s);
    }
}

/* With a context of 8, tokens 0 to 7 fill it; after that, every fourth step starts a new context of
 * the last four tokens and the current one. */
static void a_full_context_continues_from_its_last_half(void **state)
{
    (void)state;
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        float log_probs[30], fresh[8];
        text_scene_new(&s, row);
        const int32_t *ids = s.data.train.target.ids;
        if (!is_rnn(&s)) {
            log_probs_along(&s, ids, 30, log_probs);
            for (int64_t first = 4; first + 8 < 30; first += 4) {
                log_probs_along(&s, ids + first, 8, fresh);
                for (int64_t t = 4; t < 8; t++)
                    if (log_probs[first + t] != fresh[t])
                        fail_msg("%s: token %d", row->name, (int)(first + t));
            }
        }
        text_scene_free(&s);
    }
}

/* Rows are dropped, forked and reordered across the end of a context. */
static void rows_continue_other_rows_beyond_a_context(void **state)
{
    (void)state;
    enum { ROWS = 3, STEPS = 23 };
    static const int64_t no_lengths[ROWS] = { 0 };
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        text_scene_new(&s, row);
        const int32_t *ids = s.data.train.target.ids;
        int32_t paths[ROWS][STEPS + 1], before[ROWS][STEPS + 1];
        float wanted[STEPS];
        const att_sources nothing = { .rows = ROWS, .lengths = no_lengths };
        att_decoder *decoder;
        att_decoder_output decoded;
        int64_t vocabulary = att_vocab_size(s.data.target_vocab);
        assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
        assert_int_equal(att_decoder_start(decoder, &nothing, NULL), ATT_OK);
        for (int64_t t = 0; t < STEPS; t++) {
            const int64_t order[ROWS] = { (t * 5 + 1) % ROWS, (t * t) % ROWS, (t + 2) % ROWS };
            int32_t tokens[ROWS];
            memcpy(before, paths, sizeof paths);
            for (int64_t r = 0; r < ROWS; r++) {
                memcpy(paths[r], before[order[r]], (size_t)t * sizeof **paths);
                tokens[r] = paths[r][t] = ids[t + 3 * r];
            }
            assert_int_equal(att_decoder_step(decoder, ROWS, tokens, order, &decoded, NULL),
                             ATT_OK);
        }
        for (int64_t r = 0; r < ROWS; r++) {
            paths[r][STEPS] = ids[0];
            log_probs_along(&s, paths[r], STEPS, wanted);
            if (decoded.log_probs[r * vocabulary + ids[0]] != wanted[STEPS - 1])
                fail_msg("%s: row %d", row->name, (int)r);
        }
        att_decoder_free(decoder);
        text_scene_free(&s);
    }
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        double first = 0;
        text_scene_new(&s, row);
        for (int threads = 1; threads <= 4; threads++) {
            att_threads_set(threads);
            double loss = loss_at(&s, 0, 8, false, NULL);
            if (threads == 1)
                first = loss;
            assert_true(loss == first);
        }
        text_scene_free(&s);
    }
    att_threads_set(1);
}

static void a_language_model_comes_back_from_its_file(void **state)
{
    (void)state;
    EACH_TEXT_VARIANT(row)
    {
        text_scene s;
        att_bundle *bundle;
        att_model *back;
        att_error err = { 0 };
        text_scene_new(&s, row);
        double whole = loss_at(&s, 0, 8, false, NULL);
        assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
        assert_int_equal(att_model_to_bundle(bundle, s.model, 1, NULL, NULL), ATT_OK);
        assert_null(att_bundle_meta_get(bundle, "attend.source_vocab"));
        if (att_model_from_bundle(&back, bundle, "x", &err) != ATT_OK)
            fail_msg("%s: %s", row->name, err.message);
        assert_int_equal(att_model_type_get(back), ATT_MODEL_LM);
        assert_true(att_vocab_equal(back->target_vocab, s.model->target_vocab));
        att_model *own = s.model;
        att_tape_free(s.tape);
        s.model = back;
        assert_int_equal(att_tape_new(&s.tape, &back->params, NULL), ATT_OK);
        assert_true(loss_at(&s, 0, 8, false, NULL) == whole);
        att_tape_free(s.tape);
        assert_int_equal(att_tape_new(&s.tape, &own->params, NULL), ATT_OK);
        s.model = own;
        att_model_free(back);
        att_bundle_free(bundle);
        text_scene_free(&s);
    }
}

static void assert_refused(const char *key, const char *value, const char *message)
{
    text_scene s;
    text_scene_new(&s, &text_variants[0]);
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_settings_set(s.settings, key, value, NULL), ATT_OK);
    assert_int_equal(att_model_new(&model, s.settings, NULL, s.data.target_vocab, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    text_scene_free(&s);
}

static void settings_without_use_for_a_language_model_are_refused(void **state)
{
    (void)state;
    assert_refused("tie-embeddings", "all",
                   "tie-embeddings all needs a source vocabulary: use output");
    assert_refused(
        "positions", "learned",
        "positions needs architecture transformer: an RNN language model has no maximum length");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_step_by_step_has_the_bits_of_the_loss),
        cmocka_unit_test(a_carried_state_has_the_bits_of_one_long_chunk),
        cmocka_unit_test(transformers_carry_nothing),
        cmocka_unit_test(a_full_context_continues_from_its_last_half),
        cmocka_unit_test(rows_continue_other_rows_beyond_a_context),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(a_language_model_comes_back_from_its_file),
        cmocka_unit_test(settings_without_use_for_a_language_model_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
