/* The search for units that keep track of something; see cells.h. Units are chosen on the first
 * part of the text and measured on the rest, which had no say in the choice: among a thousand units
 * some go along with anything by chance. */
#include "inspect/cells.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_TOKENS = 1000000,
    LEAST_TOKENS = 1000, /* of a text to be searched */
    BEST = 3,
    MOST_ROWS = 16,
    ROW_TOKENS = 2048,  /* at least, of a stretch that is read beside others */
    TOLD_TOKENS = 1024, /* from one word of how far it is to the next */
    WARM = 256,
    MOST_BYTES = 1 << 30,
};

static const double usual_held_out = 0.25;

/* ---- properties of a stretch */

void att_scan_token(att_scan *scan, const att_spelt *text, int64_t token, double *properties)
{
    while (scan->at < text->end[token] && att_scan_next(scan) > 0)
        ;
    for (int p = 0; p < att_property_count; p++)
        properties[p] = att_properties[p].value(scan);
}

/* ---- comparing on a part of the text */

/* What is counted for one unit found, on the text held out. */
typedef struct comparison {
    att_search *search;
    att_correlation sums;
    att_scan *scans;             /* [rows] each at its stretch's next token */
    double *properties;          /* [P] */
    att_separation *separations; /* [P, best], or NULL: while searching */
} comparison;

static void separate(comparison *c, const float *units)
{
    const att_search *search = c->search;
    for (int p = 0; p < att_property_count; p++) {
        const att_cells_row *row = &search->cells->rows[p];
        for (int64_t k = 0; row->yes_no && k < row->found_count; k++)
            att_separation_add(&c->separations[p * search->best + k],
                               (double)units[att_unit_index(search, &row->found[k])],
                               c->properties[p] != 0);
    }
}

static void tell(att_search *search)
{
    if (search->how->told && ++search->read % TOLD_TOKENS == 0)
        search->how->told(search->how->context, search->read, search->held.end);
}

static void compare(void *context, int64_t stretch, int64_t token, const float *units)
{
    comparison *c = context;
    tell(c->search);
    att_scan_token(&c->scans[stretch], &c->search->text, token, c->properties);
    att_correlation_add(&c->sums, units, c->properties);
    if (c->separations)
        separate(c, units);
}

/* The part in stretches of one length, and a scan at the beginning of each. */
static int64_t divide(const att_search *search, const att_stretch *part, att_stretch *stretches,
                      att_scan *scans)
{
    int64_t count = part->end - part->first, rows = count / ROW_TOKENS;
    rows = rows < 1 ? 1 : rows < MOST_ROWS ? rows : MOST_ROWS;
    att_scan scan;
    att_scan_start(&scan, search->text.text.data, search->text.text.length);
    for (int64_t r = 0; r < rows; r++) {
        stretches[r].first = part->first + count * r / rows;
        stretches[r].end = part->first + count * (r + 1) / rows;
        while (scan.at < att_spelt_start(&search->text, stretches[r].first) &&
               att_scan_next(&scan) > 0)
            ;
        scans[r] = scan;
    }
    return rows;
}

static att_status compare_part(comparison *c, att_search *search, const att_stretch *part,
                               att_error *err)
{
    att_stretch stretches[MOST_ROWS];
    att_scan scans[MOST_ROWS];
    double properties[64];
    c->search = search;
    c->scans = scans;
    c->properties = properties;
    ATT_TRY(att_correlation_new(&c->sums, search->tower.layers * search->tower.width,
                                att_property_count, err));
    const att_states_how how = { .signal = search->cells->facts.signal,
                                 .stretch = stretches,
                                 .count = divide(search, part, stretches, scans),
                                 .warm = WARM,
                                 .visit = compare,
                                 .context = c };
    return att_states_read(search->model, &search->tower, &search->text, &how, err);
}

/* ---- choosing */

/* Puts a unit in its place among the best, the strongest first; of equals the first stays. */
static void insert(att_cell_found *best, int64_t *count, int64_t most, att_cell_found found)
{
    int64_t at = *count;
    while (at > 0 && fabs(best[at - 1].searched) < fabs(found.searched))
        at--;
    if (at >= most)
        return;
    int64_t kept = *count < most ? *count : most - 1;
    memmove(best + at + 1, best + at, (size_t)(kept - at) * sizeof *best);
    best[at] = found;
    *count = kept + 1;
}

static att_status choose(att_search *search, const att_correlation *sums, att_error *err)
{
    int64_t width = search->tower.width;
    for (int p = 0; p < att_property_count; p++) {
        att_cells_row *row = &search->cells->rows[p];
        att_cell_found *best =
            att_arena_take(&search->cells->memory, (size_t)search->best, sizeof *best);
        if (!best)
            return att_fail_memory(err);
        for (int64_t u = 0; u < sums->units; u++) {
            double r = att_correlation_get(sums, p, u);
            if (!isnan(r))
                insert(best, &row->found_count, search->best,
                       (att_cell_found){ .unit = { u / width + 1, u % width + 1 }, .searched = r });
        }
        row->found = best;
        row->mean = att_correlation_mean(sums, p);
    }
    return ATT_OK;
}

/* ---- measuring */

static void measure(att_search *search, const comparison *c)
{
    for (int p = 0; p < att_property_count; p++) {
        att_cells_row *row = &search->cells->rows[p];
        att_cell_found *found = (att_cell_found *)row->found; /* our own, still being made */
        for (int64_t k = 0; k < row->found_count; k++) {
            found[k].held_out = att_correlation_get(&c->sums, p, att_unit_index(search, &found[k]));
            double area = att_separation_get(&c->separations[p * search->best + k]);
            found[k].separates = !row->yes_no ? NAN : found[k].searched < 0 ? 1 - area : area;
        }
    }
}

static att_status search_first_part(att_search *search, att_error *err)
{
    comparison c = { 0 };
    att_status status = compare_part(&c, search, &search->searched, err);
    if (status == ATT_OK)
        status = choose(search, &c.sums, err);
    att_correlation_free(&c.sums);
    return status;
}

static att_status measure_the_rest(att_search *search, att_error *err)
{
    comparison c = { .separations = att_alloc_zero((size_t)(att_property_count * search->best),
                                                   sizeof(att_separation)) };
    att_status status =
        c.separations ? compare_part(&c, search, &search->held, err) : att_fail_memory(err);
    if (status == ATT_OK)
        measure(search, &c);
    att_correlation_free(&c.sums);
    att_free(c.separations);
    return status;
}

/* ---- the whole */

static att_status divide_text(att_search *search, const att_cells_how *how, att_error *err)
{
    int64_t count = (int64_t)search->text.ids.count;
    int64_t most = how->most > 0 ? how->most : MOST_TOKENS;
    double part = how->held_out > 0 ? how->held_out : usual_held_out;
    if (!(part < 1))
        return att_fail(err, ATT_BAD_INPUT, NULL, "nothing would be left to search");
    count = count < most ? count : most;
    if (count < LEAST_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "%lld tokens are too few to tell chance from habit; at least %d",
                        (long long)count, LEAST_TOKENS);
    int64_t middle = count - (int64_t)ceil((double)count * part);
    search->searched = (att_stretch){ 0, middle > 0 ? middle : 1 };
    search->held = (att_stretch){ search->searched.end, count };
    return ATT_OK;
}

static att_status prepare(att_search *search, const att_cells_how *how, att_error *err)
{
    att_cells *cells = search->cells;
    ATT_TRY(divide_text(search, how, err));
    cells->rows = att_arena_take(&cells->memory, (size_t)att_property_count, sizeof *cells->rows);
    if (!cells->rows)
        return att_fail_memory(err);
    for (int p = 0; p < att_property_count; p++)
        cells->rows[p] = (att_cells_row){ .property = att_properties[p].name,
                                          .says = att_properties[p].says,
                                          .yes_no = att_properties[p].yes_no };
    cells->facts = (att_cells_facts){ .layers = search->tower.layers,
                                      .width = search->tower.width,
                                      .signal = how->signal,
                                      .searched = search->searched.end,
                                      .held_out = search->held.end - search->held.first };
    return att_states_signal(&cells->facts.signal, &search->tower, err);
}

/* What is wrong with the text is told of its file. */
static att_status of_file(att_status status, const char *path, att_error *err)
{
    if (status == ATT_BAD_INPUT && err && err->place[0] == '\0')
        snprintf(err->place, sizeof err->place, "%s", att_stream_name(path));
    return status;
}

static att_status run_search(att_search *search, const char *path, const att_cells_how *how,
                             att_error *err)
{
    att_text file = { 0 };
    att_status status = att_file_read_stream(&file, path, MOST_BYTES, err);
    if (status == ATT_OK)
        status = att_spell(&search->text, search->tower.words, file.data, file.length, err);
    att_text_free(&file);
    ATT_TRY(of_file(status, path, err));
    ATT_TRY(prepare(search, how, err));
    ATT_TRY(search_first_part(search, err));
    ATT_TRY(measure_the_rest(search, err));
    return att_cells_take_samples(search, err);
}

att_status att_model_cells(att_cells **out, att_model *model, const char *path,
                           const att_cells_how *how, att_error *err)
{
    att_search search = { .model = model, .best = how->best > 0 ? how->best : BEST, .how = how };
    *out = NULL;
    ATT_TRY(att_model_tower(&search.tower, model, err));
    search.cells = att_alloc_zero(1, sizeof *search.cells);
    att_status status = search.cells ? run_search(&search, path, how, err) : att_fail_memory(err);
    att_spelt_free(&search.text);
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

att_cells_facts att_cells_about(const att_cells *cells)
{
    return cells->facts;
}

size_t att_cells_count(const att_cells *cells)
{
    (void)cells;
    return (size_t)att_property_count;
}

const att_cells_row *att_cells_get(const att_cells *cells, size_t index)
{
    return index < (size_t)att_property_count ? &cells->rows[index] : NULL;
}
