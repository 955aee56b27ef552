/* Suggestions: the known word nearest to a mistyped one. */
#include "attend.h"
#include "base/minmax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const functions[] = { "softmax",   "sparsemax", "self_attention",
                                         "attention", "tanh",      "exp",
                                         "sum",       "W_q" };

static const char *suggest(const char *word)
{
    return att_suggest(word, functions, ATT_COUNT(functions));
}

static void each_kind_of_typo_is_one_edit(void **state)
{
    (void)state;
    assert_string_equal(suggest("softmx"), "softmax");     /* a missing character */
    assert_string_equal(suggest("tannh"), "tanh");         /* a doubled character */
    assert_string_equal(suggest("tamh"), "tanh");          /* a wrong character */
    assert_string_equal(suggest("tnah"), "tanh");          /* swapped characters */
    assert_string_equal(suggest("xsoftmax"), "softmax");   /* an extra character in front */
    assert_string_equal(suggest("attentio"), "attention"); /* a missing character at the end */
}

static void case_does_not_count(void **state)
{
    (void)state;
    assert_string_equal(suggest("SoftMax"), "softmax");
    assert_string_equal(suggest("w_Q"), "W_q");
}

static void longer_words_may_be_further_off(void **state)
{
    (void)state;
    assert_string_equal(suggest("self_atention"), "self_attention");
    assert_string_equal(suggest("slf_atentoin"), "self_attention");
    assert_null(suggest("self_motion"));
}

static void the_nearest_wins_and_the_first_among_equals(void **state)
{
    (void)state;
    static const char *const words[] = { "weight", "weights", "weighty" };
    assert_string_equal(att_suggest("weightss", words, 3), "weights");
    assert_string_equal(att_suggest("weighta", words, 3), "weight");
    assert_string_equal(att_suggest("weighty", words, 3), "weighty");
}

static void nothing_is_suggested_where_nothing_is_near(void **state)
{
    (void)state;
    assert_null(suggest("banana"));
    assert_null(suggest(""));
    assert_null(att_suggest("tanh", NULL, 0));
    static const char *const characters[] = { "q", "k", "" };
    assert_null(att_suggest("v", characters, 3)); /* one edit, but nothing in common */
    assert_string_equal(att_suggest("Q", characters, 3), "q");
}

static void long_words_get_no_suggestion(void **state)
{
    (void)state;
    char word[100001];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *known[] = { word, "a" };
    assert_null(att_suggest(word, known, 2));
    assert_null(att_suggest("aa", known, 1));
    word[64] = '\0';
    char near[65];
    memcpy(near, word, sizeof near);
    near[63] = 'b';
    assert_ptr_equal(att_suggest(near, known, 2), word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_typo_is_one_edit),
        cmocka_unit_test(case_does_not_count),
        cmocka_unit_test(longer_words_may_be_further_off),
        cmocka_unit_test(the_nearest_wins_and_the_first_among_equals),
        cmocka_unit_test(nothing_is_suggested_where_nothing_is_near),
        cmocka_unit_test(long_words_get_no_suggestion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
