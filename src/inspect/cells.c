/* Search for interpretable units of an RNN (att_model_cells; Karpathy, Johnson and Fei-Fei 2015):
 * every unit is correlated with every property of the text. Units are chosen on the first part of
 * the text and evaluated on the rest, which was not used for the choice: among a thousand units,
 * some correlate with anything by chance. */
#include "inspect/cells.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "inspect/regex.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_TOKENS = 1000000,
    MIN_TOKENS = 1000, /* of the whole text */
    DEFAULT_TOP = 3,
    MAX_ROWS = 16,
    MIN_ROW_TOKENS = 2048, /* shorter ranges are not split into parallel rows */
    WARMUP_TOKENS = 256,
    MAX_FILE_SIZE = 1 << 30,
};

static const double default_test_fraction = 0.25;

/* ---- properties at a token */

double att_cells_property_value(const att_cell_search *search, int property,
                                const att_scanner *scanner)
{
    if (property < att_property_count)
        return att_properties[property].value(scanner);
    const uint8_t *marks = search->pattern_marks[property - att_property_count];
    return scanner->position > 0 ? marks[scanner->position - 1] : 0;
}

void att_cells_advance_to(const att_cell_search *search, att_scanner *scanner, int64_t token,
                          double *properties)
{
    while (scanner->position < search->encoding.end_offsets[token] && att_scanner_next(scanner) > 0)
        ;
    for (int p = 0; p < search->cells->property_count; p++)
        properties[p] = att_cells_property_value(search, p, scanner);
}

/* ---- correlation on a part of the text */

/* The sums of one pass over a part of the text. */
typedef struct comparison {
    att_cell_search *search;
    att_correlation sums;
    att_scanner *scanners;             /* [rows] each at the next token of its row */
    double *properties;                /* [P] */
    att_auc_histogram *auc_histograms; /* [P, top]; NULL in the search pass */
} comparison;

static void add_to_histograms(comparison *c, const float *units)
{
    const att_cell_search *search = c->search;
    for (int p = 0; p < search->cells->property_count; p++) {
        const att_cells_property *row = &search->cells->rows[p];
        for (int64_t k = 0; row->binary && k < row->match_count; k++)
            att_auc_histogram_add(&c->auc_histograms[p * search->top + k],
                                  (double)units[att_unit_index(search, row->matches[k])],
                                  c->properties[p] != 0);
    }
}

static void compare(void *context, int64_t row, int64_t token, const float *units)
{
    comparison *c = context;
    (void)att_progress_step(++c->search->tokens_read,
                            NULL); /* att_states_run() checks for cancel */
    att_cells_advance_to(c->search, &c->scanners[row], token, c->properties);
    att_correlation_add(&c->sums, units, c->properties);
    if (c->auc_histograms)
        add_to_histograms(c, units);
}

/* Splits a part into rows of equal length, with a scanner at the start of each. */
static int64_t split_range(const att_cell_search *search, const att_token_range *part,
                           att_token_range *ranges, att_scanner *scanners)
{
    int64_t count = part->end - part->first, rows = count / MIN_ROW_TOKENS;
    rows = att_clamp_i64(rows, 1, MAX_ROWS);
    att_scanner scanner;
    att_scanner_start(&scanner, search->encoding.text.data, search->encoding.text.length);
    for (int64_t r = 0; r < rows; r++) {
        ranges[r].first = part->first + count * r / rows;
        ranges[r].end = part->first + count * (r + 1) / rows;
        while (scanner.position < att_encoding_token_start(&search->encoding, ranges[r].first) &&
               att_scanner_next(&scanner) > 0)
            ;
        scanners[r] = scanner;
    }
    return rows;
}

static att_status correlate_range(comparison *c, att_cell_search *search,
                                  const att_token_range *part, att_error *err)
{
    att_token_range ranges[MAX_ROWS];
    att_scanner scanners[MAX_ROWS];
    double properties[ATT_MAX_PROPERTIES];
    c->search = search;
    c->scanners = scanners;
    c->properties = properties;
    ATT_TRY(att_correlation_new(&c->sums, search->stack.layers * search->stack.hidden_size,
                                search->cells->property_count, err));
    const att_states_options options = { .signal = search->cells->info.signal,
                                         .ranges = ranges,
                                         .count = split_range(search, part, ranges, scanners),
                                         .warmup_tokens = WARMUP_TOKENS,
                                         .on_token = compare,
                                         .context = c };
    return att_states_run(search->model, &search->stack, &search->encoding, &options, err);
}

/* ---- the units with the largest correlation */

/* Inserts a unit into the list, which is sorted by decreasing absolute correlation; among equals
 * the earlier unit comes first. */
static void insert(att_cell_match *top, int64_t *count, int64_t max_count, att_cell_match found)
{
    int64_t at = *count;
    while (at > 0 && fabs(top[at - 1].search_correlation) < fabs(found.search_correlation))
        at--;
    if (at >= max_count)
        return;
    int64_t kept = att_min_i64(*count, max_count - 1);
    memmove(top + at + 1, top + at, (size_t)(kept - at) * sizeof *top);
    top[at] = found;
    *count = kept + 1;
}

static att_status choose(att_cell_search *search, const att_correlation *sums, att_error *err)
{
    int64_t width = search->stack.hidden_size;
    for (int p = 0; p < search->cells->property_count; p++) {
        att_cells_property *row = &search->cells->rows[p];
        att_cell_match *top =
            att_arena_alloc(&search->cells->memory, (size_t)search->top, sizeof *top);
        const att_cell_match **matches =
            att_arena_alloc(&search->cells->memory, (size_t)search->top, sizeof(void *));
        if (!top || !matches)
            return att_fail_memory(err);
        for (int64_t k = 0; k < search->top; k++)
            matches[k] = &top[k];
        for (int64_t u = 0; u < sums->units; u++) {
            double r = att_correlation_get(sums, p, u);
            if (!isnan(r))
                insert(top, &row->match_count, search->top,
                       (att_cell_match){ .unit = { u / width + 1, u % width + 1 },
                                         .search_correlation = r });
        }
        row->matches = matches;
        search->cells->match_blocks[p] = top;
        row->mean = att_correlation_mean(sums, p);
    }
    return ATT_OK;
}

/* ---- their test correlation */

static void compute_test_metrics(att_cell_search *search, const comparison *c)
{
    for (int p = 0; p < search->cells->property_count; p++) {
        att_cells_property *row = &search->cells->rows[p];
        att_cell_match *found = search->cells->match_blocks[p];
        for (int64_t k = 0; k < row->match_count; k++) {
            found[k].held_out_correlation =
                att_correlation_get(&c->sums, p, att_unit_index(search, &found[k]));
            double auc = att_auc_histogram_auc(&c->auc_histograms[p * search->top + k]);
            found[k].auc = !row->binary ? NAN : found[k].search_correlation < 0 ? 1 - auc : auc;
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
    comparison c = { .auc_histograms =
                         att_alloc_zero((size_t)(search->cells->property_count * search->top),
                                        sizeof(att_auc_histogram)) };
    att_status status = c.auc_histograms ? correlate_range(&c, search, &search->held_out_range, err)
                                         : att_fail_memory(err);
    if (status == ATT_OK)
        compute_test_metrics(search, &c);
    att_correlation_free(&c.sums);
    att_free(c.auc_histograms);
    return status;
}

/* ---- the search */

static att_status split_text(att_cell_search *search, const att_cells_options *options,
                             att_error *err)
{
    int64_t count = (int64_t)search->encoding.ids.count;
    int64_t max_tokens = options->max_tokens > 0 ? options->max_tokens : MAX_TOKENS;
    double test_fraction = options->held_out > 0 ? options->held_out : default_test_fraction;
    if (!(test_fraction < 1))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the test fraction must be less than 1: nothing would be left to search");
    count = att_min_i64(count, max_tokens);
    if (count < MIN_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected at least %d tokens to search, found %lld", MIN_TOKENS,
                        (long long)count);
    int64_t middle = count - (int64_t)ceil((double)count * test_fraction);
    search->search_range = (att_token_range){ 0, att_max_i64(middle, 1) };
    search->held_out_range = (att_token_range){ search->search_range.end, count };
    return ATT_OK;
}

/* Whether a name is free, and not empty. */
static bool is_new_name(const att_cells *cells, const char *name)
{
    for (int p = 0; p < cells->property_count; p++)
        if (strcmp(cells->rows[p].property, name) == 0)
            return false;
    return name[0] != '\0';
}

/* Adds the property of a pattern NAME=REGEX and finds its matches in the text. */
static att_status add_pattern(att_cell_search *search, const char *pattern, att_error *err)
{
    att_cells *cells = search->cells;
    const att_string *text = &search->encoding.text;
    const char *equals = strchr(pattern, '=');
    if (!equals)
        return att_fail(err, ATT_BAD_INPUT, "property", "expected NAME=REGEX, found '%s'", pattern);
    char *name = att_arena_strndup(&cells->memory, pattern, (size_t)(equals - pattern));
    char *help = att_arena_strndup(&cells->memory, equals + 1, strlen(equals + 1));
    uint8_t *marks = att_arena_alloc(&cells->memory, text->length + 1, 1);
    if (!name || !help || !marks)
        return att_fail_memory(err);
    if (!is_new_name(cells, name))
        return att_fail(err, ATT_BAD_INPUT, "property",
                        name[0] ? "there is a property '%s' already"
                                : "expected NAME=REGEX, found no name%s",
                        name);
    att_regex *regex;
    att_status status = att_regex_new(&regex, equals + 1, err);
    if (status == ATT_OK)
        status = att_regex_mark(regex, text->data, text->length, marks, err);
    else if (err && status == ATT_BAD_INPUT)
        snprintf(err->place, sizeof err->place, "property %s", name);
    att_regex_free(regex);
    ATT_TRY(status);
    search->pattern_marks[cells->property_count - att_property_count] = marks;
    cells->rows[cells->property_count++] =
        (att_cells_property){ .property = name, .help = help, .binary = true };
    return ATT_OK;
}

static att_status prepare(att_cell_search *search, const att_cells_options *options, att_error *err)
{
    att_cells *cells = search->cells;
    if (options->pattern_count > ATT_MAX_PATTERNS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected at most %d patterns, found %zu",
                        ATT_MAX_PATTERNS, options->pattern_count);
    size_t count = (size_t)att_property_count + options->pattern_count;
    cells->rows = att_arena_alloc(&cells->memory, count, sizeof *cells->rows);
    cells->match_blocks = att_arena_alloc(&cells->memory, count, sizeof *cells->match_blocks);
    if (!cells->rows || !cells->match_blocks)
        return att_fail_memory(err);
    for (int p = 0; p < att_property_count; p++)
        cells->rows[p] = (att_cells_property){ .property = att_properties[p].name,
                                               .help = att_properties[p].help,
                                               .binary = att_properties[p].is_binary };
    cells->property_count = att_property_count;
    for (size_t i = 0; i < options->pattern_count; i++)
        ATT_TRY(add_pattern(search, options->patterns[i], err));
    cells->info = (att_cells_info){ .layers = search->stack.layers,
                                    .hidden_size = search->stack.hidden_size,
                                    .signal = options->signal,
                                    .search_tokens = search->search_range.end,
                                    .held_out_tokens =
                                        search->held_out_range.end - search->held_out_range.first };
    att_progress_set_total(search->held_out_range.end);
    return att_states_resolve_signal(&cells->info.signal, &search->stack, err);
}

/* Names the file in an error about its text. */
static att_status set_error_file(att_status status, const char *path, att_error *err)
{
    if (status == ATT_BAD_INPUT && err && err->place[0] == '\0')
        snprintf(err->place, sizeof err->place, "%s", att_file_display_name(path));
    return status;
}

static att_status run_search(att_cell_search *search, const char *path,
                             const att_cells_options *options, att_error *err)
{
    att_string file = { 0 };
    att_status status = ATT_OK;
    if (path)
        status = att_file_read_stream(&file, path, MAX_FILE_SIZE, err);
    else if (!options->text || att_string_append(&file, options->text, options->length) != ATT_OK)
        status = options->text ? att_fail_memory(err)
                               : att_fail(err, ATT_BAD_INPUT, NULL, "expected a file or a text");
    if (status == ATT_OK)
        status = att_encoding_new(&search->encoding, search->stack.vocab, NULL, file.data,
                                  file.length, err);
    att_string_free(&file);
    if (status == ATT_OK)
        status = split_text(search, options, err);
    ATT_TRY(path ? set_error_file(status, path, err) : status);
    ATT_TRY(prepare(search, options, err));
    ATT_TRY(search_units(search, err));
    ATT_TRY(evaluate_units(search, err));
    return att_cells_collect_samples(search, err);
}

att_status att_model_cells(att_cells **out, const att_model *model, const char *path,
                           const att_cells_options *options, att_error *err)
{
    att_cells_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_cells_options, &resolved, options, err));
    options = &resolved;
    att_cell_search search = { .model = model,
                               .top = options->n_best > 0 ? options->n_best : DEFAULT_TOP };
    ATT_TRY(att_model_rnn_stack(&search.stack, model, err));
    search.cells = att_alloc_zero(1, sizeof *search.cells);
    att_progress_scope scope;
    att_progress_begin(&scope, "searching for cells", 0);
    att_status status =
        search.cells ? run_search(&search, path, options, err) : att_fail_memory(err);
    status = att_progress_end(&scope, status, err);
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
    return &cells->info;
}

size_t att_cells_count(const att_cells *cells)
{
    (void)cells;
    return (size_t)cells->property_count;
}

const att_cells_property *att_cells_get(const att_cells *cells, size_t index)
{
    return index < (size_t)cells->property_count ? &cells->rows[index] : NULL;
}
