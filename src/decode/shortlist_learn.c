/* att_shortlist_learn(): a shortlist from the pairs of a file, aligned by IBM model 1 or by the
 * attention of the model. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "data/data.h"
#include "decode/beam_search.h"
#include "decode/shortlist.h"
#include "decode/shortlist_options.h"

#include <string.h>

enum { ITERATIONS = 5, BATCH = 32 };

typedef struct learning {
    const att_model *model;
    att_shortlist_options options;
    att_corpus corpus;
    int64_t pairs; /* used */
    att_alignment_counts counts;
} learning;

static int64_t pair_at(const learning *l, int64_t index)
{
    return att_lexicon_pair(&l->corpus, l->options.max_pairs, index);
}

/* ---- the model's attention */

/* One batch of forced decoding. */
typedef struct attention_batch {
    int64_t rows;
    int64_t lengths[BATCH];
    att_forced_tokens forced[BATCH];
    int32_t *ids; /* [rows,length] */
    att_sources sources;
} attention_batch;

static att_status fill_batch(attention_batch *batch, const learning *l, int64_t first,
                             att_error *err)
{
    int64_t length = 0;
    batch->rows = att_min_i64(BATCH, l->pairs - first);
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t pair = pair_at(l, first + r), targets;
        const int32_t *target = att_sequences_get(&l->corpus.target, pair, &targets);
        batch->lengths[r] = att_sequences_length(&l->corpus.source, pair);
        batch->forced[r] = (att_forced_tokens){ target, (size_t)targets, true };
        length = att_max_i64(length, batch->lengths[r]);
    }
    batch->ids = att_alloc((size_t)(batch->rows * length), sizeof *batch->ids);
    if (!batch->ids)
        return att_fail_memory(err);
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t own;
        const int32_t *source = att_sequences_get(&l->corpus.source, pair_at(l, first + r), &own);
        for (int64_t i = 0; i < length; i++)
            batch->ids[r * length + i] = i < own ? source[i] : ATT_ID_PAD;
    }
    batch->sources = (att_sources){
        .rows = batch->rows, .length = length, .ids = batch->ids, .lengths = batch->lengths
    };
    return ATT_OK;
}

/* Aligns each target token with the source token that has most of its attention. */
static att_status count_row(learning *l, const attention_batch *batch, int64_t row,
                            const att_hypothesis *found, att_error *err)
{
    int64_t length = batch->lengths[row];
    const int32_t *source = batch->ids + row * batch->sources.length;
    for (int64_t j = 0; j < found->count; j++) {
        const float *weights = found->attention + j * length;
        int64_t best = 0;
        for (int64_t i = 1; i < length; i++)
            best = weights[i] > weights[best] ? i : best;
        if (found->ids[j] >= ATT_ID_FIRST && source[best] != ATT_ID_UNK)
            ATT_TRY(att_alignment_counts_add(&l->counts, source[best], found->ids[j], 1, err));
    }
    return ATT_OK;
}

static att_status count_batch(learning *l, att_beam_search *search, int64_t first, att_error *err)
{
    attention_batch batch = { 0 };
    att_status status = fill_batch(&batch, l, first, err);
    const att_search_batch forced = { .sources = &batch.sources,
                                      .forced = batch.forced,
                                      .keep_attention = { .selected = true } };
    if (status == ATT_OK)
        status = att_beam_search_run(search, &forced, err);
    for (int64_t r = 0; r < batch.rows && status == ATT_OK; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(search, r, &count);
        if (!found->attention)
            status = att_fail(err, ATT_BAD_INPUT, NULL,
                              "the model has no attention: the shortlist needs the pairs alone");
        else
            status = count_row(l, &batch, r, found, err);
    }
    att_free(batch.ids);
    return status;
}

static att_status count_attention(learning *l, att_error *err)
{
    const att_decoding_options greedy = ATT_INIT(att_decoding_options);
    att_beam_search *search;
    ATT_TRY(att_beam_search_new(&search, l->model, &greedy, err));
    att_status status = ATT_OK;
    for (int64_t first = 0; first < l->pairs && status == ATT_OK; first += BATCH) {
        status = count_batch(l, search, first, err);
        if (status == ATT_OK)
            status = att_progress_step(first, err);
    }
    att_beam_search_free(search);
    return status;
}

/* ---- what it covers */

/* How many target tokens of the pairs are candidates of their source, of at most 10,000 pairs. */
static att_status measure(att_shortlist_stats *out, const learning *l,
                          const att_shortlist *shortlist, att_error *err)
{
    enum { PAIRS = 10000 };
    int64_t used = att_min_i64(l->pairs, PAIRS), tokens = 0, covered = 0, candidates = 0;
    att_token_set set = { 0 };
    att_status status = ATT_OK;
    for (int64_t i = 0; i < used && status == ATT_OK; i++) {
        int64_t sources, targets, pair = att_lexicon_pair(&l->corpus, used, i);
        const int32_t *source = att_sequences_get(&l->corpus.source, pair, &sources);
        const int32_t *target = att_sequences_get(&l->corpus.target, pair, &targets);
        status = att_shortlist_collect(shortlist, &set, source, sources, NULL, 0, err);
        candidates += (int64_t)set.ids.count;
        for (int64_t j = 0; j < targets && status == ATT_OK; j++)
            covered += set.has[target[j]];
        tokens += targets;
    }
    att_token_set_free(&set);
    out->entries = att_shortlist_entries(shortlist);
    out->pairs = l->pairs;
    out->vocabulary = att_vocab_size(l->model->target_vocab);
    out->mean_candidates = used > 0 ? (double)candidates / (double)used : 0;
    out->coverage = tokens > 0 ? (double)covered / (double)tokens : 0;
    return status;
}

/* ---- the public call */

static att_status align(learning *l, att_error *err)
{
    int64_t rounds = l->options.attention ? 1 : ITERATIONS;
    att_progress_set_total(rounds * l->pairs);
    if (l->options.attention)
        return count_attention(l, err);
    return att_lexicon_align(&l->counts, &l->corpus, att_vocab_size(l->model->source_vocab),
                             l->options.max_pairs, ITERATIONS, err);
}

static att_status learn(att_shortlist *shortlist, learning *l, const char *path,
                        att_shortlist_stats *stats, att_error *err)
{
    const att_data_read_options reading = { .path = path,
                                            .settings = l->model->settings,
                                            .source_vocab = l->model->source_vocab,
                                            .target_vocab = l->model->target_vocab };
    ATT_TRY(att_data_read(&l->corpus, &reading, err));
    l->pairs = att_lexicon_pairs(&l->corpus, l->options.max_pairs);
    if (l->pairs == 0)
        return att_fail(err, ATT_BAD_INPUT, path, "expected pairs to learn from, found none");
    ATT_TRY(align(l, err));
    ATT_TRY(att_lexicon_from_counts(&shortlist->lexicon, &l->counts,
                                    att_vocab_size(l->model->source_vocab), l->options.top, err));
    att_shortlist_stats found = { .size = sizeof found };
    ATT_TRY(measure(&found, l, shortlist, err));
    return stats ? ATT_RESULT_COPY(att_shortlist_stats, stats, &found, err) : ATT_OK;
}

att_status att_shortlist_learn(att_shortlist **out, const att_model *model, const char *path,
                               const att_shortlist_options *options, att_shortlist_stats *stats,
                               att_error *err)
{
    learning l = { .model = model };
    att_shortlist *shortlist;
    *out = NULL;
    ATT_TRY(att_shortlist_options_resolve(&l.options, options, err));
    ATT_TRY(att_shortlist_new(&shortlist, model, l.options.frequent, err));
    att_progress_scope scope;
    att_progress_begin(&scope, "aligning", 0);
    att_status status = learn(shortlist, &l, path, stats, err);
    status = att_progress_end(&scope, status, err);
    att_corpus_free(&l.corpus);
    att_alignment_counts_free(&l.counts);
    if (status == ATT_OK)
        *out = shortlist;
    else
        att_shortlist_free(shortlist);
    return status;
}
