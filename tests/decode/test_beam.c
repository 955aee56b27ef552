/* One step of the beam of one source with given log-probabilities: which hypotheses continue and
 * which finish. */
#include "decode/beam.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { UNKNOWN, START, END, A, B, C, VOCABULARY };
enum { BEAM_SIZE = 2, NBEST = 2 };

typedef struct scene {
    att_decoding_options options;
    att_hypothesis_tree tree;
    att_search_step step_data;
    att_beam beam;
    att_live_hypothesis live[BEAM_SIZE + 1], next[BEAM_SIZE + 1];
    att_finished_hypothesis finished[NBEST];
    att_candidate top[2 * BEAM_SIZE];
} scene;

static void begin(scene *s)
{
    *s = (scene){ .options = { .beam = BEAM_SIZE, .length_norm = ATT_LENGTH_NONE } };
    s->step_data = (att_search_step){ .options = &s->options,
                                      .tree = &s->tree,
                                      .beam_size = BEAM_SIZE,
                                      .nbest = NBEST,
                                      .vocabulary = VOCABULARY,
                                      .end_token = END };
    s->beam = (att_beam){ .source_length = 3,
                          .vocabulary = VOCABULARY,
                          .live = s->live,
                          .next = s->next,
                          .finished = s->finished };
    s->beam.topk.items = s->top;
    att_hypothesis_tree_reset(&s->tree, &(att_keep_attention){ 0 }, 3);
    att_beam_start(&s->beam, &s->step_data);
    assert_int_equal(s->beam.live_count, 1);
}

/* Runs one step of the beam with these log-probabilities, [rows of the beam, VOCABULARY]. */
static void step(scene *s, const float *log_probs)
{
    s->step_data.log_probs = log_probs;
    att_beam_expand(&s->beam, &s->step_data);
    assert_int_equal(att_beam_advance(&s->beam, &s->step_data, NULL), ATT_OK);
    s->step_data.position++;
}

/* Where models copy, a row has ids for the words of the source with most of them; those beyond the
 * words of its own source are of others. */
static void tokens_of_other_sources_are_never_chosen(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    s.step_data.vocabulary = VOCABULARY + 2;
    s.beam.vocabulary = VOCABULARY + 1;
    step(&s, (const float[]){ -9, -9, -9, -2, -4, -3, -1, -0.1F });
    assert_int_equal(s.beam.live_count, 2);
    assert_int_equal(s.beam.live[0].token, VOCABULARY);
    assert_int_equal(s.beam.live[1].token, A);
    step(&s, (const float[]){ -9, -9, -9, -9, -9, -9, -5, 0,    /* of the first */
                              -9, -9, -9, -9, -9, -1, -3, 0 }); /* of the second */
    assert_int_equal(s.beam.live[0].token, C);
    assert_int_equal(s.beam.live[1].token, VOCABULARY);
    assert_true(s.beam.live[1].log_prob_sum == -5);
    att_hypothesis_tree_free(&s.tree);
}

static void an_end_token_among_the_best_candidates_finishes_a_hypothesis(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    step(&s, (const float[]){ -9, -9, -0.7F, -0.6F, -1.5F, -3 });
    assert_int_equal(s.beam.finished_count, 1);
    assert_true(s.finished[0].log_prob_sum == (double)-0.7F && !s.finished[0].truncated);
    assert_int_equal(s.beam.live_count, 2); /* a finished hypothesis uses none of them */
    assert_int_equal(s.beam.live[0].token, A);
    assert_int_equal(s.beam.live[1].token, B);
    att_hypothesis_tree_free(&s.tree);
}

/* Both of two hypotheses have the end token among their candidates. In the order of all candidates
 * these ends are first and third, and the beam size is two. */
static void an_end_token_one_rank_beyond_the_beam_does_not(void **state)
{
    (void)state;
    static const float second[2][VOCABULARY] = { { -9, -9, -0.1F, -0.2F, -8, -8 },
                                                 { -9, -9, -0.3F, -0.4F, -8, -8 } };
    scene s;
    begin(&s);
    step(&s, (const float[]){ -9, -9, -5, -0.5F, -0.5F, -5 });
    assert_int_equal(s.beam.live_count, 2);
    step(&s, second[0]);
    assert_int_equal(s.beam.finished_total, 1);
    assert_true(s.finished[0].log_prob_sum == (double)-0.5F + (double)-0.1F);
    assert_int_equal(s.beam.live_count, 2); /* both continue with A */
    assert_int_equal(s.beam.live[0].token, A);
    assert_int_equal(s.beam.live[1].token, A);
    att_hypothesis_tree_free(&s.tree);
}

static void the_start_token_is_never_a_candidate(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    step(&s, (const float[]){ -9, -0.1F, -3, -1, -2, -4 });
    assert_int_equal(s.beam.live_count, 2);
    assert_int_equal(s.beam.live[0].token, A);
    assert_int_equal(s.beam.live[1].token, B);
    att_hypothesis_tree_free(&s.tree);
}

/* A beam of two that keeps one output, by its mean log-probability. */
static void begin_mean(scene *s, att_beam_stop stop)
{
    begin(s);
    s->options.length_norm = ATT_LENGTH_MEAN;
    s->options.beam_stop = stop;
    s->step_data.nbest = 1;
    s->step_data.follow_greedy = true;
    att_beam_start(&s->beam, &s->step_data);
}

/* Two outputs end while a live one is more probable than both. */
static void the_beam_goes_on_while_a_live_hypothesis_would_rank_first(void **state)
{
    (void)state;
    scene s;
    begin_mean(&s, ATT_BEAM_STOP_HEURISTIC);
    step(&s, (const float[]){ -9, -9, -3, -0.1F, -4, -9 }); /* ends: -3 */
    assert_int_equal(s.beam.live_count, 2);
    step(&s, (const float[]){ -9, -9, -5, -0.1F, -9, -9, -9, -9, -9, -9, -9, -9 });
    assert_int_equal(s.beam.finished_total, 2); /* (-0.1 - 5) / 2 = -2.55 */
    assert_int_equal(s.beam.live_count, 2);     /* (-0.1 - 0.1) / 3, if it ended next */
    step(&s, (const float[]){ -9, -9, -0.1F, -9, -9, -9, -9, -9, -9, -9, -9, -9 });
    assert_int_equal(s.beam.live_count, 0);
    assert_true(s.finished[0].normalized_score > -0.11 && !s.finished[0].truncated);
    att_hypothesis_tree_free(&s.tree);
}

/* A live hypothesis whose score, if it ended next, is -1.21 ranks after the kept one of -1; after
 * further tokens of probability 1 its mean would be higher. */
static void only_the_exact_rule_goes_on_for_what_longer_outputs_could_reach(void **state)
{
    (void)state;
    for (int stop = ATT_BEAM_STOP_HEURISTIC; stop <= ATT_BEAM_STOP_EXACT; stop++) {
        scene s;
        begin_mean(&s, (att_beam_stop)stop);
        step(&s, (const float[]){ -9, -9, -1, -2, -1.5F, -9 });
        assert_int_equal(s.beam.greedy, ATT_GREEDY_FINISHED); /* it ended at once */
        assert_int_equal(s.beam.live_count, 2);
        step(&s, (const float[]){ -9, -9, -1, -2, -9, -9, -9, -9, -9, -8, -8, -8 });
        assert_int_equal(s.beam.finished_total, 2);
        assert_int_equal(s.beam.live_count, stop == ATT_BEAM_STOP_EXACT ? 2 : 0);
        att_hypothesis_tree_free(&s.tree);
    }
}

/* The most probable first token leads to improbable second ones: its hypothesis leaves the beam, is
 * followed beside it, and wins by its later tokens. */
static void the_greedy_hypothesis_is_followed_when_it_leaves_the_beam(void **state)
{
    (void)state;
    scene s;
    begin_mean(&s, ATT_BEAM_STOP_HEURISTIC);
    step(&s, (const float[]){ -9, -9, -9, -0.6F, -0.9F, -9 });
    step(&s, (const float[]){ -4, -9, -3, -1.9F, -3, -3, -9, -9, -9, -0.7F, -0.6F, -9 });
    assert_int_equal(s.beam.in_beam, 2); /* B B: -1.5, B A: -1.6 */
    assert_int_equal(s.beam.greedy, 2);  /* A A: -2.5, beside them */
    assert_int_equal(s.beam.live_count, 3);
    static const float third[3][VOCABULARY] = { { -9, -9, -0.9F, -3, -3, -3 },
                                                { -9, -9, -0.9F, -3, -3, -3 },
                                                { -9, -9, -4, -0.001F, -9, -9 } };
    step(&s, third[0]);
    assert_int_equal(s.beam.finished_total, 2); /* -2.4 / 3 = -0.8 */
    assert_int_equal(s.beam.in_beam, 0);
    assert_int_equal(s.beam.live_count, 1); /* the greedy one alone */
    assert_int_equal(s.beam.live[0].row, 2);
    step(&s, (const float[]){ -9, -9, -0.001F, -9, -9, -9 });
    assert_int_equal(s.beam.live_count, 0);
    assert_true(s.finished[0].normalized_score > -0.63); /* -2.502 / 4 */
    att_hypothesis_tree_free(&s.tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_other_sources_are_never_chosen),
        cmocka_unit_test(an_end_token_among_the_best_candidates_finishes_a_hypothesis),
        cmocka_unit_test(an_end_token_one_rank_beyond_the_beam_does_not),
        cmocka_unit_test(the_start_token_is_never_a_candidate),
        cmocka_unit_test(the_beam_goes_on_while_a_live_hypothesis_would_rank_first),
        cmocka_unit_test(only_the_exact_rule_goes_on_for_what_longer_outputs_could_reach),
        cmocka_unit_test(the_greedy_hypothesis_is_followed_when_it_leaves_the_beam),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
