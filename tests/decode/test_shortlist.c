/* Lexical shortlists: what IBM model 1 learns, the candidates of a line, probabilities among them,
 * and outputs that depend on the line alone. */
#include "base/alloc.h"
#include "decode/beam_search_help.h"
#include "decode/shortlist.h"
#include "failing_memory.h"

#include <unistd.h>

static att_shortlist *shortlist_of(const att_model *model, const char *text,
                                   const att_shortlist_options *options)
{
    char path[] = "/tmp/attend-shortlist-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    att_shortlist *out;
    att_error err = { 0 };
    if (att_shortlist_load(&out, model, path, options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    unlink(path);
    return out;
}

/* The message of loading a file that is refused. */
static att_error load_error(const att_model *model, const char *text)
{
    char path[] = "/tmp/attend-shortlist-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    att_shortlist *out;
    att_error err = { 0 };
    assert_int_equal(att_shortlist_load(&out, model, path, NULL, &err), ATT_BAD_INPUT);
    assert_null(out);
    unlink(path);
    return err;
}

/* ---- the lexicon */

/* Pairs of ids: source tokens 3, 4, 5 become 13, 14, 15 in another order, and 20 is everywhere. */
static att_corpus dictionary_pairs(void)
{
    static int32_t source[] = { 3, 4, 4, 5, 5, 3, 3, 4, 5 };
    static int32_t target[] = { 14, 13, 20, 15, 14, 20, 13, 15, 20, 15, 13, 14, 20 };
    static int64_t source_offsets[] = { 0, 2, 4, 6, 9 }, target_offsets[] = { 0, 3, 6, 9, 13 };
    return (att_corpus){ .pairs = 4,
                         .source = { source, source_offsets },
                         .target = { target, target_offsets } };
}

static void model_1_learns_a_dictionary(void **state)
{
    (void)state;
    const att_corpus corpus = dictionary_pairs();
    att_alignment_counts counts = { 0 };
    att_lexicon lexicon;
    assert_int_equal(att_lexicon_align(&counts, &corpus, 6, 100, 20, NULL), ATT_OK);
    assert_int_equal(att_lexicon_from_counts(&lexicon, &counts, 6, 100, NULL), ATT_OK);
    for (int32_t id = 3; id < 6; id++) {
        double sum = 0;
        assert_int_equal(lexicon.entries[lexicon.offsets[id]].target, id + 10);
        assert_true(lexicon.entries[lexicon.offsets[id]].prob > 0.7);
        for (int64_t i = lexicon.offsets[id]; i < lexicon.offsets[id + 1]; i++)
            sum += lexicon.entries[i].prob;
        assert_true(fabs(sum - 1) < 1e-12);
    }
    assert_int_equal(lexicon.offsets[3], 0); /* reserved tokens have no entries */
    att_lexicon_free(&lexicon);
    att_alignment_counts_free(&counts);
}

static void entries_are_merged_sorted_and_cut(void **state)
{
    (void)state;
    static const att_lexicon_entry entries[] = {
        { 1, 7, 0.25 }, { 0, 5, 0.5 }, { 1, 6, 0.25 }, { 1, 9, 0.125 }, { 1, 9, 0.25 },
    };
    att_lexicon lexicon;
    assert_int_equal(att_lexicon_from_entries(&lexicon, entries, 5, 3, 2, NULL), ATT_OK);
    static const int64_t offsets[] = { 0, 1, 3, 3 };
    assert_memory_equal(lexicon.offsets, offsets, sizeof offsets);
    assert_int_equal(lexicon.entries[1].target, 9);
    assert_true(lexicon.entries[1].prob == 0.375);
    assert_int_equal(lexicon.entries[2].target, 6); /* of equals the lower token */
    att_lexicon_free(&lexicon);
}

static void pairs_are_evenly_spaced(void **state)
{
    (void)state;
    const att_corpus corpus = { .pairs = 10 };
    assert_int_equal(att_lexicon_pairs(&corpus, 4), 4);
    static const int64_t wanted[] = { 0, 2, 5, 7 };
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(att_lexicon_pair(&corpus, 4, i), wanted[i]);
    for (int64_t i = 0; i < 10; i++)
        assert_int_equal(att_lexicon_pair(&corpus, 100, i), i);
}

/* ---- candidates and their probabilities */

static const char letters[] = "a\tb\t0.5\nc\tb\t0.25\nb\ta\t1\nNULL\ta\t1\n";

static void a_line_has_the_candidates_of_its_tokens(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    const att_vocab *source = s.data.source_vocab, *target = s.data.target_vocab;
    const int32_t line[] = { att_vocab_id(source, "b", 1), ATT_ID_UNK };
    const att_shortlist_options none = { .size = sizeof none, .frequent = -1 };
    att_shortlist *shortlist = shortlist_of(s.model, letters, &none);
    att_token_set set = { 0 };
    const int32_t more[] = { att_vocab_id(target, "d", 1) };
    assert_int_equal(att_shortlist_collect(shortlist, &set, line, 2, more, 1, NULL), ATT_OK);
    assert_int_equal(set.ids.count, 2 + 4); /* unknown, end; a and c; b, the same text; d */
    for (const char *at = "abcd"; *at; at++)
        assert_true(set.has[att_vocab_id(target, at, 1)]);
    assert_true(set.has[ATT_ID_EOS] && set.has[ATT_ID_UNK] && !set.has[ATT_ID_BOS]);
    for (size_t i = 1; i < set.ids.count; i++)
        assert_true(set.ids.items[i - 1] < set.ids.items[i]);
    att_token_set_free(&set);
    att_shortlist_free(shortlist);
    scene_free(&s);
}

/* The log-probabilities of a decoder's first step for two sources. */
static void first_step(att_decoder *decoder, const att_candidates *candidates, float *out)
{
    static const int32_t ids[] = { 3, 4, 5, 6, 5, ATT_ID_PAD };
    static const int64_t lengths[] = { 3, 2 };
    static const int32_t begin[] = { ATT_ID_BOS, ATT_ID_BOS };
    const att_sources sources = {
        .rows = 2, .length = 3, .ids = ids, .lengths = lengths, .candidates = candidates
    };
    att_decoder_output output;
    att_error err = { 0 };
    if (att_decoder_start(decoder, &sources, &err) != ATT_OK ||
        att_decoder_step(decoder, 2, begin, NULL, &output, &err) != ATT_OK)
        fail_msg("%s", err.message);
    size_t count = 2 * (size_t)att_vocab_size(decoder->model->target_vocab);
    memcpy(out, output.log_probs, count * sizeof *out);
}

/* The same, from the log-probabilities of all tokens, in double. */
static void check_renormalized(const float *found, const float *all, const int32_t *ids,
                               size_t count, int64_t vocabulary, const char *name)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, (double)all[ids[i]]);
    for (size_t i = 0; i < count; i++)
        sum += exp((double)all[ids[i]] - largest);
    size_t finite = 0;
    for (int64_t i = 0; i < vocabulary; i++)
        finite += (size_t)isfinite(found[i]);
    assert_int_equal(finite, count);
    for (size_t i = 0; i < count; i++) {
        double wanted = (double)all[ids[i]] - largest - log(sum);
        if (fabs((double)found[ids[i]] - wanted) > 1e-5 + 1e-6 * fabs((double)all[ids[i]]))
            fail_msg("%s: token %d has %g, expected %g", name, (int)ids[i], (double)found[ids[i]],
                     wanted);
    }
}

static void probabilities_are_those_among_the_candidates_of_the_source(void **state)
{
    (void)state;
    static const int32_t first[] = { 0, 2, 4 }, second[] = { 2, 3, 4, 6 };
    for (const variant *row = variants; row->name; row++) {
        if (strstr(row->name, "copy"))
            continue;
        scene s;
        float all[64], found[64];
        scene_of(&s, row);
        scene_shake(&s, 3);
        int64_t vocabulary = att_vocab_size(s.data.target_vocab);
        att_candidates candidates = { 0 };
        assert_int_equal(att_candidates_add(&candidates, first, 3, NULL), ATT_OK);
        assert_int_equal(att_candidates_add(&candidates, second, 4, NULL), ATT_OK);
        assert_int_equal(att_candidates_finish(&candidates, vocabulary, NULL), ATT_OK);
        assert_int_equal(candidates.all.count, 5);
        att_decoder *decoder;
        assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
        first_step(decoder, NULL, all);
        first_step(decoder, &candidates, found);
        check_renormalized(found, all, first, 3, vocabulary, row->name);
        check_renormalized(found + vocabulary, all + vocabulary, second, 4, vocabulary, row->name);
        att_decoder_free(decoder);
        att_candidates_free(&candidates);
        scene_free(&s);
    }
}

/* ---- outputs */

static char *joined_outputs(const att_model *model, const att_decoding_options *decoding,
                            const char *const *lines, size_t count, int64_t batch)
{
    const att_generate_options options = { .size = sizeof options,
                                           .decoding = decoding,
                                           .batch_size = batch };
    att_outputs *outputs;
    att_error err = { 0 };
    if (att_model_generate(&outputs, model, lines, count, &options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    size_t room = 1 + count * 400;
    char *text = calloc(room, 1);
    for (size_t i = 0; i < count; i++) {
        const att_output *output = att_outputs_get(outputs, i);
        snprintf(text + strlen(text), room - strlen(text), "%s %a\n", output->text, output->score);
    }
    att_outputs_free(outputs);
    return text;
}

static void outputs_do_not_depend_on_batch_and_threads(void **state)
{
    (void)state;
    static const char *const lines[] = { "abcd", "a", "bb", "dcba", "cacb", "dd" };
    static const setting_pair transformer[] = { TRANSFORMER };
    for (int kind = 0; kind < 2; kind++) {
        scene s;
        scene_new(&s, transformer, kind == 0 ? 0 : 5);
        scene_shake(&s, 3);
        const att_shortlist_options few = { .size = sizeof few, .frequent = 1 };
        att_shortlist *shortlist = shortlist_of(s.model, letters, &few);
        for (int64_t beam = 1; beam < 4; beam += 2) {
            const att_decoding_options decoding = { .size = sizeof decoding,
                                                    .beam = beam,
                                                    .max_output_length = 9,
                                                    .shortlist = shortlist };
            char *whole = joined_outputs(s.model, &decoding, lines, 6, 6);
            for (int64_t batch = 1; batch < 5; batch++) {
                att_threads_set((int)batch % 3 + 1);
                char *parts = joined_outputs(s.model, &decoding, lines, 6, batch);
                assert_string_equal(parts, whole);
                free(parts);
            }
            free(whole);
        }
        att_threads_set(0);
        att_shortlist_free(shortlist);
        scene_free(&s);
    }
}

static void an_ensemble_shares_the_candidates(void **state)
{
    (void)state;
    static const char *const line = "abcd";
    scene s;
    scene_new(&s, NULL, 0);
    scene_shake(&s, 3);
    att_shortlist *shortlist = shortlist_of(s.model, letters, NULL);
    att_decoding_options decoding = { .size = sizeof decoding, .shortlist = shortlist };
    char *one = joined_outputs(s.model, &decoding, &line, 1, 1);
    decoding.ensemble = &s.model;
    decoding.ensemble_count = 1;
    char *two = joined_outputs(s.model, &decoding, &line, 1, 1);
    assert_string_equal(one, two); /* the mean of equal probabilities */
    free(one);
    free(two);
    att_shortlist_free(shortlist);
    scene_free(&s);
}

static void a_prefix_is_a_candidate(void **state)
{
    (void)state;
    static const char *const line = "a", *const prefix = "dd";
    scene s;
    scene_new(&s, NULL, 0);
    const att_shortlist_options none = { .size = sizeof none, .frequent = -1 };
    att_shortlist *shortlist = shortlist_of(s.model, "b\ta\t1\n", &none);
    const att_decoding_options decoding = { .size = sizeof decoding, .shortlist = shortlist };
    const att_generate_options options = { .size = sizeof options,
                                           .decoding = &decoding,
                                           .prefixes = &prefix };
    att_outputs *outputs;
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, NULL), ATT_OK);
    assert_memory_equal(att_outputs_get(outputs, 0)->text, "dd", 2);
    att_outputs_free(outputs);
    att_shortlist_free(shortlist);
    scene_free(&s);
}

/* ---- what is refused */

static void bad_lines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        int line;
    } cases[] = {
        { "", "expected target<TAB>source<TAB>probability lines, found none", 0 },
        { "a\tb\t0.5\nb\n", "expected target<TAB>source<TAB>probability, found 'b'", 2 },
        { "a b\n", "expected target<TAB>source<TAB>probability, found 'a b'", 1 },
        { "a b x\n", "expected a probability from 0 to 1, found 'x'", 1 },
        { "a b nan\n", "expected a probability from 0 to 1, found 'nan'", 1 },
        { "a b -0.1\n", "expected a probability from 0 to 1, found '-0.1'", 1 },
        { "a b 1e400\n", "expected a probability from 0 to 1, found '1e400'", 1 },
        { "a b 0.00000000000000000000000000000000000000000000000000000000000001\n",
          "expected a probability from 0 to 1, found '0.000", 1 },
        { "a\tb\n", "expected target<TAB>source<TAB>probability, found 'a\\x09b'", 1 },
        { "\n\na b 2\n", "expected a probability from 0 to 1, found '2'", 3 },
        { "xx yy 1\n", "is the shortlist of another model?", 0 },
        { "a b 1\nx y 1\nx y 1\nx y 1\nx y 1\nx y 1\nx y 1\nx y 1\nx y 1\nx y 1\nx y 1\n",
          "expected tokens of the model, found them in 1 of 11 lines: is the shortlist of another",
          0 },
        { "a\tb\t\xff\n", "UTF-8", 1 },
    };
    scene s;
    scene_new(&s, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_error err = load_error(s.model, cases[i].text);
        if (!strstr(err.message, cases[i].message) || err.line != cases[i].line)
            fail_msg("case %zu: line %d: %s", i, err.line, err.message);
    }
    scene_free(&s);
}

static void empty_lines_are_left_out(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_shortlist *shortlist = shortlist_of(s.model, "\na\tb\t0.5\n\nb\ta\t1\n\n", NULL);
    assert_int_equal(att_shortlist_entries(shortlist), 2);
    att_shortlist_free(shortlist);
    scene_free(&s);
}

typedef struct saved_shortlist {
    const att_model *model;
    const char *path;
} saved_shortlist;

/* Loads a shortlist, and collects the candidates of a line with an id that no model has. */
static att_status load_and_collect(void *context)
{
    static const int32_t line[] = { 3, 4, -1, INT32_MAX };
    const saved_shortlist *in = context;
    att_shortlist *shortlist;
    att_token_set set = { 0 };
    att_status status = att_shortlist_load(&shortlist, in->model, in->path, NULL, NULL);
    if (status == ATT_OK)
        status = att_shortlist_collect(shortlist, &set, line, 4, line, 4, NULL);
    att_token_set_free(&set);
    att_shortlist_free(shortlist);
    return status;
}

static void every_failing_allocation_of_loading_is_reported(void **state)
{
    (void)state;
    char path[] = "/tmp/attend-shortlist-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, letters, strlen(letters)), (ssize_t)strlen(letters));
    close(fd);
    scene s;
    scene_new(&s, NULL, 0);
    saved_shortlist in = { s.model, path };
    every_allocation_fails(load_and_collect, &in, 200);
    unlink(path);
    scene_free(&s);
}

static void models_that_it_cannot_serve_are_refused(void **state)
{
    (void)state;
    static const char *const line = "a", *const target = "b";
    static const setting_pair copying[] = { { "copy", "yes" }, { "attention", "general" } },
                              other[] = { { "alphabet", "abcdefg" } };
    scene s, copies, larger;
    att_error err = { 0 };
    att_shortlist *none;
    att_outputs *outputs;
    scene_new(&s, NULL, 0);
    scene_new(&copies, copying, 2);
    scene_new(&larger, other, 1);
    att_shortlist *shortlist = shortlist_of(s.model, letters, NULL);
    assert_int_equal(att_shortlist_load(&none, copies.model, "unused", NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "a model that copies"));
    const att_decoding_options decoding = { .size = sizeof decoding, .shortlist = shortlist };
    att_generate_options options = { .size = sizeof options, .decoding = &decoding };
    assert_int_equal(att_model_generate(&outputs, larger.model, &line, 1, &options, &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "other vocabularies"));
    options.targets = &target;
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, &options, &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "exclude each other"));
    const att_shortlist_options negative = { .size = sizeof negative, .top = -1 };
    assert_int_equal(att_shortlist_load(&none, s.model, "unused", &negative, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected a top above 0, found -1"));
    att_shortlist_free(shortlist);
    scene_free(&s);
    scene_free(&copies);
    scene_free(&larger);
}

/* ---- learning */

typedef struct learning {
    scene *scene;
    const char *pairs, *saved;
    bool attention;
} learning;

static att_status learn_and_save(void *context)
{
    const learning *in = context;
    const att_shortlist_options options = { .size = sizeof options, .attention = in->attention };
    att_shortlist_stats stats = ATT_INIT(att_shortlist_stats);
    att_shortlist *shortlist;
    att_status status =
        att_shortlist_learn(&shortlist, in->scene->model, in->pairs, &options, &stats, NULL);
    if (status != ATT_OK)
        return status;
    assert_int_equal(stats.pairs, 3);
    assert_true(stats.coverage == 1 && stats.entries > 0);
    status = att_shortlist_save(shortlist, in->saved, NULL);
    att_shortlist_free(shortlist);
    return status;
}

static void it_is_learned_saved_and_loaded_again(void **state)
{
    (void)state;
    char pairs[] = "/tmp/attend-pairs-XXXXXX", saved[] = "/tmp/attend-saved-XXXXXX";
    int fd = mkstemp(pairs);
    assert_int_equal(write(fd, "ab\tba\ncd\tdc\na\ta\n", 16), 16);
    close(fd);
    close(mkstemp(saved));
    scene s;
    scene_new(&s, NULL, 0);
    for (int attention = 0; attention < 2; attention++) {
        learning in = { &s, pairs, saved, attention == 1 };
        assert_int_equal(learn_and_save(&in), ATT_OK);
        att_shortlist *loaded;
        assert_int_equal(att_shortlist_load(&loaded, s.model, saved, NULL, NULL), ATT_OK);
        assert_true(att_shortlist_entries(loaded) > 0);
        att_shortlist_free(loaded);
        every_allocation_fails(learn_and_save, &in, 5000);
    }
    unlink(pairs);
    unlink(saved);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_1_learns_a_dictionary),
        cmocka_unit_test(entries_are_merged_sorted_and_cut),
        cmocka_unit_test(pairs_are_evenly_spaced),
        cmocka_unit_test(a_line_has_the_candidates_of_its_tokens),
        cmocka_unit_test(probabilities_are_those_among_the_candidates_of_the_source),
        cmocka_unit_test(outputs_do_not_depend_on_batch_and_threads),
        cmocka_unit_test(an_ensemble_shares_the_candidates),
        cmocka_unit_test(a_prefix_is_a_candidate),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(empty_lines_are_left_out),
        cmocka_unit_test(every_failing_allocation_of_loading_is_reported),
        cmocka_unit_test(models_that_it_cannot_serve_are_refused),
        cmocka_unit_test(it_is_learned_saved_and_loaded_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
