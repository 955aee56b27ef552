/* The output limit that follows from the lengths of training pairs. */
#include "data/output_length.h"

#include "data/pairs_help.h"

/* 8 source tokens, 16 target tokens with their ends: two for one, and the first pair has 7 more. */
static void the_limit_is_twice_what_training_had_for_such_a_source_and_ten(void **state)
{
    (void)state;
    pairs got = pairs_of("a\tbcdefghi\nabcdefg\tbcdefg\n");
    const att_output_length length = att_output_length_measure(&got.corpus);
    assert_true(length.ratio == 2 && length.excess == 7);
    assert_int_equal(att_output_length_limit(&length, 1), 10 + 2 * 9);
    assert_int_equal(att_output_length_limit(&length, 100), 10 + 2 * 207);
    free_pairs(&got);
}

static void every_training_target_is_within_the_limit(void **state)
{
    (void)state;
    pairs got =
        pairs_of("abc\tx\na\txyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxy\n"
                 "abcdefgh\txyz\n");
    const att_output_length length = att_output_length_measure(&got.corpus);
    for (int64_t i = 0; i < got.corpus.pairs; i++) {
        int64_t source, target;
        att_sequences_get(&got.corpus.source, i, &source);
        att_sequences_get(&got.corpus.target, i, &target);
        assert_true(att_output_length_limit(&length, source) >= 10 + 2 * (target + 1));
    }
    free_pairs(&got);
}

static void a_model_without_lengths_keeps_the_rule_of_fifty_and_twice_the_source(void **state)
{
    (void)state;
    assert_int_equal(att_output_length_limit(&(att_output_length){ 0 }, 7), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_limit_is_twice_what_training_had_for_such_a_source_and_ten),
        IN_FOLDER(every_training_target_is_within_the_limit),
        cmocka_unit_test(a_model_without_lengths_keeps_the_rule_of_fifty_and_twice_the_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
