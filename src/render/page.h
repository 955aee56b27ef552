/* A document during rendering. A format is a table of functions, one per kind of step and one for
 * the begin and end of the document and of a sheet; render.c walks the trace and calls them. */
#ifndef ATT_RENDER_PAGE_H
#define ATT_RENDER_PAGE_H

#include "render/formula.h"
#include "render/map.h"
#include "render/writer.h"
#include "sheet/rounding.h"
#include "sheet/trace.h"

enum { ATT_STEP_KINDS = ATT_STEP_DIAGRAM + 1 };

typedef struct att_page {
    att_writer *out;
    const att_render_options *options; /* digits and width resolved */
    att_arena *scratch;                /* for the whole document */
    const att_sheet *const *sheets;
    size_t sheet_count;
    const struct att_format_spec *format;
    const att_sheet *sheet; /* the current sheet, */
    size_t sheet_number;    /* its number, from 1, */
    size_t step_number;     /* and the current step, from 1 */
    size_t shown;           /* steps of the sheet written so far */
    bool in_part;           /* calculations belong to a part of the step, not to its value */
} att_page;

/* What a format writes around the calculations of a part. NULL: nothing. */
typedef struct att_calculation_markup {
    const char *begin;
    const char *between;    /* two calculations */
    const char *after_last; /* calculation */
    const char *end;
    const char *one_begin; /* instead of begin and end, if there is only one calculation */
    const char *one_end;
} att_calculation_markup;

/* The functions that write one format. All are required, but for `head` and `part`, which
 * att_put_parts() calls, and `calculation`, which att_put_calculations() calls: a format that uses
 * neither may leave them NULL. */
typedef struct att_format_spec {
    void (*begin)(att_page *page);
    void (*begin_sheet)(att_page *page);
    void (*step[ATT_STEP_KINDS])(att_page *page, const att_trace_step *step);
    void (*head)(att_page *page, int64_t number);
    /* `before` is the part of the same step that was shown before it, or NULL. */
    void (*part)(att_page *page, const att_trace_part *part, const att_trace_part *before);
    void (*calculation)(att_page *page, const att_calculation *calculation);
    att_calculation_markup calculations;
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

/* "3 checks passed", "1 of 3 checks failed"; nothing if the sheet has no checks. */
void att_put_summary(att_page *page);

/* The map as the options select it: one head, one query, at most max_queries × max_keys cells. The
 * result is in the page's scratch arena or is the step's map. False when memory is out. */
bool att_page_map(att_page *page, const att_map *map, int64_t max_queries, int64_t max_keys,
                  att_map *out);

/* Whether `map`, made by att_page_map() from the step's map, has fewer cells than it: the document
 * then states both sizes. */
bool att_map_is_reduced(const att_page *page, const att_trace_step *step, const att_map *map);

/* Writes the claim of a check: a.weights = [0.26 0.33 0.41] within 0.005. */
void att_put_check(att_writer *out, const att_check *check, const att_notation *notation,
                   int digits);

/* The width of the formula as plain text in columns, by which documents choose their layout. */
int att_formula_width(att_page *page, const att_expr *formula);

/* Writes the parts of a step that the options select, with a heading wherever a head begins. */
void att_put_parts(att_page *page, const att_trace_step *step);

/* How much of the current step's workings is shown: as the options, then the sheet, say. */
att_detail att_page_detail(const att_page *page);

/* Writes the calculations of a part, or of the value of a step: those that the options select, of
 * which the detail `one` leaves the longest. */
void att_put_calculations(att_page *page, const att_trace_part *part);
void att_put_step_calculations(att_page *page, const att_trace_step *step);

/* Writes left = right = value; `equals` stands for the first equals sign, `then` for the second,
 * `about` for it where the value was rounded. */
void att_put_calculation(att_writer *out, const att_calculation *calculation,
                         const att_notation *notation, int digits, const char *equals,
                         const char *then, const char *about);

/* "each step rounded to 1 decimal", of the current step. */
const char *att_page_rounding(const att_page *page, char out[ATT_ROUNDING_WORDS]);

/* Whether the step's value is one of its shown parts, so that it is not shown twice. */
bool att_value_is_part(const att_page *page, const att_trace_step *step);

#endif
