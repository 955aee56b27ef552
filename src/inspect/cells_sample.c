/* Passages that illustrate the units found: for each property, the passage of the test part in
 * which the property varies most. The passages depend on the text only; the model then reads all of
 * them in parallel. */
#include "inspect/cells.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

enum { SAMPLE_TOKENS = 600, WARMUP_TOKENS = 1000 };

/* Sums over a passage, for the variance of a property. */
typedef struct moments {
    double sum, square;
} moments;

typedef struct sampling {
    const att_cell_search *search;
    att_token_range *passages; /* [P] */
    double *max_variance;      /* [P] in that passage */
    moments *current;          /* [P] of the current passage */
} sampling;

/* The short passage at the end of the text is used only if there is no other: its variance would be
 * unreliable. */
static void end_passage(sampling *s, att_token_range passage)
{
    bool whole = passage.end - passage.first == SAMPLE_TOKENS;
    double n = (double)(passage.end - passage.first);
    for (int p = 0; p < s->search->cells->property_count; p++) {
        double mean = s->current[p].sum / n;
        double variance = s->current[p].square / n - mean * mean;
        if (s->passages[p].end == 0 || (whole && variance > s->max_variance[p])) {
            s->max_variance[p] = variance;
            s->passages[p] = passage;
        }
        s->current[p] = (moments){ 0 };
    }
}

/* Splits the test part into passages of SAMPLE_TOKENS tokens, each starting with a line. */
static void find_passages(sampling *s)
{
    const att_cell_search *search = s->search;
    double properties[ATT_MAX_PROPERTIES];
    att_scanner scanner;
    int64_t first = search->held_out_range.first;
    att_scanner_start(&scanner, search->encoding.text.data, search->encoding.text.length);
    while (scanner.position < att_encoding_token_start(&search->encoding, first) &&
           att_scanner_next(&scanner) > 0)
        ;
    for (int64_t t = first; t < search->held_out_range.end; t++) {
        att_cells_advance_to(search, &scanner, t, properties);
        if (t < first)
            continue;
        for (int p = 0; p < search->cells->property_count; p++) {
            s->current[p].sum += properties[p];
            s->current[p].square += properties[p] * properties[p];
        }
        if (t + 1 - first < SAMPLE_TOKENS && t + 1 < search->held_out_range.end)
            continue;
        end_passage(s, (att_token_range){ first, t + 1 });
        first = t + 1;
        while (first < search->held_out_range.end &&
               search->encoding.text.data[search->encoding.end_offsets[first - 1] - 1] != '\n')
            first++;
    }
}

/* ---- activations */

typedef struct sample_recorder {
    const att_cell_search *search;
    const sampling *sampling;
    double **values; /* [P][SAMPLE_TOKENS] */
} sample_recorder;

static void record_activation(void *context, int64_t row, int64_t token, const float *units)
{
    const sample_recorder *recorder = context;
    const att_cells_property *property = &recorder->search->cells->rows[row];
    int64_t at = token - recorder->sampling->passages[row].first;
    if (property->match_count > 0)
        recorder->values[row][at] =
            (double)units[att_unit_index(recorder->search, property->matches[0])];
}

/* Marks the tokens of the passage where the property holds. */
static uint8_t *mark_positions(const att_cell_search *search, int p, const att_token_range *passage)
{
    att_scanner scanner;
    uint8_t *marked = att_arena_alloc(&search->cells->memory, SAMPLE_TOKENS, sizeof *marked);
    att_scanner_start(&scanner, search->encoding.text.data, search->encoding.text.length);
    for (int64_t t = 0; marked && t < passage->end; t++) {
        while (scanner.position < search->encoding.end_offsets[t] && att_scanner_next(&scanner) > 0)
            ;
        if (t >= passage->first)
            marked[t - passage->first] = att_cells_property_value(search, p, &scanner) != 0;
    }
    return marked;
}

static att_status keep_sample(const att_cell_search *search, int p, const att_token_range *passage,
                              const double *values, att_error *err)
{
    att_cells_property *row = &search->cells->rows[p];
    int64_t count = passage->end - passage->first;
    att_arena *memory = &search->cells->memory;
    const char **tokens =
        att_encoding_token_strings(&search->encoding, passage->first, count, memory);
    const uint8_t *marked = row->binary ? mark_positions(search, p, passage) : NULL;
    if (!tokens || (row->binary && !marked))
        return att_fail_memory(err);
    row->sample = (att_highlight){
        .count = count, .tokens = tokens, .values = values, .underlined = marked, .max_value = 1
    };
    return ATT_OK;
}

static att_status record_passages(const att_cell_search *search, const sampling *s, double **values,
                                  att_error *err)
{
    sample_recorder recorder = { search, s, values };
    const att_states_options options = { .signal = search->cells->info.signal,
                                         .ranges = s->passages,
                                         .count = search->cells->property_count,
                                         .warmup_tokens = WARMUP_TOKENS,
                                         .on_token = record_activation,
                                         .context = &recorder };
    ATT_TRY(att_states_run(search->model, &search->stack, &search->encoding, &options, err));
    for (int p = 0; p < search->cells->property_count; p++)
        if (search->cells->rows[p].match_count > 0)
            ATT_TRY(keep_sample(search, p, &s->passages[p], values[p], err));
    return ATT_OK;
}

att_status att_cells_collect_samples(att_cell_search *search, att_error *err)
{
    size_t count = (size_t)search->cells->property_count;
    att_arena scratch = { 0 };
    sampling s = { .search = search,
                   .passages = att_arena_alloc(&scratch, count, sizeof *s.passages),
                   .max_variance = att_arena_alloc(&scratch, count, sizeof *s.max_variance),
                   .current = att_arena_alloc(&scratch, count, sizeof *s.current) };
    double **values = att_arena_alloc(&scratch, count, sizeof *values);
    bool ok = s.passages && s.max_variance && s.current && values;
    for (size_t p = 0; ok && p < count; p++) {
        values[p] = att_arena_alloc(&search->cells->memory, SAMPLE_TOKENS, sizeof **values);
        ok = values[p] != NULL;
    }
    att_status status = ok ? ATT_OK : att_fail_memory(err);
    if (ok) {
        find_passages(&s);
        status = record_passages(search, &s, values, err);
    }
    att_arena_free(&scratch);
    return status;
}
