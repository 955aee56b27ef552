/* Beam search and sampling with every variant of every architecture: results do not depend on the
 * batch, its order or the number of threads. */
#include "decode/beam_search_help.h"

enum { SOURCES = 7, LONGEST = 5 };

static const int32_t ids[SOURCES][LONGEST] = {
    { 3, 5, 4, 6, 3 },  { 6, -1, -1, -1, -1 }, { 4, 4, -1, -1, -1 }, { 5, 3, 6, -1, -1 },
    { 0, 5, 4, 4, -1 }, { 3, 3, 3, 3, 3 },     { 6, 4, -1, -1, -1 },
};
static const int64_t lengths[SOURCES] = { 5, 1, 2, 3, 4, 5, 2 };

static const struct {
    const char *name;
    att_decoding_options options;
} searches[] = {
    { "greedy", { .max_output_length = 12 } },
    { "beam", { .beam = 4, .n_best = 3, .max_output_length = 10 } },
    { "drawn", { .sample = true, .seed = 3, .n_best = 2, .top_p = 0.95, .max_output_length = 10 } },
};

static uint64_t hash_found(const att_beam_search *search, int64_t row, int64_t length, int64_t maps)
{
    uint64_t h = HASH_START;
    int64_t count;
    const att_hypothesis *found = att_beam_search_hypotheses(search, row, &count);
    for (int64_t i = 0; i < count; i++) {
        size_t tokens = (size_t)found[i].count, cells = tokens * (size_t)(maps * length);
        h = hash_bytes(h, found[i].ids, tokens * sizeof *found->ids);
        h = hash_bytes(h, found[i].log_probs, tokens * sizeof *found->log_probs);
        h = hash_bytes(h, &found[i].normalized_score, sizeof found->normalized_score);
        if (found[i].head_attention)
            h = hash_bytes(h, found[i].head_attention, cells * sizeof *found->head_attention);
    }
    return h;
}

/* Runs the sources `which` in one batch and stores a hash of the hypotheses of each. */
static void run_some(uint64_t *out, att_beam_search *search, const int64_t *which, int64_t count)
{
    int32_t rows[SOURCES * LONGEST];
    int64_t row_lengths[SOURCES], longest = 0;
    uint64_t numbers[SOURCES];
    for (int64_t r = 0; r < count; r++)
        longest = lengths[which[r]] > longest ? lengths[which[r]] : longest;
    for (int64_t r = 0; r < count; r++) {
        memcpy(rows + r * longest, ids[which[r]], (size_t)longest * sizeof *rows);
        row_lengths[r] = lengths[which[r]];
        numbers[r] = (uint64_t)which[r];
    }
    const att_sources sources = {
        .rows = count, .length = longest, .ids = rows, .lengths = row_lengths
    };
    search_run(search,
               &(att_search_batch){ .sources = &sources,
                                    .stream_ids = numbers,
                                    .keep_attention = { .selected = true, .all_heads = true } });
    for (int64_t r = 0; r < count; r++)
        out[which[r]] =
            hash_found(search, r, row_lengths[r], att_beam_search_attention_maps(search));
}

static void the_batch_changes_nothing_for_any_model(void **state)
{
    (void)state;
    static const int64_t in_order[SOURCES] = { 0, 1, 2, 3, 4, 5, 6 };
    static const int64_t turned[SOURCES] = { 4, 6, 1, 5, 3, 0, 2 };
    for (const variant *row = variants; row->name; row++) {
        scene s;
        scene_of(&s, row);
        scene_shake(&s, 2);
        for (size_t k = 0; k < sizeof searches / sizeof *searches; k++) {
            uint64_t alone[SOURCES], all[SOURCES], mixed[SOURCES];
            att_beam_search *search = search_new(&s, &searches[k].options);
            att_threads_set(1);
            for (int64_t i = 0; i < SOURCES; i++)
                run_some(alone, search, &in_order[i], 1);
            run_some(all, search, in_order, SOURCES);
            att_threads_set(3);
            run_some(mixed, search, turned, SOURCES);
            att_threads_set(0);
            for (size_t i = 0; i < SOURCES; i++)
                if (alone[i] != all[i] || alone[i] != mixed[i])
                    fail_msg("%s, %s: source %zu has another result in a batch", row->name,
                             searches[k].name, i);
            att_beam_search_free(search);
        }
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_batch_changes_nothing_for_any_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
