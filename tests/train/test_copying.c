/* Pointer-generators learn to copy words that no vocabulary has, which other models cannot say; and
 * everything that decodes has these words. */
#include "train/small_run.h"

#include "base/math.h"
#include "failing_memory.h"
#include "model/model.h"
#include "thin.h"

#include <math.h>

/* ---- training */

enum { TRAIN_PAIRS = 240, VALID_PAIRS = 60 };

static char folder[64];

static const char *file_in(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Trains on names of three syllables; those of the validation data are others. */
static att_validation train(const char *architecture, const char *copy, const char *out)
{
    static const char *const set[][2] = {
        { "source-tokens", "space" },
        { "target-tokens", "space" },
        { "min-count", "5" },
        { "hidden-size", "24" },
        { "layers", "1" },
        { "dropout", "0" },
        { "batch-tokens", "100" },
        { "epochs", "16" },
        { "learning-rate", "0.01" },
    };
    att_settings *settings;
    att_training *training;
    att_error err = { 0 };
    assert_int_equal(att_settings_new(&settings, "pairs", NULL), ATT_OK);
    small_set(settings, "architecture", architecture);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        small_set(settings, set[i][0], set[i][1]);
    small_set(settings, "copy", copy);
    small_set(settings, "train", file_in("train.tsv"));
    small_set(settings, "valid", file_in("valid.tsv"));
    small_set(settings, "out", file_in(out));
    if (att_training_new(&training, settings, NULL, &err) != ATT_OK ||
        att_training_run(training, NULL, NULL, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    att_validation best = *att_training_best(training);
    att_training_free(training);
    att_settings_free(settings);
    return best;
}

static int make_models(void **state)
{
    (void)state;
    folder_new(folder);
    small_names_write(file_in("train.tsv"), 0, TRAIN_PAIRS);
    small_names_write(file_in("valid.tsv"), 300, VALID_PAIRS);
    att_validation best = train("rnn", "yes", "rnn.safetensors");
    assert_true(best.exact_match > 0.95);
    best = train("transformer", "yes", "transformer.safetensors");
    assert_true(best.exact_match > 0.95);
    return 0;
}

static int remove_models(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

/* make_models() has checked that those that copy have nearly all. */
static void without_copying_no_unseen_name_comes_through(void **state)
{
    (void)state;
    assert_true(train("rnn", "no", "plain.safetensors").exact_match == 0);
    if (THIN == 1)
        assert_true(train("transformer", "no", "plain.safetensors").exact_match == 0);
}

/* Trains to reverse strings over twenty letters; returns how many of the lines, with letters that
 * no string has, come out reversed. */
static int reversed_lines(const char *word_dropout)
{
    static const char *const set[][2] = {
        { "alphabet", "abcdefghijklmnopqrst" },
        { "max-string-length", "7" },
        { "train-count", "2000" },
        { "valid-count", "50" },
        { "hidden-size", "48" },
        { "epochs", "10" },
        { "batch-tokens", "512" },
        { "learning-rate", "0.008" },
        { "copy", "yes" },
    };
    static const char *const unseen[] = { "XYZÄÖ", "aXYZb", "XaYbZc", "XYZÄÖÜ" };
    static const char *const wanted[] = { "ÖÄZYX", "bZYXa", "cZbYaX", "ÜÖÄZYX" };
    att_settings *settings;
    att_training *training;
    att_model *model;
    att_outputs *outputs;
    int same = 0;
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        small_set(settings, set[i][0], set[i][1]);
    if (word_dropout)
        small_set(settings, "word-dropout", word_dropout);
    small_set(settings, "out", file_in("reverse.safetensors"));
    assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    att_training_free(training);
    att_settings_free(settings);
    assert_int_equal(att_model_load(&model, file_in("reverse.safetensors"), NULL), ATT_OK);
    assert_int_equal(att_model_generate(&outputs, model, unseen, 4, NULL, NULL), ATT_OK);
    for (size_t i = 0; i < 4; i++)
        same += strcmp(att_outputs_get(outputs, i)->text, wanted[i]) == 0;
    att_outputs_free(outputs);
    att_model_free(model);
    return same;
}

static void word_dropout_teaches_to_copy_characters_that_training_lacks(void **state)
{
    (void)state;
    if (THIN > 1) /* under sanitizers: other tests run this code */
        skip();
    int with = reversed_lines(NULL), without = reversed_lines("0"); /* 0.1 by default */
    if (with < 4 || without > 2)
        fail_msg("%d lines of 4 with word dropout, %d without", with, without);
}

/* ---- decoding */

static const char *const files[] = { "rnn.safetensors", "transformer.safetensors" };
enum { FILES = 2 };

/* The first line adds two words to the vocabulary, the second three: "my" and "name" are never in
 * targets. */
static const char *const lines[] = { "Zoë met Ilse", "my name is Ulf", "this is now now" };
enum { LINES = 3 };

static att_model *load(size_t which)
{
    att_model *model;
    assert_int_equal(att_model_load(&model, file_in(files[which]), NULL), ATT_OK);
    return model;
}

static att_outputs *generate(const att_model *model, const char *const *of, size_t count,
                             const att_decoding_options *decoding, const att_generate_options *more)
{
    att_generate_options options = ATT_INIT(att_generate_options);
    if (more)
        options = *more;
    att_outputs *outputs;
    att_error err = { 0 };
    options.decoding = decoding;
    if (att_model_generate(&outputs, model, of, count, &options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return outputs;
}

static void unknown_words_are_copied_and_marked(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        att_model *model = load(i);
        for (int64_t beam = 1; beam <= 4; beam += 3) {
            att_decoding_options decoding = ATT_INIT(att_decoding_options);
            decoding.beam = beam;
            att_outputs *outputs = generate(model, lines, LINES, &decoding, NULL);
            const att_output *first = att_outputs_get(outputs, 0);
            assert_string_equal(first->text, "Ilse was met by Zoë");
            assert_string_equal(att_outputs_get(outputs, 1)->text, "hello Ulf");
            assert_int_equal(first->target_count, 6);
            assert_string_equal(first->target_tokens[4], "Zoë");
            for (int t = 0; t < 6; t++) {
                if (t != 2) /* "met" is in the vocabulary and in the source */
                    assert_int_equal(first->copied[t], t == 0 || t == 4);
                assert_int_equal(first->copied[t], first->copy_probs[t] > 0.5);
                assert_true(first->copy_probs[t] >= 0 && first->copy_probs[t] <= 1);
            }
            assert_true(first->copy_probs[0] == 1); /* it cannot be generated */
            att_outputs_free(outputs);
        }
        att_model_free(model);
    }
}

/* Numbers and texts of an output, for comparisons. */
static void assert_same_output(const att_output *a, const att_output *b)
{
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->target_count, b->target_count);
    assert_memory_equal(a->token_scores, b->token_scores, (size_t)a->target_count * sizeof(double));
    assert_memory_equal(a->copy_probs, b->copy_probs, (size_t)a->target_count * sizeof(double));
}

static void outputs_have_the_same_bits_in_any_batch_and_with_any_threads(void **state)
{
    (void)state;
    att_decoding_options ways[2] = { ATT_INIT(att_decoding_options),
                                     ATT_INIT(att_decoding_options) };
    ways[0].beam = 3;
    ways[1].sample = true;
    ways[1].temperature = 3;
    ways[1].seed = 5;
    for (size_t i = 0; i < FILES; i++)
        for (size_t way = 0; way < 2; way++) {
            att_model *model = load(i);
            att_threads_set(3);
            att_outputs *together = generate(model, lines, LINES, &ways[way], NULL);
            att_threads_set(1);
            for (size_t line = 0; line < LINES; line++) {
                att_generate_options options = ATT_INIT(att_generate_options);
                options.first_line = line;
                att_outputs *alone = generate(model, &lines[line], 1, &ways[way], &options);
                assert_same_output(att_outputs_get(alone, 0), att_outputs_get(together, line));
                att_outputs_free(alone);
            }
            att_threads_set(0);
            att_outputs_free(together);
            att_model_free(model);
        }
}

/* Samples at a high temperature copy words of their own source only. */
static void samples_take_words_of_their_own_source_alone(void **state)
{
    (void)state;
    att_model *model = load(0);
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    decoding.sample = true;
    decoding.temperature = 1000;
    decoding.n_best = 20;
    decoding.max_output_length = 12;
    att_outputs *outputs = generate(model, lines, LINES, &decoding, NULL);
    const att_output *second = att_outputs_get(outputs, 1);
    bool copied = false;
    for (int64_t i = -1; i < second->alternative_count; i++) {
        const att_output *one = i < 0 ? second : second->alternatives[i];
        copied |= strstr(one->text, "Ulf") != NULL;
        assert_null(strstr(one->text, "Zo"));
        assert_null(strstr(one->text, "Ilse"));
    }
    assert_true(copied);
    att_outputs_free(outputs);
    att_model_free(model);
}

/* ---- scores and losses */

/* A target with a word that neither the vocabulary nor the source has costs an unknown token. */
static void forced_targets_are_scored_with_copied_words(void **state)
{
    (void)state;
    static const char *const targets[] = { "Ilse was met by Zoë", "hello Olaf", "that is now" };
    for (size_t i = 0; i < FILES; i++) {
        att_model *model = load(i);
        att_generate_options options = ATT_INIT(att_generate_options);
        options.targets = targets;
        att_outputs *free = generate(model, lines, LINES, NULL, NULL);
        att_outputs *forced = generate(model, lines, LINES, NULL, &options);
        assert_same_output(att_outputs_get(forced, 0), att_outputs_get(free, 0));
        const att_output *second = att_outputs_get(forced, 1);
        assert_string_equal(second->target_tokens[1], "<unknown>");
        assert_true(second->token_scores[1] < -3);
        att_outputs_free(free);
        att_outputs_free(forced);
        att_model_free(model);
    }
}

/* The loss of evaluation is that of forced decoding; the outputs are compared with copied words. */
static void evaluation_counts_copied_words(void **state)
{
    (void)state;
    static const char *const metrics[] = { "bleu" };
    for (size_t i = 0; i < FILES; i++) {
        att_model *model = load(i);
        att_seq2seq_eval found = ATT_INIT(att_seq2seq_eval);
        att_metric_scores *scores;
        att_eval_options options = ATT_INIT(att_eval_options);
        options.metrics = metrics;
        options.metric_count = 1;
        assert_int_equal(att_model_evaluate_seq2seq(&found, &scores, model, file_in("valid.tsv"),
                                                    &options, NULL, NULL),
                         ATT_OK);
        assert_true(found.exact_match > 0.95 && found.token_accuracy > 0.98);
        assert_true(found.perplexity < 1.2);
        assert_true(att_metric_scores_get(scores, 0)->value > 95);
        att_metric_scores_free(scores);
        att_model_free(model);
    }
}

/* A model averaged with itself has its own bits. */
static void an_ensemble_is_evaluated_with_copied_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        att_model *model = load(i);
        att_seq2seq_eval alone = ATT_INIT(att_seq2seq_eval), both = ATT_INIT(att_seq2seq_eval);
        att_decoding_options decoding = ATT_INIT(att_decoding_options);
        att_eval_options options = ATT_INIT(att_eval_options);
        decoding.ensemble = &model;
        decoding.ensemble_count = 1;
        assert_int_equal(
            att_model_evaluate_seq2seq(&alone, NULL, model, file_in("valid.tsv"), NULL, NULL, NULL),
            ATT_OK);
        options.decoding = &decoding;
        assert_int_equal(att_model_evaluate_seq2seq(&both, NULL, model, file_in("valid.tsv"),
                                                    &options, NULL, NULL),
                         ATT_OK);
        assert_true(alone.exact_match == both.exact_match);
        assert_true(alone.token_accuracy == both.token_accuracy);
        assert_true(fabs(alone.perplexity - both.perplexity) < 1e-12);
        att_model_free(model);
    }
}

/* ---- ensembles */

static void an_ensemble_averages_the_mixtures(void **state)
{
    (void)state;
    att_model *model = load(0), *other = load(1);
    static const char *const target[] = { "Ilse was met by Zoë" };
    att_generate_options options = ATT_INIT(att_generate_options);
    options.targets = target;
    att_decoding_options together = ATT_INIT(att_decoding_options);
    together.ensemble = &other;
    together.ensemble_count = 1;
    att_outputs *a = generate(model, lines, 1, NULL, &options);
    att_outputs *b = generate(other, lines, 1, NULL, &options);
    att_outputs *mean = generate(model, lines, 1, &together, &options);
    const att_output *x = att_outputs_get(a, 0), *y = att_outputs_get(b, 0),
                     *z = att_outputs_get(mean, 0);
    for (int64_t t = 0; t < z->target_count; t++) {
        double p = exp(x->token_scores[t]), q = exp(y->token_scores[t]);
        double copied = (p * x->copy_probs[t] + q * y->copy_probs[t]) / (p + q);
        assert_true(fabs(z->token_scores[t] - log((p + q) / 2)) < 1e-6);
        assert_true(fabs(z->copy_probs[t] - copied) < 1e-6);
    }
    att_outputs_free(a);
    att_outputs_free(b);
    att_outputs_free(mean);
    att_model_free(model);
    att_model_free(other);
}

static void an_ensemble_with_a_model_that_does_not_copy_is_refused(void **state)
{
    (void)state;
    att_model *model = load(0), *plain;
    assert_int_equal(att_model_load(&plain, file_in("plain.safetensors"), NULL), ATT_OK);
    att_generate_options options = ATT_INIT(att_generate_options);
    att_decoding_options together = ATT_INIT(att_decoding_options);
    together.ensemble = &plain;
    together.ensemble_count = 1;
    options.decoding = &together;
    att_outputs *outputs;
    att_error err = { 0 };
    assert_int_equal(att_model_generate(&outputs, model, lines, 1, &options, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "ensemble: model 2 does not copy, expected one that copies like model 1");
    att_model_free(model);
    att_model_free(plain);
}

/* ---- sessions */

static int32_t best_token(const att_session_output *step, int64_t row)
{
    const float *of_row = step->log_probs + row * step->vocab_size;
    int32_t best = 0;
    for (int32_t i = 1; i < step->vocab_size; i++)
        if (of_row[i] > of_row[best])
            best = i;
    return best;
}

/* Probabilities of each row add up to 1, and greedy steps are those of the program's search. */
static void a_session_has_ids_for_the_words_of_its_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        att_model *model = load(i);
        att_session *session;
        const att_session_output *step;
        assert_int_equal(att_session_new(&session, model, NULL, NULL), ATT_OK);
        int32_t size = att_session_vocab_size(session);
        assert_int_equal(att_session_start_lines(session, lines, 2, NULL), ATT_OK);
        assert_int_equal(att_session_vocab_size(session), size + 3);
        assert_string_equal(att_session_token(session, 0, size), "Zoë");
        assert_string_equal(att_session_token(session, 0, size + 1), "Ilse");
        assert_string_equal(att_session_token(session, 1, size), "my");
        assert_string_equal(att_session_token(session, 1, size + 2), "Ulf");
        assert_null(att_session_token(session, 0, size + 2));
        assert_null(att_session_token(session, 2, size));
        assert_null(att_session_token(session, 0, -1));
        int32_t tokens[2] = { ATT_TOKEN_BOS, ATT_TOKEN_BOS };
        for (int t = 0; t < 2; t++) {
            assert_int_equal(att_session_step(session, 2, tokens, NULL, &step, NULL), ATT_OK);
            assert_int_equal(step->vocab_size, size + 3);
            for (int64_t r = 0; r < 2; r++) {
                double sum = 0;
                for (int64_t k = 0; k < step->vocab_size; k++)
                    sum += att_exp((double)step->log_probs[r * step->vocab_size + k]);
                assert_true(fabs(sum - 1) < 1e-5);
                tokens[r] = best_token(step, r);
            }
            assert_true(step->log_probs[step->vocab_size - 1] == -INFINITY);
        }
        assert_string_equal(att_session_token(session, 1, tokens[1]), "Ulf");
        assert_int_equal(
            att_session_step(session, 2, (int32_t[]){ size + 3, 0 }, NULL, &step, NULL),
            ATT_BAD_INPUT);
        att_session_free(session);
        att_model_free(model);
    }
}

/* Ids have no text: unknown source tokens are copied as the unknown token. */
static void a_session_of_ids_copies_unknown_tokens_as_unknown(void **state)
{
    (void)state;
    att_model *model = load(0);
    att_session *session;
    const att_session_output *step;
    assert_int_equal(att_session_new(&session, model, NULL, NULL), ATT_OK);
    int32_t size = att_session_vocab_size(session), bos = ATT_TOKEN_BOS;
    assert_int_equal(
        att_session_start_ids(session, (int32_t[]){ 0, 5, 0 }, (int64_t[]){ 3 }, 1, NULL), ATT_OK);
    assert_int_equal(att_session_step(session, 1, &bos, NULL, &step, NULL), ATT_OK);
    double sum = 0;
    for (int64_t k = 0; k < step->vocab_size; k++)
        sum += att_exp((double)step->log_probs[k]);
    assert_true(fabs(sum - 1) < 1e-5);
    assert_true(att_session_vocab_size(session) >= size);
    att_session_free(session);
    att_model_free(model);
}

/* ---- memory */

static att_status generate_once(void *context)
{
    att_outputs *outputs = NULL;
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    decoding.beam = 2;
    att_generate_options options = ATT_INIT(att_generate_options);
    options.decoding = &decoding;
    att_status status = att_model_generate(&outputs, context, lines, 2, &options, NULL);
    att_outputs_free(outputs);
    return status;
}

static att_status step_once(void *context)
{
    att_session *session = NULL;
    const att_session_output *step;
    static const int32_t tokens[2] = { ATT_TOKEN_BOS, ATT_TOKEN_BOS };
    att_status status = att_session_new(&session, context, NULL, NULL);
    if (status == ATT_OK)
        status = att_session_start_lines(session, lines, 2, NULL);
    if (status == ATT_OK)
        status = att_session_step(session, 2, tokens, NULL, &step, NULL);
    att_session_free(session);
    return status;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    att_threads_set(1);
    for (size_t i = 0; i < FILES; i++) {
        att_model *model = load(i);
        every_allocation_fails(generate_once, model, 4000);
        every_allocation_fails(step_once, model, 1000);
        att_model_free(model);
    }
    att_threads_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_copying_no_unseen_name_comes_through),
        cmocka_unit_test(word_dropout_teaches_to_copy_characters_that_training_lacks),
        cmocka_unit_test(unknown_words_are_copied_and_marked),
        cmocka_unit_test(outputs_have_the_same_bits_in_any_batch_and_with_any_threads),
        cmocka_unit_test(samples_take_words_of_their_own_source_alone),
        cmocka_unit_test(forced_targets_are_scored_with_copied_words),
        cmocka_unit_test(evaluation_counts_copied_words),
        cmocka_unit_test(an_ensemble_is_evaluated_with_copied_words),
        cmocka_unit_test(an_ensemble_averages_the_mixtures),
        cmocka_unit_test(an_ensemble_with_a_model_that_does_not_copy_is_refused),
        cmocka_unit_test(a_session_has_ids_for_the_words_of_its_sources),
        cmocka_unit_test(a_session_of_ids_copies_unknown_tokens_as_unknown),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_models, remove_models);
}
