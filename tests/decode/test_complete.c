/* Completing texts with a language model: tokens are reported while they are generated, and the
 * same seed gives the same text. */
#include "attend.h"

#include "failing_memory.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A model over a few tokens with initial parameters: every token has some probability. */
static att_model *make(const char *const *set)
{
    static const char *const characters[] = { "a", "b", "c", "\n", " ", "\xC3\xA9" };
    const att_token_list tokens = { characters, 6 };
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "hidden-size", "8", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, "sequence-length", "6", NULL), ATT_OK);
    for (; set && set[0]; set += 2)
        assert_int_equal(att_settings_set(settings, set[0], set[1], NULL), ATT_OK);
    if (att_model_build(&model, settings, NULL, &tokens, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_settings_free(settings);
    return model;
}

#define RECURRENT   NULL
#define TRANSFORMER ((const char *const[]){ "architecture", "transformer", "heads", "2", NULL })

typedef struct received {
    char text[512];
    double scores[256];
    size_t length;
    int tokens;
    int stop_after; /* 0: never */
} received;

static bool receive(void *context, const char *text, size_t length, double score)
{
    received *h = context;
    memcpy(h->text + h->length, text, length);
    h->length += length;
    h->scores[h->tokens++] = score;
    return h->tokens != h->stop_after;
}

static att_completion go_on(received *h, att_model *model, const char *prompt, int64_t tokens,
                            att_decoding_options options)
{
    options.size = sizeof options;
    att_completion found = ATT_INIT(att_completion);
    att_error err = { 0 };
    const att_complete_options wanted = { .size = sizeof(att_complete_options),
                                          .decoding = &options,
                                          .max_new_tokens = tokens };
    *h = (received){ .stop_after = h->stop_after };
    if (att_model_complete(&found, model, prompt, strlen(prompt), &wanted, receive, h, &err) !=
        ATT_OK)
        fail_msg("%s", err.message);
    return found;
}

static void the_same_seed_gives_the_same_text(void **state)
{
    (void)state;
    const char *const *const kinds[] = { RECURRENT, TRANSFORMER };
    for (int k = 0; k < 2; k++) {
        att_model *model = make(kinds[k]);
        received one = { 0 }, same = { 0 }, other = { 0 };
        const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                               .sample = true,
                                               .seed = 5 };
        att_completion found = go_on(&one, model, "ab", 40, options);
        assert_int_equal(found.tokens, 40);
        assert_int_equal(found.prompt_tokens, 2);
        go_on(&same, model, "ab", 40, options);
        assert_int_equal(one.length, same.length);
        assert_memory_equal(one.text, same.text, one.length);
        go_on(&other, model, "ab", 40,
              (att_decoding_options){
                  .size = sizeof(att_decoding_options), .sample = true, .seed = 6 });
        assert_true(other.length != one.length || memcmp(one.text, other.text, one.length) != 0);
        att_model_free(model);
    }
}

/* Scoring a generated text gives the scores reported during generation. */
static void scores_of_a_text_are_those_of_its_generation(void **state)
{
    (void)state;
    const char *const *const kinds[] = { RECURRENT, TRANSFORMER };
    for (int k = 0; k < 2; k++) {
        att_model *model = make(kinds[k]);
        received generated = { 0 }, scored = { 0 };
        char all[600] = "ab";
        att_completion sums = ATT_INIT(att_completion);
        att_completion found =
            go_on(&generated, model, "ab", 30,
                  (att_decoding_options){
                      .size = sizeof(att_decoding_options), .sample = true, .seed = 9 });
        memcpy(all + 2, generated.text, generated.length);
        assert_int_equal(att_model_score_text(&sums, model, all, 2 + generated.length, NULL,
                                              receive, &scored, NULL),
                         ATT_OK);
        assert_int_equal(sums.tokens, 31); /* the first has no score */
        assert_int_equal(scored.tokens, 31);
        assert_memory_equal(scored.text + 1, generated.text, generated.length);
        assert_memory_equal(scored.scores + 1, generated.scores, 30 * sizeof *generated.scores);
        assert_true(found.score < 0);
        att_model_free(model);
    }
}

static void tokens_are_reported_one_by_one_and_false_ends_the_text(void **state)
{
    (void)state;
    att_model *model = make(RECURRENT);
    received all = { 0 }, some = { .stop_after = 7 };
    go_on(&all, model, "a", 20, (att_decoding_options)ATT_INIT(att_decoding_options));
    att_completion found =
        go_on(&some, model, "a", 20, (att_decoding_options)ATT_INIT(att_decoding_options));
    assert_int_equal(all.tokens, 20);
    assert_int_equal(some.tokens, 7);
    assert_int_equal(found.tokens, 7);
    assert_memory_equal(all.text, some.text, some.length);
    att_model_free(model);
}

/* Beam search reports the tokens that all hypotheses agree on, and at the end the rest of the best
 * one, which is no less probable than the output of greedy decoding. */
static void a_beam_reports_one_text_that_is_no_less_probable(void **state)
{
    (void)state;
    const char *const *const kinds[] = { RECURRENT, TRANSFORMER };
    for (int k = 0; k < 2; k++) {
        att_model *model = make(kinds[k]);
        received greedy = { 0 }, beam = { 0 }, scored = { 0 };
        char all[600] = "cab";
        att_completion sums = ATT_INIT(att_completion),
                       one = go_on(&greedy, model, "cab", 25,
                                   (att_decoding_options)ATT_INIT(att_decoding_options));
        att_completion found =
            go_on(&beam, model, "cab", 25,
                  (att_decoding_options){ .size = sizeof(att_decoding_options), .beam = 5 });
        assert_int_equal(found.tokens, 25);
        assert_true(found.score >= one.score);
        memcpy(all + 3, beam.text, beam.length);
        assert_int_equal(
            att_model_score_text(&sums, model, all, 3 + beam.length, NULL, receive, &scored, NULL),
            ATT_OK);
        assert_memory_equal(scored.scores + 2, beam.scores, 25 * sizeof *beam.scores);
        att_model_free(model);
    }
}

static void a_prompt_may_be_unknown_or_missing(void **state)
{
    (void)state;
    att_model *model = make(RECURRENT);
    received h = { 0 };
    att_completion found =
        go_on(&h, model, "x\xC3\xA9y", 10,
              (att_decoding_options){ .size = sizeof(att_decoding_options), .sample = true });
    assert_int_equal(found.prompt_tokens, 3);
    assert_int_equal(found.unknown_tokens, 2);
    assert_int_equal(found.tokens, 10);
    assert_null(strstr(h.text, "unknown"));
    found = go_on(&h, model, "", 10, (att_decoding_options)ATT_INIT(att_decoding_options));
    assert_int_equal(found.prompt_tokens, 0);
    assert_int_equal(h.tokens, 10);
    received after = { 0 };
    go_on(&after, model, "\n", 10, (att_decoding_options)ATT_INIT(att_decoding_options));
    assert_memory_equal(h.text, after.text, after.length); /* as after a line end */
    att_error err = { 0 };
    assert_int_equal(
        att_model_complete(
            &found, model, "\xFF", 1,
            &(att_complete_options){ .size = sizeof(att_complete_options), .max_new_tokens = 1 },
            receive, &h, &err),
        ATT_BAD_INPUT);
    att_model_free(model);
}

static bool hear_whole(void *context, const char *text, size_t length, double score)
{
    (void)score;
    received *h = context;
    for (size_t i = 0; i < length;) {
        unsigned char lead = (unsigned char)text[i];
        size_t bytes = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        assert_true(lead != 0 && (lead < 0x80 || lead >= 0xC2) && i + bytes <= length);
        for (size_t k = 1; k < bytes; k++)
            assert_int_equal((unsigned char)text[i + k] & 0xC0, 0x80);
        i += bytes;
    }
    h->tokens++;
    return true;
}

/* A model of bytes with initial parameters. */
typedef struct byte_model {
    att_settings *settings;
    att_vocab *words;
    att_model *model;
} byte_model;

static byte_model byte_model_new(void)
{
    static const char *const bytes[] = { "task", "lm", "tokens", "byte", "hidden-size", "8", NULL };
    byte_model b;
    assert_int_equal(att_settings_new(&b.settings, NULL, NULL), ATT_OK);
    for (const char *const *set = bytes; set[0]; set += 2)
        assert_int_equal(att_settings_set(b.settings, set[0], set[1], NULL), ATT_OK);
    assert_int_equal(att_vocab_new(&b.words, ATT_TOKENIZER_BYTE, false, NULL), ATT_OK);
    att_vocab_set_whole_text(b.words);
    assert_int_equal(att_model_new(&b.model, b.settings, NULL, b.words, NULL), ATT_OK);
    return b;
}

static void byte_model_free(byte_model *b)
{
    att_model_free(b->model);
    att_vocab_free(b->words);
    att_settings_free(b->settings);
}

/* Bytes sampled at random are rarely valid characters; the reported text is UTF-8 all the same. */
static void bytes_are_reported_as_whole_characters(void **state)
{
    (void)state;
    byte_model b = byte_model_new();
    received h = { 0 };
    att_completion found = ATT_INIT(att_completion);
    const att_complete_options options = {
        .size = sizeof(att_complete_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .sample = true,
                                                   .seed = 3 },
        .max_new_tokens = 2000
    };
    assert_int_equal(
        att_model_complete(&found, b.model, "\xE2\x82", 2, &options, hear_whole, &h, NULL), ATT_OK);
    assert_int_equal(found.tokens, 2000);
    assert_true(h.tokens >= 2000);
    byte_model_free(&b);
}

/* A text may end inside a character: its bytes come last, as U+FFFD, unless the caller ended it,
 * who may have released what the callback uses. */
static void the_rest_of_a_character_is_reported_unless_the_caller_ended_the_text(void **state)
{
    (void)state;
    enum { TEXTS = 64 };
    byte_model b = byte_model_new();
    int with_rest = 0;
    for (uint64_t seed = 1; seed <= TEXTS; seed++) {
        const att_decoding_options sampled = { .size = sizeof(att_decoding_options),
                                               .sample = true,
                                               .seed = seed };
        received whole = { 0 }, ended = { .stop_after = 3 };
        go_on(&whole, b.model, "a", 3, sampled);
        go_on(&ended, b.model, "a", 3, sampled);
        assert_int_equal(ended.tokens, 3);
        if (whole.tokens == 3)
            continue;
        with_rest++;
        assert_int_equal(whole.tokens, 4);
        assert_true(whole.scores[3] == 0 && whole.length > ended.length);
        assert_memory_equal(whole.text + ended.length, "\xEF\xBF\xBD", 3);
    }
    assert_true(with_rest > 0 && with_rest < TEXTS);
    byte_model_free(&b);
}

static bool ignore(void *context, const char *text, size_t length, double score)
{
    (void)context, (void)text, (void)length, (void)score;
    return true;
}

static att_status complete_some(void *context)
{
    att_completion found = ATT_INIT(att_completion);
    const att_decoding_options beam = { .size = sizeof beam, .beam = 2 };
    const att_complete_options options = { .size = sizeof options,
                                           .decoding = &beam,
                                           .max_new_tokens = 3 };
    return att_model_complete(&found, context, "\xE2", 1, &options, ignore, NULL, NULL);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    byte_model b = byte_model_new();
    assert_int_equal(complete_some(b.model), ATT_OK); /* packs the weights, which stay */
    assert_true(every_arena_allocation_fails(complete_some, b.model, 10000) > 10);
    byte_model_free(&b);
}

static void a_text_has_100_tokens_unless_asked_otherwise(void **state)
{
    (void)state;
    att_model *model = make(RECURRENT);
    received h = { 0 };
    att_completion found = go_on(&h, model, "a", 0, (att_decoding_options){ .seed = 0 });
    assert_int_equal(found.tokens, 100);
    assert_int_equal(h.tokens, 100);
    att_model_free(model);
}

static void other_kinds_of_models_are_refused(void **state)
{
    (void)state;
    static const char *const characters[] = { "a", "b" };
    const att_token_list tokens = { characters, 2 };
    att_settings *settings;
    att_model *model, *text = make(RECURRENT);
    att_outputs *outputs;
    att_completion found = ATT_INIT(att_completion);
    att_error err = { 0 };
    received h = { 0 };
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    assert_int_equal(att_model_build(&model, settings, &tokens, &tokens, NULL), ATT_OK);
    assert_int_equal(
        att_model_complete(
            &found, model, "a", 1,
            &(att_complete_options){ .size = sizeof(att_complete_options), .max_new_tokens = 1 },
            receive, &h, &err),
        ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected a language model, found"));
    const char *line = "a";
    assert_int_equal(att_model_generate(&outputs, text, &line, 1, NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected a seq2seq model, found a language model"));
    att_model_free(model);
    att_model_free(text);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_text),
        cmocka_unit_test(scores_of_a_text_are_those_of_its_generation),
        cmocka_unit_test(tokens_are_reported_one_by_one_and_false_ends_the_text),
        cmocka_unit_test(a_beam_reports_one_text_that_is_no_less_probable),
        cmocka_unit_test(a_prompt_may_be_unknown_or_missing),
        cmocka_unit_test(bytes_are_reported_as_whole_characters),
        cmocka_unit_test(the_rest_of_a_character_is_reported_unless_the_caller_ended_the_text),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_text_has_100_tokens_unless_asked_otherwise),
        cmocka_unit_test(other_kinds_of_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
