/* Metrics on text: sacreBLEU's figures to the digit (golden/make), figures that can be worked out
 * by hand, and what is refused. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "failing_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOLDEN(name) ATTEND_SOURCE_DIR "/tests/metrics/golden/" name

/* Copies the scores out of a result and frees it; a signature stays valid for 16 more scores. */
static void keep_scores(att_metric_score *out, size_t count, att_metric_scores *scores)
{
    static char signatures[16][192];
    static size_t next;
    for (size_t i = 0; i < count; i++, next = (next + 1) % 16) {
        out[i] = *att_metric_scores_get(scores, i);
        strcpy(signatures[next], out[i].signature);
        out[i].signature = signatures[next];
    }
    assert_null(att_metric_scores_get(scores, count));
    att_metric_scores_free(scores);
}

static att_status score_texts(att_metric_score *out, const char *const *names, size_t count,
                              const att_hypotheses *texts, const att_metric_options *how,
                              att_error *err)
{
    att_metric_scores *scores;
    att_status status = att_metrics_score(&scores, names, count, texts, how, err);
    assert_true((status == ATT_OK) == (scores != NULL));
    if (status == ATT_OK)
        keep_scores(out, count, scores);
    return status;
}

static att_status score_files(att_metric_score *out, size_t *lines, const char *const *names,
                              size_t count, const char *hypotheses, const char *const *references,
                              size_t reference_count, const att_metric_options *how, att_error *err)
{
    att_metric_scores *scores;
    att_status status = att_metrics_score_files(&scores, names, count, hypotheses, references,
                                                reference_count, how, err);
    assert_true((status == ATT_OK) == (scores != NULL));
    if (status != ATT_OK)
        return status;
    *lines = att_metric_scores_lines(scores);
    keep_scores(out, count, scores);
    return ATT_OK;
}

static double score_lines(const char *metric, const att_metric_options *how, const char *hypothesis,
                          const char *reference)
{
    att_metric_score score;
    att_error err = { 0 };
    const char *const *references[] = { &reference };
    const att_hypotheses texts = { &hypothesis, references, 1, 1 };
    if (score_texts(&score, &metric, 1, &texts, how, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return score.value;
}

static void assert_near(double got, double expected, double within)
{
    if (!(fabs(got - expected) <= within))
        fail_msg("%.17g is not %.17g", got, expected);
}

/* ---- golden */

static double score_golden(int references, const att_metric_options *how, const char *metric)
{
    static const char *const paths[] = { GOLDEN("references.txt"), GOLDEN("others.txt") };
    att_metric_score score;
    size_t lines;
    att_error err = { 0 };
    if (score_files(&score, &lines, &metric, 1, GOLDEN("answers.txt"), paths, (size_t)references,
                    how, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
    assert_int_equal(lines, 300);
    return score.value;
}

/* Golden scores have ten digits after the point: the tolerance is half of the last one. */
static void scores_are_those_of_sacrebleu(void **state)
{
    (void)state;
    att_string rows = { 0 };
    assert_int_equal(att_file_read(&rows, GOLDEN("scores.tsv"), 1 << 20, NULL), ATT_OK);
    int compared = 0;
    for (char *row = strtok(rows.data, "\n"); row; row = strtok(NULL, "\n"), compared++) {
        int references, lower, end;
        char tokenizer[16], metric[16];
        assert_int_equal(
            sscanf(row, "%d\t%15s\t%d\t%15s\t%n", &references, tokenizer, &lower, metric, &end), 4);
        const att_metric_options how = { .size = sizeof(att_metric_options),
                                         .tokenizer = tokenizer,
                                         .lowercase = lower != 0 };
        double expected = strtod(row + end, NULL), got = score_golden(references, &how, metric);
        if (fabs(got - expected) > 0.5e-10)
            fail_msg("%s, not %.10f", row, got);
    }
    assert_int_equal(compared, 26);
    att_string_free(&rows);
}

static void scores_of_captions_are_those_computed_with_numpy(void **state)
{
    (void)state;
    static const char *const paths[] = { GOLDEN("captions.1.txt"), GOLDEN("captions.2.txt"),
                                         GOLDEN("captions.3.txt") };
    att_string rows = { 0 };
    assert_int_equal(att_file_read(&rows, GOLDEN("captions.tsv"), 1 << 20, NULL), ATT_OK);
    int compared = 0;
    for (char *row = strtok(rows.data, "\n"); row; row = strtok(NULL, "\n"), compared++) {
        int references, end;
        char name[16];
        assert_int_equal(sscanf(row, "%d\t%15s\t%n", &references, name, &end), 2);
        const char *metric = name;
        att_metric_score score;
        size_t lines;
        assert_int_equal(score_files(&score, &lines, &metric, 1, GOLDEN("captions.answers.txt"),
                                     paths, (size_t)references, NULL, NULL),
                         ATT_OK);
        if (fabs(score.value - strtod(row + end, NULL)) > 0.5e-10 + 1e-14 * score.value)
            fail_msg("%s, not %.10f", row, score.value);
    }
    assert_int_equal(compared, 10);
    att_string_free(&rows);
}

/* ---- by hand */

static void edits_count_for_each_word_of_the_reference(void **state)
{
    (void)state;
    assert_near(score_lines("wer", NULL, "a x c", "a b c d"), 50, 1e-12);
    assert_near(score_lines("per", NULL, "HH AH L OW", "HH EH L OW"), 25, 1e-12);
    assert_near(score_lines("cer", NULL, "abd", "abcd"), 25, 1e-12);
    assert_near(score_lines("wer", NULL, "", "a b"), 100, 1e-12);
    assert_near(score_lines("wer", NULL, "a b c", "a"), 200, 1e-12);
    assert_near(score_lines("wer", NULL, "", ""), 0, 1e-12);
}

static void a_moved_phrase_is_one_edit(void **state)
{
    (void)state;
    assert_near(score_lines("ter", NULL, "d e a b c", "a b c d e"), 20, 1e-12);
    assert_near(score_lines("wer", NULL, "d e a b c", "a b c d e"), 80, 1e-12);
}

static void lines_match_regardless_of_white_space(void **state)
{
    (void)state;
    assert_near(score_lines("exact-match", NULL, " a  b", "a b "), 100, 1e-12);
    assert_near(score_lines("exact-match", NULL, "ab", "a b"), 0, 1e-12);
    assert_near(score_lines("exact-match", NULL, "", "  "), 100, 1e-12);
    assert_near(score_lines("exact-match", NULL, "A b", "a B"), 0, 1e-12);
    assert_near(
        score_lines("exact-match",
                    &(att_metric_options){ .size = sizeof(att_metric_options), .lowercase = true },
                    "A b", "a B"),
        100, 1e-12);
}

/* (3/4 · 2/3 · 1/2 · 1/2)^¼, the last halved since nothing matches. */
static void bleu_is_the_mean_of_precisions(void **state)
{
    (void)state;
    double expected = 100 * pow(3.0 / 4 * 2 / 3 * 1 / 2 * 1 / 2, 0.25);
    assert_near(score_lines("bleu", NULL, "a b c x", "a b c d"), expected, 1e-10);
    assert_near(score_lines("bleu", NULL, "a b c d", "a b c d e"), 100 * exp(1 - 5.0 / 4), 1e-10);
}

static void any_reference_may_match(void **state)
{
    (void)state;
    const char *hypothesis = "the second one here";
    const char *one[] = { "nothing alike" }, *other[] = { "the second one here" };
    const char *const *references[] = { one, other };
    const att_hypotheses texts = { &hypothesis, references, 1, 2 };
    static const char *const names[] = { "bleu", "chrf", "wer", "exact-match" };
    att_metric_score scores[4];
    assert_int_equal(score_texts(scores, names, 4, &texts, NULL, NULL), ATT_OK);
    assert_near(scores[0].value, 100, 1e-9);
    assert_near(scores[1].value, 100, 1e-9);
    assert_near(scores[2].value, 0, 1e-12);
    assert_near(scores[3].value, 100, 1e-12);
}

/* BLEU-2 of "a dog": both words and the bigram match; half as long as the reference. */
static void captions_are_compared_without_punctuation_or_smoothing(void **state)
{
    (void)state;
    assert_near(score_lines("bleu-4", NULL, "A dog's ball, here !", "a dog 's ball here."), 100,
                1e-9);
    assert_near(score_lines("bleu-2", NULL, "a dog", "A dog runs on."), 100 * exp(1 - 4.0 / 2),
                1e-9);
    assert_near(score_lines("bleu-2", NULL, "dog a", "a dog"), 0, 0);
    assert_near(score_lines("bleu-1", NULL, "dog a", "a dog"), 100, 1e-9);
}

/* A line with one reference is compared with only that. */
static void a_line_may_have_fewer_references(void **state)
{
    (void)state;
    const char *hypotheses[] = { "a dog runs by the sea", "two men sit on a bench" };
    const char *first[] = { "a cat runs by the sea", "two men sit on a bench" };
    const char *second[] = { "a dog runs by the lake", NULL };
    const char *const *references[] = { first, second };
    const att_hypotheses texts = { hypotheses, references, 2, 2 };
    static const char *const names[] = { "bleu-1", "chrf++", "wer" };
    att_metric_score scores[3];
    assert_int_equal(score_texts(scores, names, 3, &texts, NULL, NULL), ATT_OK);
    assert_near(scores[0].value, 100, 1e-9);
    assert_true(scores[1].value < 100);
    assert_near(scores[2].value, 100.0 / 12, 1e-9);
    assert_memory_equal(scores[0].signature, "nrefs:var|", 10);
    first[1] = NULL;
    att_error err = { 0 };
    assert_int_equal(score_texts(scores, names, 1, &texts, NULL, &err), ATT_BAD_INPUT);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.message, "the line has no reference");
}

/* An n-gram that the references of every image have has weight 0; a rare one has a large weight. */
static void cider_counts_what_is_rare(void **state)
{
    (void)state;
    const char *hypotheses[] = { "a dog", "a cat" };
    const char *targets[] = { "a dog", "a cat" };
    const char *const *references[] = { targets };
    const att_hypotheses texts = { hypotheses, references, 2, 1 };
    static const char *const name = "cider";
    att_metric_score score;
    assert_int_equal(score_texts(&score, &name, 1, &texts, NULL, NULL), ATT_OK);
    assert_near(score.value, 500,
                1e-9); /* orders 1 and 2 of four; there are no 3-grams and 4-grams */
    hypotheses[0] = hypotheses[1] = "a";
    assert_int_equal(score_texts(&score, &name, 1, &texts, NULL, NULL), ATT_OK);
    assert_near(score.value, 0, 0);
}

/* ---- intervals and signatures */

static att_metric_score with_interval(uint64_t seed, int threads)
{
    static const char *const paths[] = { GOLDEN("references.txt") };
    static const char *const name = "bleu";
    const att_metric_options how = { .size = sizeof(att_metric_options),
                                     .resamples = 200,
                                     .seed = seed };
    att_metric_score score;
    size_t lines;
    att_threads_set(threads);
    assert_int_equal(
        score_files(&score, &lines, &name, 1, GOLDEN("answers.txt"), paths, 1, &how, NULL), ATT_OK);
    att_threads_set(0);
    return score;
}

static void an_interval_contains_the_score_and_depends_on_the_seed(void **state)
{
    (void)state;
    att_metric_score one = with_interval(1, 1), same = with_interval(1, 2);
    att_metric_score other = with_interval(2, 1);
    assert_true(one.interval.low < one.value && one.value < one.interval.high);
    assert_true(one.interval.high - one.interval.low > 1 &&
                one.interval.high - one.interval.low < 15);
    assert_memory_equal(&one.interval.low, &same.interval.low, sizeof one.interval.low);
    assert_memory_equal(&one.interval.high, &same.interval.high, sizeof one.interval.high);
    assert_true(one.interval.low != other.interval.low);
    assert_near(one.value, other.value, 0);
}

static void a_signature_states_how_a_score_was_computed(void **state)
{
    (void)state;
    assert_string_equal(with_interval(7, 1).signature,
                        "nrefs:1|bs:200|seed:7|case:mixed|eff:no|tok:13a|smooth:exp"
                        "|version:attend-" ATT_VERSION);
    static const char *const names[] = { "bleu", "ter", "chrf++" };
    const char *line = "a";
    const char *const *references[] = { &line };
    const att_hypotheses texts = { &line, references, 1, 1 };
    const att_metric_options how = { .size = sizeof(att_metric_options),
                                     .tokenizer = "char",
                                     .lowercase = true };
    att_metric_score scores[3];
    assert_int_equal(score_texts(scores, names, 3, &texts, &how, NULL), ATT_OK);
    assert_string_equal(scores[0].signature,
                        "nrefs:1|case:lc|eff:no|tok:char|smooth:exp|version:attend-" ATT_VERSION);
    assert_string_equal(
        scores[1].signature,
        "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:attend-" ATT_VERSION);
    assert_string_equal(scores[2].signature,
                        "nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:no|version:attend-" ATT_VERSION);
    assert_true(isnan(scores[0].interval.low) && isnan(scores[0].interval.high));
}

/* ---- what is refused */

static void assert_refused(const char *metric, const char *tokenizer, const char *hypothesis,
                           const char *place, int line, const char *message)
{
    att_metric_score score;
    att_error err = { 0 };
    const char *reference = "fine";
    const char *const *references[] = { &reference };
    const att_hypotheses texts = { &hypothesis, references, 1, 1 };
    const att_metric_options how = { .size = sizeof(att_metric_options), .tokenizer = tokenizer };
    assert_int_equal(score_texts(&score, &metric, 1, &texts, &how, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, place);
    assert_int_equal(err.line, line);
    assert_string_equal(err.message, message);
}

static void invalid_input_is_refused(void **state)
{
    (void)state;
    assert_refused("blue", NULL, "a", "", 0, "unknown metric 'blue'; did you mean bleu?");
    assert_refused("bleu", "14", "a", "", 0,
                   "unknown tokenizer '14', expected 13a, none, char or intl");
    assert_refused("bleu", NULL, "a\xFF", "hypotheses", 1,
                   "byte 2 of the line, 0xFF, is not UTF-8");
    const att_hypotheses none = { 0 };
    static const char *const name = "bleu";
    att_metric_score score;
    assert_int_equal(score_texts(&score, &name, 1, &none, NULL, NULL), ATT_BAD_INPUT);
}

static void files_must_have_the_same_number_of_lines(void **state)
{
    (void)state;
    static const char *const name = "bleu", *const paths[] = { GOLDEN("scores.tsv") };
    att_metric_score score;
    size_t lines;
    att_error err = { 0 };
    assert_int_equal(
        score_files(&score, &lines, &name, 1, GOLDEN("answers.txt"), paths, 1, NULL, &err),
        ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "has 26 lines and "));
    assert_non_null(strstr(err.message, "they must correspond line by line"));
}

static void every_metric_is_named_and_scored(void **state)
{
    (void)state;
    assert_null(att_metric_get(att_metric_count()));
    for (size_t i = 0; i < att_metric_count(); i++) {
        const att_metric *metric = att_metric_get(i);
        if (strcmp(metric->name, "cider") == 0)
            continue; /* the document frequency of one line is 1 */
        assert_near(
            score_lines(metric->name, NULL, "one two three four five", "one two three four five"),
            metric->lower_is_better ? 0 : 100, 1e-9);
    }
}

static att_status score_two(void *context)
{
    (void)context;
    static const char *const names[] = { "bleu", "chrf++", "ter", "cer", "cider" };
    const char *const hypotheses[] = { "b c a d", "A, b" }, *const targets[] = { "a b c d", "a b" };
    const char *const *references[] = { targets };
    const att_hypotheses texts = { hypotheses, references, 2, 1 };
    const att_metric_options how = { .size = sizeof(att_metric_options),
                                     .lowercase = true,
                                     .resamples = 10 };
    att_metric_score scores[5];
    return score_texts(scores, names, 5, &texts, &how, NULL);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_threads_set(1);
    every_allocation_fails(score_two, NULL, 300);
    att_threads_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_sacrebleu),
        cmocka_unit_test(scores_of_captions_are_those_computed_with_numpy),
        cmocka_unit_test(captions_are_compared_without_punctuation_or_smoothing),
        cmocka_unit_test(a_line_may_have_fewer_references),
        cmocka_unit_test(cider_counts_what_is_rare),
        cmocka_unit_test(edits_count_for_each_word_of_the_reference),
        cmocka_unit_test(a_moved_phrase_is_one_edit),
        cmocka_unit_test(lines_match_regardless_of_white_space),
        cmocka_unit_test(bleu_is_the_mean_of_precisions),
        cmocka_unit_test(any_reference_may_match),
        cmocka_unit_test(an_interval_contains_the_score_and_depends_on_the_seed),
        cmocka_unit_test(a_signature_states_how_a_score_was_computed),
        cmocka_unit_test(invalid_input_is_refused),
        cmocka_unit_test(files_must_have_the_same_number_of_lines),
        cmocka_unit_test(every_metric_is_named_and_scored),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
