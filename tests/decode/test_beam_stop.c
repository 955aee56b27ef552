/* When a beam search ends: the exact rule loses nothing, neither rule returns less than greedy
 * search does, and the heuristic one goes on where stopping would lose the best output. */
#include "decode/beam_search_help.h"
#include "thin.h"

static const int32_t source_ids[] = { 3, 5, 4, 6, 3, ATT_ID_PAD, 5, ATT_ID_PAD, ATT_ID_PAD };
static const int64_t source_lengths[] = { 3, 2, 1 };
static const att_sources three = {
    .rows = 3, .length = 3, .ids = source_ids, .lengths = source_lengths
};

static const struct {
    att_length_norm norm;
    double penalty, coverage;
} norms[] = {
    { ATT_LENGTH_MEAN, 1, 0 },    { ATT_LENGTH_GNMT, 0.6, 0 }, { ATT_LENGTH_NONE, 0, 0 },
    { ATT_LENGTH_MEAN, -0.5, 0 }, { ATT_LENGTH_MEAN, 1, 0.2 },
};
enum { NORMS = sizeof norms / sizeof *norms, MODELS = 24, STRIDE = 1 + THIN / 2, LONG = 14 };

/* An untrained model of its own seed; the larger its weights, the surer it is of every token. */
static void make_model(scene *s, int trial)
{
    char seed[16];
    snprintf(seed, sizeof seed, "%d", trial + 1);
    scene_new(s, (setting_pair[]){ { "seed", seed } }, 1);
    scene_shake(s, 2 + (float)(trial % 8));
}

static att_decoding_options options_of(size_t norm, int64_t beam)
{
    return (att_decoding_options){ .size = sizeof(att_decoding_options),
                                   .beam = beam,
                                   .length_norm = norms[norm].norm,
                                   .length_penalty = norms[norm].penalty,
                                   .coverage_penalty = norms[norm].coverage,
                                   .max_output_length = LONG };
}

static att_beam_search *searched(scene *s, const att_decoding_options *options)
{
    att_beam_search *search = search_new(s, options);
    search_run(search, &(att_search_batch){ .sources = &three });
    return search;
}

/* Keeping as many outputs as the beam has makes a search go on for longer, and changes nothing
 * else: its best output is what there was to find. */
static void the_exact_rule_loses_nothing_of_the_best(void **state)
{
    (void)state;
    static const int64_t beams[] = { 2, 5, 40 };
    for (int trial = 0; trial < MODELS; trial += STRIDE)
        for (size_t k = 0; k < 3 * NORMS; k++) {
            scene s;
            make_model(&s, trial);
            att_decoding_options options = options_of(k % NORMS, beams[k / NORMS]), more;
            options.beam_stop = ATT_BEAM_STOP_EXACT;
            more = options;
            more.n_best = options.beam;
            att_beam_search *one = searched(&s, &options), *all = searched(&s, &more);
            for (int64_t row = 0; row < 3; row++) {
                const att_hypothesis *a = best_of(one, row), *b = best_of(all, row);
                if (a->count != b->count || a->normalized_score != b->normalized_score)
                    fail_msg("model %d, norm %zu, source %d: %.17g of %d tokens, and %.17g of %d",
                             trial, k, (int)row, a->normalized_score, (int)a->count,
                             b->normalized_score, (int)b->count);
                assert_memory_equal(a->ids, b->ids, (size_t)a->count * sizeof *a->ids);
            }
            att_beam_search_free(one);
            att_beam_search_free(all);
            scene_free(&s);
        }
}

/* Compares with greedy search, whose output has its score by the same norm. A truncated output
 * ranks after a finished one, whatever its score. */
static void assert_not_below_greedy(scene *s, const att_decoding_options *options, int trial)
{
    att_decoding_options greedy_options = *options;
    greedy_options.beam = greedy_options.n_best = 1;
    att_beam_search *greedy = searched(s, &greedy_options), *search = searched(s, options);
    for (int64_t row = 0; row < 3; row++) {
        const att_hypothesis *a = best_of(greedy, row), *b = best_of(search, row);
        if (a->truncated < b->truncated ||
            (a->truncated == b->truncated && a->normalized_score > b->normalized_score))
            fail_msg(
                "model %d, beam %d, norm %d, penalty %g, source %d: greedy search has %.17g of "
                "%d tokens, beam search %.17g of %d",
                trial, (int)options->beam, (int)options->length_norm, options->length_penalty,
                (int)row, a->normalized_score, (int)a->count, b->normalized_score, (int)b->count);
    }
    att_beam_search_free(greedy);
    att_beam_search_free(search);
}

static void no_beam_search_scores_below_greedy_search(void **state)
{
    (void)state;
    static const int64_t beams[] = { 2, 3, 5 };
    for (int trial = 0; trial < MODELS; trial += STRIDE) {
        scene s;
        make_model(&s, trial);
        for (size_t k = 0; k < NORMS; k++)
            for (size_t b = 0; b < 3; b++)
                for (int stop = 0; stop < 2; stop++)
                    for (int64_t ngram = 0; ngram <= 2; ngram += 2) {
                        att_decoding_options options = options_of(k, beams[b]);
                        options.beam_stop = (att_beam_stop)stop;
                        options.no_repeat_ngram = ngram;
                        options.n_best = ngram;
                        assert_not_below_greedy(&s, &options, trial);
                    }
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exact_rule_loses_nothing_of_the_best),
        cmocka_unit_test(no_beam_search_scores_below_greedy_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
