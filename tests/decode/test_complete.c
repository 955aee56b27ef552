/* Texts that a language model goes on with: told as they are made, the same for the same seed. */
#include "attend.h"

#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Tokens of a model made by hand. Its parameters are as they start, which is enough: every token
 * has some probability. */
static att_model *make(const char *const *set)
{
    static const char *const letters[] = { "a", "b", "c", "\n", " ", "\xC3\xA9" };
    const att_token_list tokens = { letters, 6 };
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

typedef struct heard {
    char text[512];
    double scores[256];
    size_t length;
    int tokens;
    int stop_after; /* 0: never */
} heard;

static bool hear(void *context, const char *text, size_t length, double score)
{
    heard *h = context;
    memcpy(h->text + h->length, text, length);
    h->length += length;
    h->scores[h->tokens++] = score;
    return h->tokens != h->stop_after;
}

static att_completion go_on(heard *h, att_model *model, const char *prompt, int64_t tokens,
                            att_decoding_options how)
{
    att_completion found = ATT_INIT(att_completion);
    att_error err = { 0 };
    how.size = sizeof how;
    const att_complete_options wanted = { .size = sizeof(att_complete_options),
                                          .decoding = &how,
                                          .max_new_tokens = tokens };
    *h = (heard){ .stop_after = h->stop_after };
    if (att_model_complete(&found, model, prompt, strlen(prompt), &wanted, hear, h, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return found;
}

static void the_same_seed_gives_the_same_text(void **state)
{
    (void)state;
    const char *const *const kinds[] = { RECURRENT, TRANSFORMER };
    for (int k = 0; k < 2; k++) {
        att_model *model = make(kinds[k]);
        heard one = { 0 }, same = { 0 }, other = { 0 };
        const att_decoding_options how = { .size = sizeof(att_decoding_options),
                                           .sample = true,
                                           .seed = 5 };
        att_completion found = go_on(&one, model, "ab", 40, how);
        assert_int_equal(found.tokens, 40);
        assert_int_equal(found.prompt_tokens, 2);
        go_on(&same, model, "ab", 40, how);
        assert_int_equal(one.length, same.length);
        assert_memory_equal(one.text, same.text, one.length);
        go_on(&other, model, "ab", 40,
              (att_decoding_options){
                  .size = sizeof(att_decoding_options), .sample = true, .seed = 6 });
        assert_true(other.length != one.length || memcmp(one.text, other.text, one.length) != 0);
        att_model_free(model);
    }
}

/* What was said of a text as it was made is said of it when it is told. */
static void scores_of_a_text_are_those_it_was_made_with(void **state)
{
    (void)state;
    const char *const *const kinds[] = { RECURRENT, TRANSFORMER };
    for (int k = 0; k < 2; k++) {
        att_model *model = make(kinds[k]);
        heard made = { 0 }, told = { 0 };
        char all[600] = "ab";
        att_completion sums = ATT_INIT(att_completion);
        att_completion found =
            go_on(&made, model, "ab", 30,
                  (att_decoding_options){
                      .size = sizeof(att_decoding_options), .sample = true, .seed = 9 });
        memcpy(all + 2, made.text, made.length);
        assert_int_equal(
            att_model_score_text(&sums, model, all, 2 + made.length, NULL, hear, &told, NULL),
            ATT_OK);
        assert_int_equal(sums.tokens, 31); /* the first has no score */
        assert_int_equal(told.tokens, 31);
        assert_memory_equal(told.text + 1, made.text, made.length);
        assert_memory_equal(told.scores + 1, made.scores, 30 * sizeof *made.scores);
        assert_true(found.score < 0);
        att_model_free(model);
    }
}

static void tokens_are_told_one_by_one_and_a_no_ends_the_text(void **state)
{
    (void)state;
    att_model *model = make(RECURRENT);
    heard all = { 0 }, some = { .stop_after = 7 };
    go_on(&all, model, "a", 20, (att_decoding_options)ATT_INIT(att_decoding_options));
    att_completion found =
        go_on(&some, model, "a", 20, (att_decoding_options)ATT_INIT(att_decoding_options));
    assert_int_equal(all.tokens, 20);
    assert_int_equal(some.tokens, 7);
    assert_int_equal(found.tokens, 7);
    assert_memory_equal(all.text, some.text, some.length);
    att_model_free(model);
}

/* A beam tells what all of its hypotheses agree on, and in the end the best of them: no less
 * probable than the most probable tokens one by one. */
static void a_beam_tells_one_text_that_is_no_less_probable(void **state)
{
    (void)state;
    const char *const *const kinds[] = { RECURRENT, TRANSFORMER };
    for (int k = 0; k < 2; k++) {
        att_model *model = make(kinds[k]);
        heard greedy = { 0 }, beam = { 0 }, told = { 0 };
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
            att_model_score_text(&sums, model, all, 3 + beam.length, NULL, hear, &told, NULL),
            ATT_OK);
        assert_memory_equal(told.scores + 2, beam.scores, 25 * sizeof *beam.scores);
        att_model_free(model);
    }
}

static void a_prompt_may_be_unknown_or_missing(void **state)
{
    (void)state;
    att_model *model = make(RECURRENT);
    heard h = { 0 };
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
    heard after = { 0 };
    go_on(&after, model, "\n", 10, (att_decoding_options)ATT_INIT(att_decoding_options));
    assert_memory_equal(h.text, after.text, after.length); /* as after the end of a line */
    att_error err = { 0 };
    assert_int_equal(
        att_model_complete(
            &found, model, "\xFF", 1,
            &(att_complete_options){ .size = sizeof(att_complete_options), .max_new_tokens = 1 },
            hear, &h, &err),
        ATT_BAD_INPUT);
    att_model_free(model);
}

static bool hear_whole(void *context, const char *text, size_t length, double score)
{
    (void)score;
    heard *h = context;
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

/* Bytes drawn at random make hardly any character: what is told is UTF-8 all the same. */
static void bytes_are_told_as_whole_characters(void **state)
{
    (void)state;
    static const char *const bytes[] = { "task", "lm", "tokens", "byte", "hidden-size", "8", NULL };
    att_settings *settings;
    att_vocab *words;
    att_model *model;
    assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
    for (const char *const *set = bytes; set[0]; set += 2)
        assert_int_equal(att_settings_set(settings, set[0], set[1], NULL), ATT_OK);
    assert_int_equal(att_vocab_new(&words, ATT_TOKENIZER_BYTE, false, NULL), ATT_OK);
    att_vocab_set_whole_text(words);
    assert_int_equal(att_model_new(&model, settings, NULL, words, NULL), ATT_OK);
    heard h = { 0 };
    att_completion found = ATT_INIT(att_completion);
    const att_complete_options how = {
        .size = sizeof(att_complete_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .sample = true,
                                                   .seed = 3 },
        .max_new_tokens = 2000
    };
    assert_int_equal(att_model_complete(&found, model, "\xE2\x82", 2, &how, hear_whole, &h, NULL),
                     ATT_OK);
    assert_int_equal(found.tokens, 2000);
    assert_true(h.tokens >= 2000);
    att_model_free(model);
    att_vocab_free(words);
    att_settings_free(settings);
}

static void other_kinds_of_models_are_refused(void **state)
{
    (void)state;
    static const char *const letters[] = { "a", "b" };
    const att_token_list tokens = { letters, 2 };
    att_settings *settings;
    att_model *model, *text = make(RECURRENT);
    att_outputs *answers;
    att_completion found = ATT_INIT(att_completion);
    att_error err = { 0 };
    heard h = { 0 };
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    assert_int_equal(att_model_build(&model, settings, &tokens, &tokens, NULL), ATT_OK);
    assert_int_equal(
        att_model_complete(
            &found, model, "a", 1,
            &(att_complete_options){ .size = sizeof(att_complete_options), .max_new_tokens = 1 },
            hear, &h, &err),
        ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected a language model, found"));
    const char *line = "a";
    assert_int_equal(att_model_generate(&answers, text, &line, 1, NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected a seq2seq model, found a language model"));
    att_model_free(model);
    att_model_free(text);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_text),
        cmocka_unit_test(scores_of_a_text_are_those_it_was_made_with),
        cmocka_unit_test(tokens_are_told_one_by_one_and_a_no_ends_the_text),
        cmocka_unit_test(a_beam_tells_one_text_that_is_no_less_probable),
        cmocka_unit_test(a_prompt_may_be_unknown_or_missing),
        cmocka_unit_test(bytes_are_told_as_whole_characters),
        cmocka_unit_test(other_kinds_of_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
