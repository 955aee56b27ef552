/* A document being rendered. A format is a row of functions, one per kind of step and one for each
 * end of the document and of a sheet; render.c walks the trace and calls them. */
#ifndef ATT_RENDER_PAGE_H
#define ATT_RENDER_PAGE_H

#include "render/formula.h"
#include "render/map.h"
#include "render/writer.h"
#include "sheet/trace.h"

enum { ATT_STEP_KINDS = ATT_STEP_PLOT + 1 };

typedef struct att_page {
    att_writer *out;
    const att_render_options *options; /* digits and width resolved */
    att_arena *scratch;                /* for the whole document */
    const att_sheet *const *sheets;
    size_t sheet_count;
    const att_sheet *sheet; /* the one being written, */
    size_t sheet_number;    /* from 1, */
    size_t step_number;     /* and its step, from 1 */
    size_t shown;           /* steps of it written so far */
} att_page;

typedef struct att_format_spec {
    void (*begin)(att_page *page);
    void (*begin_sheet)(att_page *page);
    void (*step[ATT_STEP_KINDS])(att_page *page, const att_select *step);
    void (*end_sheet)(att_page *page);
    void (*end)(att_page *page);
} att_format_spec;

extern const att_format_spec att_format_text;
extern const att_format_spec att_format_markdown;
extern const att_format_spec att_format_latex;
extern const att_format_spec att_format_html;
extern const att_format_spec att_format_json;

/* The sentence that states the rounding: "Shown to 4 decimals; computed in double precision." */
void att_put_rounding(att_page *page);

/* "3 checks passed", "1 of 3 checks failed"; nothing where the sheet has none. */
void att_put_summary(att_page *page);

/* A map as the options want it: one head, one query, at most so many cells. The result lives in
 * the page's scratch arena or is the step's own. False when memory is out. */
bool att_page_map(att_page *page, const att_map *map, int64_t most_queries, int64_t most_keys,
                  att_map *out);

/* What a check claims: a.weights = [0.26 0.33 0.41] within 0.005. */
void att_put_check(att_writer *out, const att_check *check, const att_notation *notation,
                   int digits);

/* Columns that the formula takes as plain text: how documents judge whether it is long. */
int att_formula_width(att_page *page, const att_expr *formula);

/* Whether the step's value is one of its parts, so that it need not be shown again. */
bool att_value_is_part(const att_select *step);

/* Sums written out of a part: how many are shown, and how many the options let through. */
enum { ATT_MAX_CALCULATIONS = 9 };
size_t att_calculations_selected(const att_slice *part, const att_render_options *options);

#endif
