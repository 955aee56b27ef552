/* Passages to show units on: for each property the one, of those held out, in which it changes
 * most. Which these are, the text alone tells; the model then reads all of them side by side. */
#include "inspect/cells.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>

enum { SAMPLE = 600, WARM = 1000 };

/* How much each property changes within a passage: sums, squares. */
typedef struct change {
    double sum, square;
} change;

typedef struct sampling {
    const att_search *search;
    att_stretch *passage; /* [P] */
    double *most;         /* [P] variance in it */
    change *changes;      /* [P] in the passage being looked at */
} sampling;

/* What is left at the end of a text counts where there is nothing else: in a short passage much may
 * seem to change. */
static void end_passage(sampling *s, att_stretch passage)
{
    bool whole = passage.end - passage.first == SAMPLE;
    double n = (double)(passage.end - passage.first);
    for (int p = 0; p < att_property_count; p++) {
        double mean = s->changes[p].sum / n;
        double variance = s->changes[p].square / n - mean * mean;
        if (s->passage[p].end == 0 || (whole && variance > s->most[p])) {
            s->most[p] = variance;
            s->passage[p] = passage;
        }
        s->changes[p] = (change){ 0 };
    }
}

/* Goes through the text held out; a passage begins with a line and has SAMPLE tokens. */
static void find_passages(sampling *s)
{
    const att_search *search = s->search;
    double properties[64];
    att_scan scan;
    int64_t first = search->held.first;
    att_scan_start(&scan, search->text.text.data, search->text.text.length);
    while (scan.at < att_spelt_start(&search->text, first) && att_scan_next(&scan) > 0)
        ;
    for (int64_t t = first; t < search->held.end; t++) {
        att_scan_token(&scan, &search->text, t, properties);
        if (t < first)
            continue;
        for (int p = 0; p < att_property_count; p++) {
            s->changes[p].sum += properties[p];
            s->changes[p].square += properties[p] * properties[p];
        }
        if (t + 1 - first < SAMPLE && t + 1 < search->held.end)
            continue;
        end_passage(s, (att_stretch){ first, t + 1 });
        first = t + 1;
        while (first < search->held.end &&
               search->text.text.data[search->text.end[first - 1] - 1] != '\n')
            first++;
    }
}

/* ---- reading them */

typedef struct showing {
    const att_search *search;
    const sampling *sampling;
    double **values; /* [P][SAMPLE] */
} showing;

static void note(void *context, int64_t stretch, int64_t token, const float *units)
{
    const showing *show = context;
    const att_cells_row *row = &show->search->cells->rows[stretch];
    int64_t at = token - show->sampling->passage[stretch].first;
    if (row->found_count > 0)
        show->values[stretch][at] = (double)units[att_unit_index(show->search, &row->found[0])];
}

/* Where the property holds in its passage. */
static uint8_t *mark(const att_search *search, int p, const att_stretch *passage)
{
    att_scan scan;
    uint8_t *marked = att_arena_take(&search->cells->memory, SAMPLE, sizeof *marked);
    att_scan_start(&scan, search->text.text.data, search->text.text.length);
    for (int64_t t = 0; marked && t < passage->end; t++) {
        while (scan.at < search->text.end[t] && att_scan_next(&scan) > 0)
            ;
        if (t >= passage->first)
            marked[t - passage->first] = att_properties[p].value(&scan) != 0;
    }
    return marked;
}

static att_status keep_sample(const att_search *search, int p, const att_stretch *passage,
                              const double *values, att_error *err)
{
    att_cells_row *row = &search->cells->rows[p];
    int64_t count = passage->end - passage->first;
    att_arena *memory = &search->cells->memory;
    const char **tokens = att_spelt_strings(&search->text, passage->first, count, memory);
    const uint8_t *marked = row->yes_no ? mark(search, p, passage) : NULL;
    if (!tokens || (row->yes_no && !marked))
        return att_fail_memory(err);
    row->sample = (att_coloured){
        .count = count, .tokens = tokens, .values = values, .marked = marked, .most = 1
    };
    return ATT_OK;
}

static att_status show_passages(const att_search *search, const sampling *s, double **values,
                                att_error *err)
{
    showing show = { search, s, values };
    const att_states_how how = { .signal = search->cells->facts.signal,
                                 .stretch = s->passage,
                                 .count = att_property_count,
                                 .warm = WARM,
                                 .visit = note,
                                 .context = &show };
    ATT_TRY(att_states_read(search->model, &search->tower, &search->text, &how, err));
    for (int p = 0; p < att_property_count; p++)
        if (search->cells->rows[p].found_count > 0)
            ATT_TRY(keep_sample(search, p, &s->passage[p], values[p], err));
    return ATT_OK;
}

att_status att_cells_take_samples(att_search *search, att_error *err)
{
    size_t count = (size_t)att_property_count;
    att_arena scratch = { 0 };
    sampling s = { .search = search,
                   .passage = att_arena_take(&scratch, count, sizeof *s.passage),
                   .most = att_arena_take(&scratch, count, sizeof *s.most),
                   .changes = att_arena_take(&scratch, count, sizeof *s.changes) };
    double **values = att_arena_take(&scratch, count, sizeof *values);
    bool ok = s.passage && s.most && s.changes && values;
    for (size_t p = 0; ok && p < count; p++) {
        values[p] = att_arena_take(&search->cells->memory, SAMPLE, sizeof **values);
        ok = values[p] != NULL;
    }
    att_status status = ok ? ATT_OK : att_fail_memory(err);
    if (ok) {
        find_passages(&s);
        status = show_passages(search, &s, values, err);
    }
    att_arena_free(&scratch);
    return status;
}
