/* Spans of labels and their F1, on cases counted by hand; the rules are those of conlleval. */
#include "metrics/span.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_LABELS = 16 };

/* Splits `text` at spaces into labels; returns their number. */
static size_t split(const char *labels[MAX_LABELS], char *text)
{
    size_t count = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        labels[count++] = word;
    return count;
}

static void add(att_span_counts *counts, const char *truth, const char *predicted)
{
    char texts[2][256];
    const char *labels[2][MAX_LABELS];
    strcpy(texts[0], truth);
    strcpy(texts[1], predicted);
    size_t count = split(labels[0], texts[0]);
    assert_int_equal(split(labels[1], texts[1]), count);
    assert_int_equal(att_span_counts_add(counts, labels[0], labels[1], count), ATT_OK);
}

static const struct {
    const char *truth, *predicted;
    int64_t support, found, correct;
} cases[] = {
    { "O O O", "O O O", 0, 0, 0 },
    { "B-x I-x O", "B-x I-x O", 1, 1, 1 },
    { "B-x I-x O", "B-x O O", 1, 1, 0 },               /* the end is wrong */
    { "B-x I-x O", "O I-x O", 1, 1, 0 },               /* the start is wrong */
    { "B-x I-x", "B-y I-y", 1, 1, 0 },                 /* the type is wrong */
    { "B-x I-x I-x", "B-x B-x I-x", 1, 2, 0 },         /* one span taken for two */
    { "B-x B-x", "B-x I-x", 2, 1, 0 },                 /* two spans taken for one */
    { "O I-x I-x O", "O B-x I-x O", 1, 1, 1 },         /* IOB1: I after O starts a span */
    { "I-x I-x", "B-x I-x", 1, 1, 1 },                 /* likewise at the start */
    { "B-x I-y O", "B-x B-y O", 2, 2, 2 },             /* the type changes inside */
    { "I-x I-y I-x", "B-x B-y B-x", 3, 3, 3 },         /* twice */
    { "I-x B-x", "B-x B-x", 2, 2, 2 },                 /* IOB1: B between spans of one type */
    { "B-x I-x E-x S-x", "B-x I-x I-x B-x", 2, 2, 2 }, /* BIOES */
    { "S-x S-x", "B-x B-x", 2, 2, 2 },
    { "B-x E-x O", "B-x L-x O", 1, 1, 1 }, /* BILOU */
    { "U-x O", "S-x O", 1, 1, 1 },
    { "E-x E-x", "B-x B-x", 2, 2, 2 },         /* an end without a start */
    { "E-x I-x", "B-x B-x", 2, 2, 2 },         /* I after an end starts a span */
    { "B-a-b I-a-b", "B-a-b I-a-b", 1, 1, 1 }, /* a type with a hyphen */
    { "B I O", "B I O", 1, 1, 1 },             /* no type */
    { "B-x", "O", 1, 0, 0 },
    { "O", "B-x", 0, 1, 0 },
};

static void spans_are_found_as_conlleval_finds_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_span_counts counts = { 0 };
        add(&counts, cases[i].truth, cases[i].predicted);
        if (counts.all.support != cases[i].support || counts.all.predicted != cases[i].found ||
            counts.all.correct != cases[i].correct)
            fail_msg("%s / %s: %lld %lld %lld", cases[i].truth, cases[i].predicted,
                     (long long)counts.all.support, (long long)counts.all.predicted,
                     (long long)counts.all.correct);
        att_span_counts_free(&counts);
    }
}

/* Two sentences: 3 true spans, 4 predicted, 2 correct. */
static void counts_add_up_over_sentences_and_by_type(void **state)
{
    (void)state;
    att_span_counts counts = { 0 };
    add(&counts, "B-x I-x O B-y", "B-x I-x O B-x");
    add(&counts, "O B-y O", "B-x B-y O");
    assert_int_equal(counts.tokens, 7);
    assert_int_equal(counts.correct_tokens, 5);
    assert_int_equal(counts.sentences, 2);
    assert_int_equal(counts.correct_sentences, 0);
    att_label_metrics all = att_span_metrics(&counts.all);
    assert_true(all.precision == 2.0 / 4 && all.recall == 2.0 / 3 && all.f1 == 4.0 / 7);
    assert_true(att_span_counts_f1(&counts) == 4.0 / 7);
    ptrdiff_t x = att_string_set_find(&counts.types, "x", 1);
    ptrdiff_t y = att_string_set_find(&counts.types, "y", 1);
    assert_true(x >= 0 && y >= 0 && counts.types.count == 2);
    att_label_metrics of_x = att_span_metrics(&counts.by_type[x]);
    att_label_metrics of_y = att_span_metrics(&counts.by_type[y]);
    assert_true(of_x.support == 1 && of_x.predicted == 3 && of_x.f1 == 0.5);
    assert_true(of_y.support == 2 && of_y.predicted == 1 && of_y.precision == 1);
    att_span_counts_free(&counts);
}

static void labels_without_prefixes_have_no_f1(void **state)
{
    (void)state;
    att_span_counts counts = { 0 };
    add(&counts, "NN VB", "NN NN");
    assert_true(isnan(att_span_counts_f1(&counts)));
    assert_int_equal(counts.correct_tokens, 1);
    add(&counts, "O B-x", "O O");
    assert_true(att_span_counts_f1(&counts) == 0);
    att_span_counts_free(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_found_as_conlleval_finds_them),
        cmocka_unit_test(counts_add_up_over_sentences_and_by_type),
        cmocka_unit_test(labels_without_prefixes_have_no_f1),
    };
    return cmocka_run_group_tests_name("span", tests, NULL, NULL);
}
