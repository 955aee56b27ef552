/* One step of one source's hypotheses, with probabilities made up: who goes on and who has ended.
 */
#include "decode/beam.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { UNKNOWN, START, END, A, B, C, VOCABULARY };
enum { WIDTH = 2, BEST = 2 };

typedef struct scene {
    att_decoding_options how;
    att_hypothesis_tree trail;
    att_search_step stage;
    att_beam group;
    att_live_hypothesis live[WIDTH], next[WIDTH];
    att_finished_hypothesis ended[BEST];
    att_candidate top[2 * WIDTH];
} scene;

static void begin(scene *s)
{
    *s = (scene){ .how = { .beam = WIDTH, .length_norm = ATT_LENGTH_NONE } };
    s->stage = (att_search_step){ .options = &s->how,
                                  .tree = &s->trail,
                                  .beam_size = WIDTH,
                                  .nbest = BEST,
                                  .vocabulary = VOCABULARY,
                                  .end_token = END };
    s->group =
        (att_beam){ .source_length = 3, .live = s->live, .next = s->next, .finished = s->ended };
    s->group.topk.items = s->top;
    att_hypothesis_tree_reset(&s->trail, &(att_keep_attention){ 0 }, 3);
    att_beam_start(&s->group, &s->stage);
    assert_int_equal(s->group.live_count, 1);
}

/* Makes a step of the beam with these log-probabilities, [rows of the group, VOCABULARY]. */
static void step(scene *s, const float *log_probs)
{
    s->stage.log_probs = log_probs;
    att_beam_expand(&s->group, &s->stage);
    assert_int_equal(att_beam_advance(&s->group, &s->stage, NULL), ATT_OK);
    s->stage.position++;
}

static void an_end_among_the_best_ways_on_has_ended(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    step(&s, (const float[]){ -9, -9, -0.7F, -0.6F, -1.5F, -3 });
    assert_int_equal(s.group.finished_count, 1);
    assert_true(s.ended[0].log_prob_sum == (double)-0.7F && !s.ended[0].truncated);
    assert_int_equal(s.group.live_count, 2); /* it takes nobody's place */
    assert_int_equal(s.group.live[0].token, A);
    assert_int_equal(s.group.live[1].token, B);
    att_hypothesis_tree_free(&s.trail);
}

/* Two hypotheses go on, and both may end: the one's end comes first, the other's third, and the
 * beam is two wide. */
static void an_end_one_rank_beyond_the_beam_has_not(void **state)
{
    (void)state;
    static const float second[2][VOCABULARY] = { { -9, -9, -0.1F, -0.2F, -8, -8 },
                                                 { -9, -9, -0.3F, -0.4F, -8, -8 } };
    scene s;
    begin(&s);
    step(&s, (const float[]){ -9, -9, -5, -0.5F, -0.5F, -5 });
    assert_int_equal(s.group.live_count, 2);
    step(&s, second[0]);
    assert_int_equal(s.group.finished_total, 1);
    assert_true(s.ended[0].log_prob_sum == (double)-0.5F + (double)-0.1F);
    assert_int_equal(s.group.live_count, 2); /* both go on by A */
    assert_int_equal(s.group.live[0].token, A);
    assert_int_equal(s.group.live[1].token, A);
    att_hypothesis_tree_free(&s.trail);
}

static void the_start_is_never_a_way_on(void **state)
{
    (void)state;
    scene s;
    begin(&s);
    step(&s, (const float[]){ -9, -0.1F, -3, -1, -2, -4 });
    assert_int_equal(s.group.live_count, 2);
    assert_int_equal(s.group.live[0].token, A);
    assert_int_equal(s.group.live[1].token, B);
    att_hypothesis_tree_free(&s.trail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_among_the_best_ways_on_has_ended),
        cmocka_unit_test(an_end_one_rank_beyond_the_beam_has_not),
        cmocka_unit_test(the_start_is_never_a_way_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
