/* The CRF of the reference against a sum over all sequences of labels, and the best path and the
 * probabilities of the lattice against the same list. */
#include "reference/crf.h"

#include "reference/reference_check.h"

#include "base/random.h"
#include "tape/crf.h"

enum { LENGTH = 4, LABELS = 3, PATHS = 81 };

typedef struct scene {
    double emissions[LENGTH * LABELS], transitions[LABELS * LABELS], start[LABELS], end[LABELS];
    float values[LENGTH * LABELS + LABELS * LABELS + 2 * LABELS];
    att_reference_crf crf;
    att_crf_scores scores;
} scene;

/* Random scores, the same as floats and as doubles. */
static void scene_new(scene *s, uint64_t seed, float reach)
{
    double *to[] = { s->emissions, s->transitions, s->start, s->end };
    const int counts[] = { LENGTH * LABELS, LABELS * LABELS, LABELS, LABELS };
    float *at = s->values;
    for (int part = 0; part < 4; part++)
        for (int i = 0; i < counts[part]; i++, at++) {
            *at = reach * (2 * att_random_float(seed, (uint64_t)part, (uint64_t)i) - 1);
            to[part][i] = (double)*at;
        }
    s->crf = (att_reference_crf){ LENGTH, LABELS, s->emissions, s->transitions, s->start, s->end };
    const float *v = s->values;
    s->scores =
        (att_crf_scores){ LABELS, v, v + LENGTH * LABELS, v + LENGTH * LABELS + LABELS * LABELS,
                          v + LENGTH * LABELS + LABELS * LABELS + LABELS };
}

static void path_of(int32_t path[LENGTH], int number)
{
    for (int t = 0; t < LENGTH; t++, number /= LABELS)
        path[t] = number % LABELS;
}

static void the_partition_function_is_the_sum_over_all_sequences(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        scene s;
        scene_new(&s, seed, 3);
        double sum = 0, total = 0;
        int32_t path[LENGTH];
        for (int i = 0; i < PATHS; i++) {
            path_of(path, i);
            sum += exp(att_reference_crf_score(&s.crf, path));
            total += exp(-att_reference_crf_loss(&s.crf, path));
        }
        assert_near(att_reference_crf_log_partition(&s.crf), log(sum), 64);
        assert_near(total, 1, 256);
    }
}

static void the_best_path_has_the_largest_score_of_all_sequences(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        scene s;
        scene_new(&s, seed, 2);
        int32_t path[LENGTH], found[LENGTH], from[LENGTH * LABELS];
        double best = -INFINITY, totals[2 * LABELS];
        for (int i = 0; i < PATHS; i++) {
            path_of(path, i);
            best = fmax(best, att_reference_crf_score(&s.crf, path));
        }
        att_crf_best_path(found, &s.scores, 0, LENGTH, totals, from);
        assert_near(att_reference_crf_score(&s.crf, found), best, 16);
        assert_near(att_crf_path_score(&s.scores, 0, LENGTH, found), best, 16);
    }
}

static void the_lattice_has_the_probabilities_of_all_sequences(void **state)
{
    (void)state;
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    for (uint64_t seed = 0; seed < 20; seed++) {
        scene s;
        scene_new(&s, seed, seed % 2 ? 3 : 40); /* 40: hardly any path but one */
        double wanted[LENGTH * LABELS] = { 0 }, all = att_reference_crf_log_partition(&s.crf);
        int32_t path[LENGTH];
        for (int i = 0; i < PATHS; i++) {
            path_of(path, i);
            for (int t = 0; t < LENGTH; t++)
                wanted[t * LABELS + path[t]] += exp(att_reference_crf_score(&s.crf, path) - all);
        }
        att_crf_lattice lattice;
        att_tape_begin(tape, false, 0, 0);
        assert_true(att_crf_lattice_init(&lattice, tape, &s.scores, LENGTH));
        assert_true(fabs(att_crf_lattice_forward(&lattice, 0, LENGTH) - all) <
                    1e-13 * (1 + fabs(all)));
        att_crf_lattice_backward(&lattice, 0, LENGTH);
        for (int i = 0; i < LENGTH * LABELS; i++)
            assert_true(fabs(lattice.forward[i] * lattice.backward[i] - wanted[i]) < 1e-12);
    }
    att_tape_free(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_partition_function_is_the_sum_over_all_sequences),
        cmocka_unit_test(the_best_path_has_the_largest_score_of_all_sequences),
        cmocka_unit_test(the_lattice_has_the_probabilities_of_all_sequences),
    };
    return cmocka_run_group_tests_name("crf", tests, NULL, NULL);
}
