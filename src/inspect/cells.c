/* The search for units that keep track of something; see cells.h. Units are chosen on the first
 * part of the text and measured on the rest, which had no say in the choice: among a thousand units
 * some go along with anything by chance. */
#include "inspect/cells.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "base/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_TOKENS = 1000000,
    MIN_TOKENS = 1000, /* of a text to be searched */
    DEFAULT_NBEST = 3,
    MAX_ROWS = 16,
    MIN_ROW_TOKENS = 2048, /* at least, of a stretch that is read beside others */
                           /* from one word of how far it is to the next */
    WARMUP_TOKENS = 256,
    MAX_FILE_SIZE = 1 << 30,
};

static const double default_held_out = 0.25;

/* ---- properties of a stretch */

void att_scanner_advance_to(att_scanner *scan, const att_encoding *text, int64_t token,
                            double *properties)
{
    while (scan->position < text->end_offsets[token] && att_scanner_next(scan) > 0)
        ;
    for (int p = 0; p < att_property_count; p++)
        properties[p] = att_properties[p].value(scan);
}

/* ---- comparing on a part of the text */

/* What is counted for one unit found, on the text held out. */
typedef struct comparison {
    att_cell_search *search;
    att_correlation sums;
    att_scanner *scanners;             /* [rows] each at its stretch's next token */
    double *properties;                /* [P] */
    att_auc_histogram *auc_histograms; /* [P, best], or NULL: while searching */
} comparison;

static void add_to_histograms(comparison *c, const float *units)
{
    const att_cell_search *search = c->search;
    for (int p = 0; p < att_property_count; p++) {
        const att_cells_property *row = &search->cells->rows[p];
        for (int64_t k = 0; row->binary && k < row->match_count; k++)
            att_auc_histogram_add(&c->auc_histograms[p * search->nbest + k],
                                  (double)units[att_unit_index(search, row->matches[k])],
                                  c->properties[p] != 0);
    }
}

static void compare(void *context, int64_t stretch, int64_t token, const float *units)
{
    comparison *c = context;
    (void)att_progress_step(++c->search->tokens_read,
                            NULL); /* att_states_run() checks for cancel */
    att_scanner_advance_to(&c->scanners[stretch], &c->search->encoding, token, c->properties);
    att_correlation_add(&c->sums, units, c->properties);
    if (c->auc_histograms)
        add_to_histograms(c, units);
}

/* The part in stretches of one length, and a scan at the beginning of each. */
static int64_t split_range(const att_cell_search *search, const att_token_range *part,
                           att_token_range *stretches, att_scanner *scans)
{
    int64_t count = part->end - part->first, rows = count / MIN_ROW_TOKENS;
    rows = rows < 1 ? 1 : rows < MAX_ROWS ? rows : MAX_ROWS;
    att_scanner scan;
    att_scanner_start(&scan, search->encoding.text.data, search->encoding.text.length);
    for (int64_t r = 0; r < rows; r++) {
        stretches[r].first = part->first + count * r / rows;
        stretches[r].end = part->first + count * (r + 1) / rows;
        while (scan.position < att_encoding_token_start(&search->encoding, stretches[r].first) &&
               att_scanner_next(&scan) > 0)
            ;
        scans[r] = scan;
    }
    return rows;
}

static att_status correlate_range(comparison *c, att_cell_search *search,
                                  const att_token_range *part, att_error *err)
{
    att_token_range stretches[MAX_ROWS];
    att_scanner scans[MAX_ROWS];
    double properties[64];
    c->search = search;
    c->scanners = scans;
    c->properties = properties;
    ATT_TRY(att_correlation_new(&c->sums, search->stack.layers * search->stack.hidden_size,
                                att_property_count, err));
    const att_states_options how = { .signal = search->cells->facts.signal,
                                     .ranges = stretches,
                                     .count = split_range(search, part, stretches, scans),
                                     .warmup_tokens = WARMUP_TOKENS,
                                     .on_token = compare,
                                     .context = c };
    return att_states_run(search->model, &search->stack, &search->encoding, &how, err);
}

/* ---- choosing */

/* Puts a unit in its place among the best, the strongest first; of equals the first stays. */
static void insert(att_cell_match *best, int64_t *count, int64_t most, att_cell_match found)
{
    int64_t at = *count;
    while (at > 0 && fabs(best[at - 1].search_correlation) < fabs(found.search_correlation))
        at--;
    if (at >= most)
        return;
    int64_t kept = *count < most ? *count : most - 1;
    memmove(best + at + 1, best + at, (size_t)(kept - at) * sizeof *best);
    best[at] = found;
    *count = kept + 1;
}

static att_status choose(att_cell_search *search, const att_correlation *sums, att_error *err)
{
    int64_t width = search->stack.hidden_size;
    for (int p = 0; p < att_property_count; p++) {
        att_cells_property *row = &search->cells->rows[p];
        att_cell_match *best =
            att_arena_alloc(&search->cells->memory, (size_t)search->nbest, sizeof *best);
        const att_cell_match **matches =
            att_arena_alloc(&search->cells->memory, (size_t)search->nbest, sizeof(void *));
        if (!best || !matches)
            return att_fail_memory(err);
        for (int64_t k = 0; k < search->nbest; k++)
            matches[k] = &best[k];
        for (int64_t u = 0; u < sums->units; u++) {
            double r = att_correlation_get(sums, p, u);
            if (!isnan(r))
                insert(best, &row->match_count, search->nbest,
                       (att_cell_match){ .unit = { u / width + 1, u % width + 1 },
                                         .search_correlation = r });
        }
        row->matches = matches;
        search->cells->match_blocks[p] = best;
        row->mean = att_correlation_mean(sums, p);
    }
    return ATT_OK;
}

/* ---- measuring */

static void compute_held_out(att_cell_search *search, const comparison *c)
{
    for (int p = 0; p < att_property_count; p++) {
        att_cells_property *row = &search->cells->rows[p];
        att_cell_match *found = search->cells->match_blocks[p];
        for (int64_t k = 0; k < row->match_count; k++) {
            found[k].held_out_correlation =
                att_correlation_get(&c->sums, p, att_unit_index(search, &found[k]));
            double area = att_auc_histogram_auc(&c->auc_histograms[p * search->nbest + k]);
            found[k].auc = !row->binary ? NAN : found[k].search_correlation < 0 ? 1 - area : area;
        }
    }
}

static att_status search_units(att_cell_search *search, att_error *err)
{
    comparison c = { 0 };
    att_status status = correlate_range(&c, search, &search->search_range, err);
    if (status == ATT_OK)
        status = choose(search, &c.sums, err);
    att_correlation_free(&c.sums);
    return status;
}

static att_status evaluate_units(att_cell_search *search, att_error *err)
{
    comparison c = { .auc_histograms = att_alloc_zero((size_t)(att_property_count * search->nbest),
                                                      sizeof(att_auc_histogram)) };
    att_status status = c.auc_histograms ? correlate_range(&c, search, &search->held_out_range, err)
                                         : att_fail_memory(err);
    if (status == ATT_OK)
        compute_held_out(search, &c);
    att_correlation_free(&c.sums);
    att_free(c.auc_histograms);
    return status;
}

/* ---- the whole */

static att_status split_text(att_cell_search *search, const att_cells_options *how, att_error *err)
{
    int64_t count = (int64_t)search->encoding.ids.count;
    int64_t most = how->max_tokens > 0 ? how->max_tokens : MAX_TOKENS;
    double part = how->held_out > 0 ? how->held_out : default_held_out;
    if (!(part < 1))
        return att_fail(err, ATT_BAD_INPUT, NULL, "nothing would be left to search");
    count = count < most ? count : most;
    if (count < MIN_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "%lld tokens are too few to tell chance from habit; at least %d",
                        (long long)count, MIN_TOKENS);
    int64_t middle = count - (int64_t)ceil((double)count * part);
    search->search_range = (att_token_range){ 0, middle > 0 ? middle : 1 };
    search->held_out_range = (att_token_range){ search->search_range.end, count };
    return ATT_OK;
}

static att_status prepare(att_cell_search *search, const att_cells_options *how, att_error *err)
{
    att_cells *cells = search->cells;
    ATT_TRY(split_text(search, how, err));
    cells->rows = att_arena_alloc(&cells->memory, (size_t)att_property_count, sizeof *cells->rows);
    cells->match_blocks =
        att_arena_alloc(&cells->memory, (size_t)att_property_count, sizeof *cells->match_blocks);
    if (!cells->rows || !cells->match_blocks)
        return att_fail_memory(err);
    for (int p = 0; p < att_property_count; p++)
        cells->rows[p] = (att_cells_property){ .property = att_properties[p].name,
                                               .help = att_properties[p].help,
                                               .binary = att_properties[p].is_binary };
    cells->facts = (att_cells_info){ .layers = search->stack.layers,
                                     .hidden_size = search->stack.hidden_size,
                                     .signal = how->signal,
                                     .search_tokens = search->search_range.end,
                                     .held_out_tokens = search->held_out_range.end -
                                                        search->held_out_range.first };
    att_progress_set_total(search->held_out_range.end);
    return att_states_resolve_signal(&cells->facts.signal, &search->stack, err);
}

/* What is wrong with the text is told of its file. */
static att_status set_error_file(att_status status, const char *path, att_error *err)
{
    if (status == ATT_BAD_INPUT && err && err->place[0] == '\0')
        snprintf(err->place, sizeof err->place, "%s", att_file_display_name(path));
    return status;
}

static att_status run_search(att_cell_search *search, const char *path,
                             const att_cells_options *how, att_error *err)
{
    att_string file = { 0 };
    att_status status = ATT_OK;
    if (path)
        status = att_file_read_stream(&file, path, MAX_FILE_SIZE, err);
    else if (!how->text || att_string_append(&file, how->text, how->length) != ATT_OK)
        status = how->text ? att_fail_memory(err)
                           : att_fail(err, ATT_BAD_INPUT, NULL, "expected a file or a text");
    if (status == ATT_OK)
        status = att_encoding_new(&search->encoding, search->stack.vocab, NULL, file.data,
                                  file.length, err);
    att_string_free(&file);
    ATT_TRY(path ? set_error_file(status, path, err) : status);
    ATT_TRY(prepare(search, how, err));
    ATT_TRY(search_units(search, err));
    ATT_TRY(evaluate_units(search, err));
    return att_cells_collect_samples(search, err);
}

att_status att_model_cells(att_cells **out, const att_model *model, const char *path,
                           const att_cells_options *how, att_error *err)
{
    att_cells_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_cells_options, &resolved, how, err));
    how = &resolved;
    att_cell_search search = { .model = model,
                               .nbest = how->n_best > 0 ? how->n_best : DEFAULT_NBEST };
    ATT_TRY(att_model_rnn_stack(&search.stack, model, err));
    search.cells = att_alloc_zero(1, sizeof *search.cells);
    att_progress_scope scope;
    att_progress_begin(&scope, "searching for cells", 0);
    att_status status = search.cells ? run_search(&search, path, how, err) : att_fail_memory(err);
    att_progress_end(&scope);
    att_encoding_free(&search.encoding);
    if (status == ATT_OK)
        *out = search.cells;
    else
        att_cells_free(search.cells);
    return status;
}

void att_cells_free(att_cells *cells)
{
    if (!cells)
        return;
    att_arena_free(&cells->memory);
    att_free(cells);
}

const att_cells_info *att_cells_info_get(const att_cells *cells)
{
    return &cells->facts;
}

size_t att_cells_count(const att_cells *cells)
{
    (void)cells;
    return (size_t)att_property_count;
}

const att_cells_property *att_cells_get(const att_cells *cells, size_t index)
{
    return index < (size_t)att_property_count ? &cells->rows[index] : NULL;
}
