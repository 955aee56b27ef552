/* Alternatives at each step, and beam searches as trees: they agree with the outputs. */
#include "attend.h"
#include "model/model_help.h"

#include <math.h>

static void alternatives_are_the_most_probable_tokens_of_each_step(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    scene_learn(&s, 2, NULL);
    const char *line = "abca", *target = "acb";
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .targets = &target };
    att_outputs *outputs;
    att_alternatives *found;
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
    assert_int_equal(att_model_alternatives(&found, s.model, line, target, 3, NULL), ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    for (int64_t t = 0; t < output->target_count; t++) {
        const att_alternative_step *step = att_alternatives_get(found, (size_t)t);
        assert_string_equal(step->token, output->target_tokens[t]);
        assert_true(fabs(step->probability - exp(output->token_scores[t])) < 1e-6);
        assert_int_equal(step->count, 3);
        for (int64_t i = 1; i < step->count; i++)
            assert_true(step->probabilities[i] <= step->probabilities[i - 1]);
        assert_true((step->rank <= 3) == (step->probability >= step->probabilities[2]));
        if (step->rank <= 3)
            assert_string_equal(step->tokens[step->rank - 1], step->token);
    }
    assert_null(att_alternatives_get(found, (size_t)output->target_count));
    att_alternatives_free(found);
    att_outputs_free(outputs);
    att_error err = { 0 };
    assert_int_equal(att_model_alternatives(&found, s.model, line, NULL, 0, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected 1 to 100 alternatives, found 0");
    scene_free(&s);
}

/* The path of the best output in the tree has its tokens and its scores; no step keeps more than
 * the beam and the greedy hypothesis beside it; parents come before their children. */
static void the_tree_of_a_beam_search_has_its_best_output(void **state)
{
    (void)state;
    static const char *const names[] = { "dot", "copy", "transformer", "coverage" };
    for (const variant *row = variants; row->name; row++) {
        bool chosen = false;
        for (size_t i = 0; i < 4; i++)
            chosen |= strcmp(names[i], row->name) == 0;
        if (!chosen)
            continue;
        scene s;
        scene_of(&s, row);
        scene_learn(&s, 2, NULL);
        const char *line = "abcxa";
        const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 3 };
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .decoding = &decoding };
        att_outputs *outputs;
        att_beam_tree *tree;
        assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
        assert_int_equal(att_model_beam_tree(&tree, s.model, line, &decoding, NULL), ATT_OK);
        const att_output *output = att_outputs_get(outputs, 0);
        int64_t best = 0, dropped = 0, kept[1000] = { 0 };
        const att_beam_node *node;
        for (size_t i = 0; (node = att_beam_tree_get(tree, i)) != NULL; i++) {
            assert_true(node->parent < (int64_t)i);
            assert_true(node->step >= 1 && node->step < 1000);
            if (node->parent >= 0)
                assert_int_equal(att_beam_tree_get(tree, (size_t)node->parent)->step,
                                 node->step - 1);
            dropped += node->fate == ATT_BEAM_DROPPED;
            kept[node->step] += node->fate != ATT_BEAM_DROPPED;
            assert_true(kept[node->step] <= 7); /* 3 extended, 3 finished, one beside the beam */
            if (node->fate != ATT_BEAM_BEST)
                continue;
            assert_string_equal(node->token, output->target_tokens[best]);
            assert_true(fabs(node->log_prob - output->token_scores[best]) < 1e-6);
            if (++best == output->target_count)
                assert_true(fabs(node->normalized_score - output->normalized_score) < 1e-9);
        }
        assert_int_equal(best, output->target_count);
        assert_true(dropped > 0);
        att_beam_tree_free(tree);
        att_outputs_free(outputs);
        scene_free(&s);
    }
}

static void a_tree_needs_a_beam(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_beam_tree *tree;
    att_error err = { 0 };
    assert_int_equal(att_model_beam_tree(&tree, s.model, "ab", NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a beam of at least 2, found greedy search");
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options), .beam = 2 };
    assert_int_equal(att_model_beam_tree(&tree, s.model, "", &decoding, &err), ATT_BAD_INPUT);
    assert_null(tree);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alternatives_are_the_most_probable_tokens_of_each_step),
        cmocka_unit_test(the_tree_of_a_beam_search_has_its_best_output),
        cmocka_unit_test(a_tree_needs_a_beam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
