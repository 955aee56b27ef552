/* att_model_tag(): labels in the order of the lines and tokens, the same alone, in a batch and with
 * any number of threads, from one model or an ensemble. */
#include "base/string.h"
#include "failing_memory.h"
#include "json_help.h"
#include "model/tagger_help.h"

#include <math.h>
#include <stdio.h>

/* Two models trained on the same sentences, for all tests: one with a CRF, one without. */
static scene trained, other;
static const setting_pair with_crf[MAX_VARIANT_SETTINGS] = { { "crf", "yes" },
                                                             { "char-features", "cnn" } };
static const setting_pair without[MAX_VARIANT_SETTINGS] = { { "seed", "2" } };

static int train(void **state)
{
    (void)state;
    tag_scene_new(&trained, with_crf);
    scene_learn(&trained, 40, NULL);
    tag_scene_new(&other, without);
    scene_learn(&other, 20, NULL);
    return 0;
}

static int release(void **state)
{
    (void)state;
    scene_free(&trained);
    scene_free(&other);
    return 0;
}

static att_taggings *tag(att_model *model, const char *const *lines, size_t count,
                         const att_tag_options *options)
{
    att_taggings *taggings;
    att_error err = { 0 };
    if (att_model_tag(&taggings, model, lines, count, options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_taggings_count(taggings), count);
    return taggings;
}

static const char *const lines[] = { "a a b", "", "c b c", " \t ", "b a b b a  c", "b", "a z" };
enum { LINES = sizeof lines / sizeof *lines };

static void labels_come_in_the_order_of_the_tokens(void **state)
{
    (void)state;
    static const char *const wanted[] = { "B-x", "I-x", "O" };
    att_taggings *taggings = tag(trained.model, lines, LINES, NULL);
    const att_tagging *first = att_taggings_get(taggings, 0);
    assert_int_equal(first->token_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(first->labels[i], wanted[i]);
    assert_int_equal(att_taggings_get(taggings, 1)->token_count, 0);
    assert_int_equal(att_taggings_get(taggings, 3)->token_count, 0);
    assert_int_equal(att_taggings_get(taggings, 4)->token_count, 6);
    assert_int_equal(att_taggings_get(taggings, 6)->unknown_tokens, 1);
    assert_string_equal(att_taggings_get(taggings, 6)->tokens[1], "z");
    assert_null(att_taggings_get(taggings, LINES));
    att_taggings_free(taggings);
}

static void assert_equal_bits(const att_tagging *a, const att_tagging *b)
{
    assert_int_equal(a->token_count, b->token_count);
    for (int64_t i = 0; i < a->token_count; i++)
        assert_int_equal(a->label_indices[i], b->label_indices[i]);
    for (int64_t i = 0; i < a->token_count * a->label_count; i++)
        assert_true(a->probabilities[i] == b->probabilities[i]);
}

static void a_line_is_tagged_with_the_same_bits_in_any_batch_and_by_any_number_of_threads(
    void **state)
{
    (void)state;
    att_model *const with[] = { other.model };
    const att_tag_options plain = { .size = sizeof plain }, together = { .size = sizeof together,
                                                                         .ensemble = with,
                                                                         .ensemble_count = 1 };
    for (int i = 0; i < 2; i++) {
        att_tag_options options = i == 0 ? plain : together, small = options;
        small.batch_size = 2;
        att_threads_set(1);
        att_taggings *all = tag(trained.model, lines, LINES, &options);
        att_threads_set(3);
        att_taggings *pairs = tag(trained.model, lines, LINES, &small);
        for (size_t n = 0; n < LINES; n++) {
            att_taggings *alone = tag(trained.model, &lines[n], 1, &options);
            assert_equal_bits(att_taggings_get(all, n), att_taggings_get(pairs, n));
            assert_equal_bits(att_taggings_get(all, n), att_taggings_get(alone, 0));
            att_taggings_free(alone);
        }
        att_taggings_free(all);
        att_taggings_free(pairs);
    }
    att_threads_set(0);
}

static void probabilities_add_up_to_one(void **state)
{
    (void)state;
    att_taggings *taggings = tag(trained.model, lines, LINES, NULL);
    int64_t labels = (int64_t)att_model_label_count(trained.model);
    for (size_t n = 0; n < LINES; n++) {
        const att_tagging *line = att_taggings_get(taggings, n);
        for (int64_t t = 0; t < line->token_count; t++) {
            double sum = 0;
            for (int64_t k = 0; k < labels; k++)
                sum += line->probabilities[t * labels + k];
            assert_true(fabs(sum - 1) < 1e-5);
            assert_string_equal(line->labels[t],
                                att_model_label(trained.model, (size_t)line->label_indices[t]));
        }
    }
    att_taggings_free(taggings);
}

static void an_ensemble_has_the_mean_of_the_probabilities_and_its_most_probable_label(void **state)
{
    (void)state;
    att_model *const with[] = { other.model };
    const att_tag_options options = { .size = sizeof options,
                                      .ensemble = with,
                                      .ensemble_count = 1 };
    att_taggings *one = tag(trained.model, lines, LINES, NULL);
    att_taggings *two = tag(other.model, lines, LINES, NULL);
    att_taggings *both = tag(trained.model, lines, LINES, &options);
    for (size_t n = 0; n < LINES; n++) {
        const att_tagging *a = att_taggings_get(one, n), *b = att_taggings_get(two, n),
                          *mean = att_taggings_get(both, n);
        for (int64_t i = 0; i < mean->token_count * mean->label_count; i++)
            assert_true(fabs(mean->probabilities[i] -
                             (a->probabilities[i] + b->probabilities[i]) / 2) < 1e-6);
        for (int64_t t = 0; t < mean->token_count; t++)
            for (int64_t k = 0; k < mean->label_count; k++)
                assert_true(mean->probabilities[t * mean->label_count + k] <=
                            mean->probabilities[t * mean->label_count + mean->label_indices[t]]);
    }
    att_taggings_free(one);
    att_taggings_free(two);
    att_taggings_free(both);
}

static void a_line_that_is_too_long_is_refused_or_truncated(void **state)
{
    (void)state;
    att_taggings *taggings;
    att_error err = { 0 };
    const att_tag_options refuse = { .size = sizeof refuse, .max_input_length = 4 };
    const att_tag_options truncate = { .size = sizeof truncate,
                                       .max_input_length = 4,
                                       .input_overflow = ATT_OVERFLOW_TRUNCATE };
    assert_int_equal(att_model_tag(&taggings, trained.model, lines, LINES, &refuse, &err),
                     ATT_BAD_INPUT);
    assert_null(taggings);
    assert_int_equal(err.line, 5);
    taggings = tag(trained.model, lines, LINES, &truncate);
    assert_int_equal(att_taggings_get(taggings, 4)->token_count, 4);
    assert_int_equal(att_taggings_get(taggings, 4)->truncated_input_tokens, 2);
    att_taggings_free(taggings);
}

static att_status tag_some(void *context)
{
    const scene *const *scenes = context;
    const att_tag_options options = { .size = sizeof options,
                                      .ensemble = (att_model *[]){ scenes[1]->model },
                                      .ensemble_count = 1 };
    att_taggings *taggings;
    att_status status = att_model_tag(&taggings, scenes[0]->model, lines, 3, &options, NULL);
    att_taggings_free(taggings);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    const scene *scenes[] = { &trained, &other };
    assert_int_equal(tag_some(scenes), ATT_OK); /* packs the weights, which stay */
    assert_true(every_arena_allocation_fails(tag_some, scenes, 10000) > 20);
}

/* ---- CoNLL files */

static const char conll_path[] = "test_tag.conll.tmp";

static att_status tag_conll(att_string *out, const char *text, int64_t column,
                            const att_tag_options *options, att_error *err)
{
    FILE *file = fopen(conll_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    att_status status = att_model_tag_conll(out, trained.model, conll_path, column, options, err);
    assert_int_equal(remove(conll_path), 0);
    return status;
}

static void a_conll_file_gets_a_column_of_labels_and_keeps_its_lines(void **state)
{
    (void)state;
    static const struct {
        int64_t column;
        const char *text, *wanted;
    } rows[] = {
        { 0, "a\na\nb\n\nb\n", "a B-x\na I-x\nb O\n\nb O\n" },
        { 1, "# one\na X 1\r\na X 2\r\n\r\n\r\nb X 3",
          "# one\na X 1 B-x\na X 2 I-x\n\n\nb X 3 O\n" },
        { 2, "-DOCSTART-\n1\ta\n2\ta\n\n# b\n", "-DOCSTART-\n1\ta\tB-x\n2\ta\tI-x\n\n# b\n" },
        { 2, "# t = x\n1-2\tz\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n",
          "# t = x\n1-2\tz\t_\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\tB-x\n" },
        { 1, "\n# only\n", "\n# only\n" },
        { 1, "", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_string out = { 0 };
        att_error err = { 0 };
        if (tag_conll(&out, rows[i].text, rows[i].column, NULL, &err) != ATT_OK)
            fail_msg("%s", err.message);
        assert_string_equal(out.data ? out.data : "", rows[i].wanted);
        att_string_free(&out);
    }
}

static void many_sentences_of_a_conll_file_are_tagged_in_order(void **state)
{
    (void)state;
    att_string text = { 0 }, wanted = { 0 }, out = { 0 };
    for (int i = 0; i < 2500; i++) {
        assert_int_equal(att_string_puts(&text, i % 3 ? "b\n\n" : "a\na\n\n"), ATT_OK);
        assert_int_equal(att_string_puts(&wanted, i % 3 ? "b O\n\n" : "a B-x\na I-x\n\n"), ATT_OK);
    }
    assert_int_equal(tag_conll(&out, text.data, 1, NULL, NULL), ATT_OK);
    assert_string_equal(out.data, wanted.data);
    att_string_free(&text);
    att_string_free(&wanted);
    att_string_free(&out);
}

static void what_a_conll_file_lacks_is_named_by_its_line(void **state)
{
    (void)state;
    const att_tag_options narrow = { .size = sizeof narrow, .max_input_length = 2 };
    const att_tag_options cut = { .size = sizeof cut, .input_overflow = ATT_OVERFLOW_TRUNCATE };
    const struct {
        int64_t column;
        const char *text;
        const att_tag_options *options;
        int line;
        const char *message;
    } rows[] = {
        { 1, "a X\n\nb\n", NULL, 3, "expected 2 columns as in line 1, found 1" },
        { 3, "a X\n", NULL, 1, "expected at least 3 columns, found 2" },
        { 1, "\tX\n", NULL, 1, "expected text in column 1, found none" },
        { 1, "a\n\na\nb\na\n", &narrow, 3, "expected at most 2 tokens, found 3" },
        { 1, "a\n", &cut, 0, "input-overflow truncate leaves tokens without a label" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_string out = { 0 };
        att_error err = { 0 };
        assert_int_equal(tag_conll(&out, rows[i].text, rows[i].column, rows[i].options, &err),
                         ATT_BAD_INPUT);
        assert_int_equal(err.line, rows[i].line);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s", err.message);
        if (err.line > 0)
            assert_string_equal(err.place, conll_path);
        att_string_free(&out);
    }
}

static att_status tag_conll_once(void *context)
{
    att_string out = { 0 };
    (void)context;
    att_status status = att_model_tag_conll(&out, trained.model, conll_path, 1, NULL, NULL);
    att_string_free(&out);
    return status;
}

static void every_allocation_for_a_conll_file_may_fail(void **state)
{
    (void)state;
    FILE *file = fopen(conll_path, "wb");
    assert_non_null(file);
    assert_true(fputs("a X\nb X\n\nb X\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    every_allocation_fails(tag_conll_once, NULL, 1000);
    assert_int_equal(remove(conll_path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_come_in_the_order_of_the_tokens),
        cmocka_unit_test(
            a_line_is_tagged_with_the_same_bits_in_any_batch_and_by_any_number_of_threads),
        cmocka_unit_test(probabilities_add_up_to_one),
        cmocka_unit_test(an_ensemble_has_the_mean_of_the_probabilities_and_its_most_probable_label),
        cmocka_unit_test(a_line_that_is_too_long_is_refused_or_truncated),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_conll_file_gets_a_column_of_labels_and_keeps_its_lines),
        cmocka_unit_test(many_sentences_of_a_conll_file_are_tagged_in_order),
        cmocka_unit_test(what_a_conll_file_lacks_is_named_by_its_line),
        cmocka_unit_test(every_allocation_for_a_conll_file_may_fail),
    };
    return cmocka_run_group_tests(tests, train, release);
}
