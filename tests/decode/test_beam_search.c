/* Beam search against brute force: on a model of four characters, every sequence up to a length is
 * scored by forced decoding, and a beam that is large enough must find the best of them in order.
 * Smaller beams and sampling must not depend on the batch, and must return ranked hypotheses. */
#include "decode/beam_search_help.h"

enum {
    CHARACTERS = 4,
    FIRST = ATT_ID_FIRST,
    MAX_TOKENS = 4,    /* with the end token */
    LARGE_BEAM = 1024, /* more than there are sequences */
};

/* The unknown token and the characters may follow; the start token may not. */
static const int32_t alphabet[] = { ATT_ID_UNK, FIRST, FIRST + 1, FIRST + 2, FIRST + 3 };
enum { CHOICES = 5 };

static const int32_t source_ids[] = { 3, 5, 4, 6, 3, ATT_ID_PAD, 5, ATT_ID_PAD, ATT_ID_PAD };
static const int64_t source_lengths[] = { 3, 2, 1 };
static const att_sources three = {
    .rows = 3, .length = 3, .ids = source_ids, .lengths = source_lengths
};

static scene model;

static int make_model(void **state)
{
    (void)state;
    scene_new(&model, (setting_pair[]){ { "attention", "additive" } }, 1);
    scene_shake(&model, 6);
    assert_int_equal(att_vocab_size(model.data.target_vocab), FIRST + CHARACTERS);
    return 0;
}

static int free_model(void **state)
{
    (void)state;
    scene_free(&model);
    return 0;
}

/* ---- brute force over all sequences */

typedef struct sequence {
    int32_t ids[MAX_TOKENS];
    size_t count; /* without the end token */
    bool truncated;
    double sum, score;
} sequence;

static size_t list_all(sequence *out)
{
    size_t count = 0;
    for (size_t length = 0; length <= MAX_TOKENS; length++) {
        size_t kinds = 1;
        for (size_t i = 0; i < length; i++)
            kinds *= CHOICES;
        for (size_t kind = 0; kind < kinds; kind++) {
            sequence *s = &out[count++];
            *s = (sequence){ .count = length, .truncated = length == MAX_TOKENS };
            for (size_t i = 0, rest = kind; i < length; i++, rest /= CHOICES)
                s->ids[i] = alphabet[rest % CHOICES];
        }
    }
    return count;
}

enum { EVERY = 1 + 5 + 25 + 125 + 625 };

/* Scores every sequence for source `row` by forced decoding: with the end token, or without where
 * it is truncated. */
static void score_all(sequence *all, int64_t row, double penalty)
{
    static const att_decoding_options greedy = ATT_INIT(att_decoding_options);
    static int32_t ids[EVERY * 3];
    static int64_t lengths[EVERY];
    static att_forced_tokens forced[EVERY];
    for (size_t i = 0; i < EVERY; i++) {
        memcpy(&ids[i * 3], source_ids + row * 3, 3 * sizeof *ids);
        lengths[i] = source_lengths[row];
        forced[i] = (att_forced_tokens){ all[i].ids, all[i].count, .ends_after = true };
    }
    const att_sources sources = { .rows = EVERY, .length = 3, .ids = ids, .lengths = lengths };
    att_beam_search *search = search_new(&model, &greedy);
    search_run(search, &(att_search_batch){ .sources = &sources, .forced = forced });
    for (size_t i = 0; i < EVERY; i++) {
        const att_hypothesis *found = best_of(search, (int64_t)i);
        int64_t count = (int64_t)all[i].count + !all[i].truncated;
        all[i].sum = 0;
        for (int64_t t = 0; t < count; t++)
            all[i].sum += (double)found->log_probs[t];
        all[i].score = all[i].sum / pow((double)count, penalty);
    }
    att_beam_search_free(search);
}

static int best_first(const void *a, const void *b)
{
    const sequence *one = a, *other = b;
    if (one->truncated != other->truncated)
        return one->truncated ? 1 : -1;
    return (one->score < other->score) - (one->score > other->score);
}

static void assert_is(const att_hypothesis *found, const sequence *wanted, const char *what)
{
    size_t count = wanted->count + !wanted->truncated;
    bool same = (size_t)found->count == count && found->truncated == wanted->truncated &&
                memcmp(found->ids, wanted->ids, wanted->count * sizeof *wanted->ids) == 0;
    if (!same || found->log_prob_sum != wanted->sum ||
        fabs(found->normalized_score - wanted->score) > 1e-12)
        fail_msg("%s: found %.17g (sum %.17g) of %lld, expected %.17g (sum %.17g) of %zu", what,
                 found->normalized_score, found->log_prob_sum, (long long)found->count,
                 wanted->score, wanted->sum, count);
}

static const struct {
    att_length_norm norm;
    double penalty;
} norms[] = { { ATT_LENGTH_NONE, 0 },
              { ATT_LENGTH_MEAN, 1 },
              { ATT_LENGTH_MEAN, 0.4 },
              { ATT_LENGTH_MEAN, -0.5 } };
enum { NORMS = sizeof norms / sizeof *norms };

/* Searches with one norm and compares the n_best outputs of every source with brute force. */
static void compare_with_all_sequences(size_t norm, int64_t n_best, att_beam_stop stop)
{
    static sequence all[EVERY];
    const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                           .beam = LARGE_BEAM,
                                           .beam_stop = stop,
                                           .n_best = n_best,
                                           .length_norm = norms[norm].norm,
                                           .length_penalty = norms[norm].penalty,
                                           .max_output_length = MAX_TOKENS };
    att_beam_search *search = search_new(&model, &options);
    search_run(search, &(att_search_batch){ .sources = &three });
    for (int64_t row = 0; row < 3; row++) {
        assert_int_equal(list_all(all), EVERY);
        score_all(all, row, norms[norm].penalty);
        qsort(all, EVERY, sizeof *all, best_first);
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(search, row, &count);
        assert_int_equal(count, n_best);
        for (int64_t i = 0; i < count; i++)
            assert_is(&found[i], &all[i], "n-best");
    }
    att_beam_search_free(search);
}

/* With one output the search may end early, by the bound alone: a beam this large never has as many
 * finished hypotheses as its size. */
static void a_large_enough_beam_finds_the_best_of_all_sequences_in_order(void **state)
{
    (void)state;
    for (size_t k = 0; k < NORMS; k++)
        for (int64_t n_best = 1; n_best <= 100; n_best += 99) {
            compare_with_all_sequences(k, n_best, ATT_BEAM_STOP_EXACT);
            compare_with_all_sequences(k, n_best, ATT_BEAM_STOP_HEURISTIC);
        }
}

static void a_beam_of_one_takes_the_most_probable_token_at_each_step(void **state)
{
    (void)state;
    att_decoder *decoder;
    static const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                                  .max_output_length = 12 };
    att_beam_search *search = search_new(&model, &options);
    search_run(search, &(att_search_batch){ .sources = &three });
    const att_hypothesis *found = best_of(search, 0);
    const att_sources alone = {
        .rows = 1, .length = 3, .ids = source_ids, .lengths = source_lengths
    };
    assert_int_equal(att_decoder_new(&decoder, model.model, NULL), ATT_OK);
    assert_int_equal(att_decoder_start(decoder, &alone, NULL), ATT_OK);
    int32_t token = ATT_ID_BOS;
    for (int64_t t = 0; t < found->count; t++) {
        att_decoder_output out;
        assert_int_equal(att_decoder_step(decoder, 1, &token, NULL, &out, NULL), ATT_OK);
        token = ATT_ID_UNK;
        for (int32_t i = ATT_ID_EOS; i < FIRST + CHARACTERS; i++)
            token = out.log_probs[i] > out.log_probs[token] ? i : token;
        assert_int_equal(found->ids[t], token);
        assert_true(found->log_probs[t] == out.log_probs[token]);
    }
    att_decoder_free(decoder);
    att_beam_search_free(search);
}

/* ---- properties of every search */

typedef struct search_case {
    const char *name;
    att_decoding_options options;
} search_case;

static const search_case search_cases[] = {
    { "greedy", { .max_output_length = 30 } },
    { "beam", { .beam = 3, .n_best = 3, .max_output_length = 12 } },
    { "exact beam", { .beam = 3, .beam_stop = ATT_BEAM_STOP_EXACT, .max_output_length = 25 } },
    { "beam by sum", { .beam = 4, .length_norm = ATT_LENGTH_NONE, .max_output_length = 12 } },
    { "beam with the GNMT length norm",
      { .beam = 4,
        .n_best = 2,
        .length_norm = ATT_LENGTH_GNMT,
        .length_penalty = 0.6,
        .coverage_penalty = 0.2,
        .max_length_ratio = 4 } },
    { "no repeats", { .beam = 3, .n_best = 2, .no_repeat_ngram = 2, .max_output_length = 15 } },
    { "length limits",
      { .beam = 2, .min_length_ratio = 1.5, .min_output_length = 2, .max_length_ratio = 5 } },
    { "sampling", { .sample = true, .seed = 5, .n_best = 3, .max_output_length = 12 } },
    { "sampling with top-k",
      { .sample = true, .top_k = 3, .temperature = 1.7, .seed = 6, .max_output_length = 20 } },
    { "sampling with top-p",
      { .sample = true, .top_p = 0.7, .temperature = 0.8, .seed = 7, .max_output_length = 20 } },
};
enum { SEARCH_CASES = sizeof search_cases / sizeof *search_cases };

static void assert_same(const char *name, const att_beam_search *a, int64_t row_a,
                        const att_beam_search *b, int64_t row_b, int64_t length)
{
    int64_t count_a, count_b;
    const att_hypothesis *one = att_beam_search_hypotheses(a, row_a, &count_a);
    const att_hypothesis *other = att_beam_search_hypotheses(b, row_b, &count_b);
    assert_int_equal(count_a, count_b);
    for (int64_t i = 0; i < count_a; i++) {
        size_t count = (size_t)one[i].count, weights = count * (size_t)length;
        if (one[i].count != other[i].count || one[i].normalized_score != other[i].normalized_score)
            fail_msg("%s: %lld tokens of %.17g, and %lld of %.17g", name, (long long)one[i].count,
                     one[i].normalized_score, (long long)other[i].count, other[i].normalized_score);
        assert_int_equal(one[i].truncated, other[i].truncated);
        assert_memory_equal(one[i].ids, other[i].ids, count * sizeof *one->ids);
        assert_memory_equal(one[i].log_probs, other[i].log_probs, count * sizeof *one->log_probs);
        assert_memory_equal(one[i].attention, other[i].attention, weights * sizeof *one->attention);
    }
}

/* Each source alone, all in one batch, and all in another order on three threads. */
static void hypotheses_do_not_depend_on_the_batch(void **state)
{
    (void)state;
    static const int32_t reordered_ids[] = { 5, ATT_ID_PAD, ATT_ID_PAD, 3, 5, 4,
                                             6, 3,          ATT_ID_PAD, 3, 5, 4 };
    static const int64_t reordered_lengths[] = { 1, 3, 2, 3 };
    static const uint64_t numbers[] = { 2, 0, 1, 0 };
    static const att_sources other = {
        .rows = 4, .length = 3, .ids = reordered_ids, .lengths = reordered_lengths
    };
    static const int64_t mixed_row[] = { 1, 2, 0 };
    const att_keep_attention keep = { .selected = true };
    for (size_t k = 0; k < SEARCH_CASES; k++) {
        att_beam_search *all = search_new(&model, &search_cases[k].options);
        att_beam_search *mixed = search_new(&model, &search_cases[k].options);
        att_beam_search *alone = search_new(&model, &search_cases[k].options);
        att_threads_set(1);
        search_run(all, &(att_search_batch){ .sources = &three, .keep_attention = keep });
        att_threads_set(3);
        search_run(mixed, &(att_search_batch){
                              .sources = &other, .stream_ids = numbers, .keep_attention = keep });
        att_threads_set(0);
        for (int64_t row = 0; row < 3; row++) {
            const uint64_t number = (uint64_t)row;
            const att_sources one = { .rows = 1,
                                      .length = source_lengths[row],
                                      .ids = source_ids + 3 * row,
                                      .lengths = source_lengths + row };
            search_run(alone, &(att_search_batch){
                                  .sources = &one, .stream_ids = &number, .keep_attention = keep });
            assert_same(search_cases[k].name, all, row, alone, 0, source_lengths[row]);
            assert_same(search_cases[k].name, all, row, mixed, mixed_row[row], source_lengths[row]);
        }
        assert_same(search_cases[k].name, all, 0, mixed, 3,
                    3); /* the same source with the same stream id */
        att_beam_search_free(all);
        att_beam_search_free(mixed);
        att_beam_search_free(alone);
    }
}

static void hypotheses_are_ranked_and_complete(void **state)
{
    (void)state;
    for (size_t k = 0; k < SEARCH_CASES; k++) {
        const att_decoding_options *options = &search_cases[k].options;
        att_beam_search *search = search_new(&model, options);
        search_run(search, &(att_search_batch){ .sources = &three });
        for (int64_t row = 0; row < 3; row++) {
            int64_t count;
            const att_hypothesis *found = att_beam_search_hypotheses(search, row, &count);
            assert_true(count >= 1 && count <= (options->n_best > 0 ? options->n_best : 1));
            for (int64_t i = 0; i < count; i++) {
                double sum = 0;
                for (int64_t t = 0; t < found[i].count; t++) {
                    sum += (double)found[i].log_probs[t];
                    assert_int_not_equal(found[i].ids[t], ATT_ID_BOS);
                    assert_true((found[i].ids[t] == ATT_ID_EOS) ==
                                (!found[i].truncated && t == found[i].count - 1));
                }
                assert_true(sum == found[i].log_prob_sum);
                if (i > 0 && found[i].truncated == found[i - 1].truncated)
                    assert_true(found[i].normalized_score <= found[i - 1].normalized_score);
                else if (i > 0)
                    assert_true(found[i].truncated);
            }
        }
        att_beam_search_free(search);
    }
}

/* ---- restrictions */

static bool repeats(const att_hypothesis *found, int64_t n)
{
    for (int64_t a = 0; a + n <= found->count; a++)
        for (int64_t b = a + 1; b + n <= found->count; b++)
            if (memcmp(found->ids + a, found->ids + b, (size_t)n * sizeof *found->ids) == 0)
                return true;
    return false;
}

/* With a large minimum length a small model repeats itself. Once every bigram of the five tokens
 * has occurred, only the end token may follow. */
static void no_ngram_is_repeated_with_no_repeat_ngram(void **state)
{
    (void)state;
    bool repeated = false;
    for (int64_t n = 1; n <= 3; n++) {
        const att_decoding_options unrestricted = { .size = sizeof(att_decoding_options),
                                                    .beam = 2,
                                                    .min_output_length = 40,
                                                    .max_output_length = 60 };
        att_decoding_options options = unrestricted;
        options.no_repeat_ngram = n;
        att_beam_search *search = search_new(&model, &options),
                        *without = search_new(&model, &unrestricted);
        search_run(search, &(att_search_batch){ .sources = &three });
        search_run(without, &(att_search_batch){ .sources = &three });
        for (int64_t row = 0; row < 3; row++) {
            assert_false(repeats(best_of(search, row), n));
            repeated |= repeats(best_of(without, row), n);
        }
        att_beam_search_free(search);
        att_beam_search_free(without);
    }
    assert_true(repeated);
}

/* Five tokens, no repeats, and no end token before the minimum length: the hypothesis is truncated
 * after five tokens. */
static void a_hypothesis_that_no_token_may_follow_is_truncated(void **state)
{
    (void)state;
    const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                           .beam = 2,
                                           .no_repeat_ngram = 1,
                                           .min_output_length = 8,
                                           .max_output_length = 60 };
    att_beam_search *search = search_new(&model, &options);
    search_run(search, &(att_search_batch){ .sources = &three });
    for (int64_t row = 0; row < 3; row++) {
        assert_int_equal(best_of(search, row)->count, CHOICES);
        assert_true(best_of(search, row)->truncated);
    }
    att_beam_search_free(search);
}

static void outputs_have_the_min_and_max_length(void **state)
{
    (void)state;
    const att_decoding_options at_least = { .size = sizeof(att_decoding_options),
                                            .beam = 3,
                                            .min_output_length = 7,
                                            .min_length_ratio = 3 };
    att_beam_search *search = search_new(&model, &at_least);
    search_run(search, &(att_search_batch){ .sources = &three });
    assert_true(best_of(search, 0)->count >
                9); /* three for each of three source tokens, and the end token */
    assert_true(best_of(search, 2)->count > 7);
    att_beam_search_free(search);

    const att_decoding_options at_most = { .size = sizeof(att_decoding_options),
                                           .min_output_length = 90,
                                           .max_output_length = 5,
                                           .max_length_ratio = 1.5 };
    search = search_new(&model, &at_most);
    search_run(search, &(att_search_batch){ .sources = &three });
    static const int64_t wanted[] = { 5, 3, 2 };
    for (int64_t row = 0; row < 3; row++) {
        assert_int_equal(best_of(search, row)->count, wanted[row]);
        assert_true(best_of(search, row)->truncated);
    }
    att_beam_search_free(search);
}

/* The output is the best of all sequences that start with the prefix. */
static void a_prefix_is_forced_and_the_search_continues_after_it(void **state)
{
    (void)state;
    static sequence all[EVERY];
    static const int32_t prefix[] = { FIRST + 2, FIRST };
    static const att_forced_tokens forced[] = { { prefix, 2, false }, { prefix, 1, false }, { 0 } };
    list_all(all);
    const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                           .beam = LARGE_BEAM,
                                           .max_output_length = MAX_TOKENS };
    att_beam_search *search = search_new(&model, &options);
    search_run(search, &(att_search_batch){ .sources = &three, .forced = forced });
    for (int64_t row = 0; row < 3; row++) {
        score_all(all, row, 1);
        qsort(all, EVERY, sizeof *all, best_first);
        size_t i = 0, count = forced[row].count;
        while (all[i].count < count || memcmp(all[i].ids, prefix, count * sizeof *prefix) != 0)
            i++;
        assert_is(best_of(search, row), &all[i], "after a prefix");
        list_all(all);
    }
    att_beam_search_free(search);
}

/* ---- coverage */

/* Computes the score again from the attention weights. */
static void the_coverage_penalty_is_computed_from_the_attention(void **state)
{
    (void)state;
    const double beta = 0.3;
    const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                           .beam = 3,
                                           .n_best = 3,
                                           .coverage_penalty = beta,
                                           .max_output_length = 9 };
    att_beam_search *search = search_new(&model, &options);
    search_run(search,
               &(att_search_batch){ .sources = &three, .keep_attention = { .selected = true } });
    for (int64_t row = 0; row < 3; row++) {
        int64_t count, length = source_lengths[row];
        const att_hypothesis *found = att_beam_search_hypotheses(search, row, &count);
        for (int64_t k = 0; k < count; k++) {
            double score = found[k].log_prob_sum / (double)found[k].count;
            for (int64_t i = 0; i < length; i++) {
                double coverage = 0;
                for (int64_t t = 0; t < found[k].count; t++)
                    coverage += (double)found[k].attention[t * length + i];
                score += beta * log(coverage < 1 ? coverage : 1);
            }
            assert_true(fabs(found[k].normalized_score - score) < 1e-9);
        }
    }
    att_beam_search_free(search);
}

/* ---- ensembles */

static void an_ensemble_of_equal_models_is_the_model(void **state)
{
    (void)state;
    scene again;
    scene_new(&again, (setting_pair[]){ { "attention", "additive" } }, 1);
    scene_shake(&again, 6);
    const att_decoding_options options = {
        .size = sizeof(att_decoding_options), .beam = 3, .n_best = 3, .max_output_length = 12
    };
    att_decoding_options together = options;
    together.ensemble = &again.model;
    together.ensemble_count = 1;
    att_beam_search *one = search_new(&model, &options), *two = search_new(&model, &together);
    const att_search_batch task = { .sources = &three, .keep_attention = { .selected = true } };
    search_run(one, &task);
    search_run(two, &task);
    for (int64_t row = 0; row < 3; row++)
        assert_same("twice", one, row, two, row, source_lengths[row]);
    att_beam_search_free(one);
    att_beam_search_free(two);
    scene_free(&again);
}

/* In forced decoding, each probability is the mean over the models. */
static void an_ensemble_has_the_mean_probability(void **state)
{
    (void)state;
    scene other;
    scene_new(&other, (setting_pair[]){ { "attention", "none" }, { "seed", "9" } }, 2);
    scene_shake(&other, 6);
    static const int32_t path[] = { FIRST, FIRST + 3, FIRST + 1 };
    static const att_forced_tokens forced[] = { { path, 3, true },
                                                { path, 2, true },
                                                { path, 0, true } };
    const att_search_batch task = { .sources = &three,
                                    .forced = forced,
                                    .keep_attention = { .selected = true } };
    static const att_decoding_options options = ATT_INIT(att_decoding_options);
    const att_decoding_options together = { .size = sizeof(att_decoding_options),
                                            .ensemble = &model.model,
                                            .ensemble_count = 1 };
    att_beam_search *a = search_new(&model, &options), *b = search_new(&other, &options);
    att_beam_search *both = search_new(&other, &together);
    search_run(a, &task);
    search_run(b, &task);
    search_run(both, &task);
    for (int64_t row = 0; row < 3; row++) {
        const att_hypothesis *x = best_of(a, row), *y = best_of(b, row), *z = best_of(both, row);
        assert_int_equal(z->count, (int64_t)forced[row].count + 1);
        for (int64_t t = 0; t < z->count; t++) {
            double mean = (exp((double)x->log_probs[t]) + exp((double)y->log_probs[t])) / 2;
            /* a few roundings of logarithms, exp and log, each of a float */
            double bound = 8 * 0x1p-24 * (1 + fabs(log(mean)));
            assert_true(fabs((double)z->log_probs[t] - log(mean)) < bound);
        }
        size_t weights = (size_t)(z->count * source_lengths[row]);
        assert_memory_equal(z->attention, x->attention,
                            weights * sizeof *z->attention); /* of the only model with attention */
    }
    att_beam_search_free(a);
    att_beam_search_free(b);
    att_beam_search_free(both);
    scene_free(&other);
}

static void an_ensemble_needs_equal_vocabularies(void **state)
{
    (void)state;
    scene other;
    scene_new(&other, (setting_pair[]){ { "alphabet", "abce" } }, 1);
    const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                           .ensemble = &other.model,
                                           .ensemble_count = 1 };
    att_beam_search *search;
    att_error err = { 0 };
    assert_int_equal(att_beam_search_new(&search, model.model, &options, &err), ATT_BAD_INPUT);
    assert_null(search);
    assert_string_equal(err.message,
                        "ensemble: the source vocabulary of model 2 differs from that of model 1");
    scene_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_enough_beam_finds_the_best_of_all_sequences_in_order),
        cmocka_unit_test(a_beam_of_one_takes_the_most_probable_token_at_each_step),
        cmocka_unit_test(hypotheses_do_not_depend_on_the_batch),
        cmocka_unit_test(hypotheses_are_ranked_and_complete),
        cmocka_unit_test(no_ngram_is_repeated_with_no_repeat_ngram),
        cmocka_unit_test(a_hypothesis_that_no_token_may_follow_is_truncated),
        cmocka_unit_test(outputs_have_the_min_and_max_length),
        cmocka_unit_test(a_prefix_is_forced_and_the_search_continues_after_it),
        cmocka_unit_test(the_coverage_penalty_is_computed_from_the_attention),
        cmocka_unit_test(an_ensemble_of_equal_models_is_the_model),
        cmocka_unit_test(an_ensemble_has_the_mean_probability),
        cmocka_unit_test(an_ensemble_needs_equal_vocabularies),
    };
    return cmocka_run_group_tests(tests, make_model, free_model);
}
