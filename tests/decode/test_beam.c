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
    att_live_hypothesis live[BEAM_SIZE], next[BEAM_SIZE];
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
    s->beam =
        (att_beam){ .source_length = 3, .live = s->live, .next = s->next, .finished = s->finished };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_token_among_the_best_candidates_finishes_a_hypothesis),
        cmocka_unit_test(an_end_token_one_rank_beyond_the_beam_does_not),
        cmocka_unit_test(the_start_token_is_never_a_candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
