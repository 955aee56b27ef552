/* A trace as text for a terminal or a file: headings, wrapped prose, each assignment with its
 * formula and value, the parts of an attention call with their calculations, checks, maps. */
#include "base/minmax.h"
#include "render/ask.h"
#include "render/formula.h"
#include "render/matrix.h"
#include "render/diagram_page.h"
#include "render/page.h"
#include "render/prose.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <string.h>

enum {
    VALUE_INDENT = 4,
    PART_INDENT = 4,
    PART_VALUE_INDENT = 8,
    MAP_INDENT = 2,
    SHAPE_FROM = 5, /* matrices with a side this long state their shape */
};

static const att_notation *notation(const att_page *page)
{
    return page->options->ascii ? &att_notation_ascii : &att_notation_unicode;
}

static att_terminal terminal_of(att_page *page)
{
    return att_terminal_for(page->out, page->options);
}

static void put_blank(att_page *page)
{
    att_put(page->out, "\n");
}

/* A line that is written to a buffer first, so that it can be measured and wrapped. */
struct line {
    att_string text;
    att_writer out;
};

static void line_open(struct line *line)
{
    *line = (struct line){ 0 };
    line->out = att_writer_on(&line->text);
}

/* The text in the arena, so that a later failure leaks nothing; NULL when memory is out. */
static const char *line_close(struct line *line, att_page *page)
{
    const char *kept = NULL;
    if (line->out.status == ATT_OK)
        kept = att_arena_strndup(page->scratch, line->text.data ? line->text.data : "",
                                 line->text.length);
    att_string_free(&line->text);
    if (!kept)
        page->out->status = ATT_NO_MEMORY;
    return kept;
}

static void text_begin(att_page *page)
{
    (void)page;
}

static void text_begin_sheet(att_page *page)
{
    att_terminal terminal = terminal_of(page);
    if (page->sheet_number > 1)
        put_blank(page);
    if (page->sheet_count > 1) {
        const char *rule = page->options->ascii ? "-" : "─";
        att_terminal_style(&terminal, ATT_STYLE_DIM);
        att_put_repeat(page->out, rule, 2);
        att_put(page->out, " ");
        att_put_plain(page->out, page->sheet->name);
        att_put(page->out, " ");
        att_put_repeat(page->out, rule, terminal.width - att_display_width(page->sheet->name) - 4);
        att_terminal_style(&terminal, ATT_STYLE_NONE);
        att_put(page->out, "\n");
    }
}

static void text_heading(att_page *page, const att_trace_step *step)
{
    static const char *const rules[2][3] = { { "═", "─", "" }, { "=", "-", "" } };
    att_terminal terminal = terminal_of(page);
    int level = (int)att_clamp_i64(step->level, 1, 3);
    if (page->shown > 0 || page->sheet_count > 1)
        put_blank(page);
    att_terminal_style(&terminal, ATT_STYLE_BOLD);
    att_put_plain(page->out, step->text);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_blank(page);
    const char *rule = rules[page->options->ascii][level - 1];
    if (!*rule)
        return;
    int width = att_display_width(step->text);
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put_repeat(page->out, rule, width < terminal.width ? width : terminal.width);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_blank(page);
}

static void text_prose(att_page *page, const att_trace_step *step)
{
    att_terminal terminal = terminal_of(page);
    if (page->shown > 0)
        put_blank(page);
    att_prose_put_text(&terminal, step->text);
}

static void put_shape(att_page *page, const att_matrix *value)
{
    att_putf(page->out, "%" PRId64 " %s %" PRId64, value->rows, page->options->ascii ? "x" : "×",
             value->cols);
}

/* The matrix below its formula; a message if it is empty or lacks the selected row. */
static void put_matrix(att_page *page, const att_matrix *value, int indent)
{
    att_terminal terminal = terminal_of(page);
    att_view view = att_matrix_text_view(&terminal, value, page->options, indent);
    bool empty = value->rows == 0 || value->cols == 0;
    if (empty || att_axis_shown(&view.rows) == 0) {
        att_put_repeat(page->out, " ", indent);
        att_terminal_style(&terminal, ATT_STYLE_DIM);
        put_shape(page, value);
        if (empty)
            att_put(page->out, ": empty");
        else
            att_putf(page->out, ": no row %" PRId64, page->options->row);
        att_terminal_style(&terminal, ATT_STYLE_NONE);
        put_blank(page);
        return;
    }
    att_matrix_put_text(&terminal, &view, indent);
}

static bool is_scalar(const att_matrix *value)
{
    return value->rows == 1 && value->cols == 1;
}

/* Whether the value fits behind the equals sign: a number, or a short row without labels. */
static bool fits_inline(const att_terminal *terminal, const att_matrix *value,
                        const att_render_options *options, int column)
{
    if (is_scalar(value))
        return true;
    if (value->rows != 1 || value->col_labels || (value->row_labels && value->row_labels[0]))
        return false;
    att_view view = att_matrix_text_view(terminal, value, options, column);
    return view.cols.tail == 0 && column + att_matrix_line_width(&view) <= terminal->width;
}

static void put_inline(att_page *page, const att_matrix *value)
{
    att_terminal terminal = terminal_of(page);
    if (is_scalar(value)) {
        if (value->allowed && !value->allowed[0])
            att_put(page->out, "masked");
        else
            att_put_formula_matrix(page->out, value, notation(page), page->options->digits);
        return;
    }
    att_view view = att_matrix_text_view(&terminal, value, page->options, 0);
    att_matrix_put_line(&terminal, &view);
}

/* Behind a formula: the shape of a large matrix, and the legend of the mask. */
static void put_shape_note(att_page *page, const att_matrix *value)
{
    att_terminal terminal = terminal_of(page);
    bool large = value->rows >= SHAPE_FROM || value->cols >= SHAPE_FROM;
    bool masked = att_matrix_has_masked(value);
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put(page->out, large || masked ? "   " : "");
    if (large)
        put_shape(page, value);
    att_put(page->out, large && masked ? ", " : "");
    if (masked)
        att_put(page->out, page->options->ascii ? ". is masked" : "· is masked");
    att_terminal_style(&terminal, ATT_STYLE_NONE);
}

/* The formula as text in the arena; "" for a literal, which the value repeats. */
static const char *formula_text(att_page *page, const att_expr *formula)
{
    if (!formula || att_expr_is_literal(formula))
        return "";
    struct line line;
    line_open(&line);
    att_put_formula(&line.out, formula, notation(page), page->options->digits);
    return line_close(&line, page);
}

static void put_name(const att_terminal *terminal, const char *name, bool more)
{
    if (!name)
        return;
    att_terminal_style(terminal, ATT_STYLE_NAME);
    att_put_plain(terminal->out, name);
    att_terminal_style(terminal, ATT_STYLE_NONE);
    att_put(terminal->out, more ? " = " : " =");
}

/* formula = number, over several lines. */
static void put_long_number(att_page *page, const char *formula, const att_matrix *value,
                            int column, int indent)
{
    att_terminal terminal = terminal_of(page);
    struct line line;
    line_open(&line);
    att_put(&line.out, formula);
    att_put(&line.out, " = ");
    if (value->allowed && !value->allowed[0])
        att_put(&line.out, "masked");
    else
        att_put_formula_matrix(&line.out, value, notation(page), page->options->digits);
    const char *text = line_close(&line, page);
    if (text)
        att_terminal_wrapped(&terminal, text, column, indent + VALUE_INDENT);
}

/* name = formula, and the value behind or below it. Name and formula may be missing. */
static void put_equation(att_page *page, const char *name, const att_expr *formula,
                         const att_matrix *value, int indent)
{
    att_terminal terminal = terminal_of(page);
    const char *text = formula_text(page, formula);
    if (!text)
        return;
    bool literal = !*text;
    int column = indent + (name ? att_display_width(name) + 3 : 0);
    int end = column + att_display_width(text) + 3;
    bool behind = value && end < terminal.width && (literal || is_scalar(value)) &&
                  fits_inline(&terminal, value, page->options, end);
    att_put_repeat(page->out, " ", indent);
    put_name(&terminal, name, !literal);
    if (behind) {
        att_put(page->out, text);
        att_put(page->out, !literal ? " = " : name ? " " : "");
        put_inline(page, value);
        put_blank(page);
        return;
    }
    if (value && is_scalar(value) && !literal) {
        put_long_number(page, text, value, column, indent);
        return;
    }
    if (end < terminal.width) {
        att_put(page->out, text);
        if (value)
            put_shape_note(page, value);
        att_terminal_end_line(&terminal);
    } else {
        att_terminal_wrapped(&terminal, text, column, indent + VALUE_INDENT);
    }
    if (value)
        put_matrix(page, value, indent + VALUE_INDENT);
}

/* The second column: the value with each step rounded, if it is another one. */
static void put_rounded(att_page *page, const att_matrix *value, int indent)
{
    char words[ATT_ROUNDING_WORDS];
    att_terminal terminal = terminal_of(page);
    if (!value)
        return;
    att_put_repeat(page->out, " ", indent);
    att_put(page->out, page->options->ascii ? "  ~ " : "  ≈ ");
    int column = indent + VALUE_INDENT;
    bool line = fits_inline(&terminal, value, page->options, column + ATT_ROUNDING_WORDS);
    if (line) {
        put_inline(page, value);
        att_put(page->out, "   ");
    }
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put(page->out, att_page_rounding(page, words));
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_blank(page);
    if (!line)
        put_matrix(page, value, column);
}

static void text_calculation(att_page *page, const att_calculation *calculation)
{
    struct line line;
    line_open(&line);
    att_put_calculation(&line.out, calculation, notation(page), page->options->digits, " = ", " = ",
                        page->options->ascii ? " ~ " : " ≈ ");
    const char *text = line_close(&line, page);
    if (!text)
        return;
    att_terminal terminal = terminal_of(page);
    int indent = page->in_part ? PART_VALUE_INDENT : VALUE_INDENT;
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put_repeat(page->out, " ", indent);
    att_terminal_wrapped(&terminal, text, indent, indent + 4);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
}

static void text_head(att_page *page, int64_t number)
{
    att_terminal terminal = terminal_of(page);
    att_terminal_style(&terminal, ATT_STYLE_BOLD);
    att_putf(page->out, "\n  head %" PRId64 "\n", number);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
}

/* An input takes one line, if it fits: "q = s   the queries". */
static void put_input(att_page *page, const att_trace_part *part, bool first)
{
    att_terminal terminal = terminal_of(page);
    att_put(page->out, first ? "\n" : "");
    att_put_repeat(page->out, " ", PART_INDENT);
    put_name(&terminal, part->name, true);
    att_put_plain(page->out, part->formula->text);
    const char *description = part->description ? part->description : "";
    int column = PART_INDENT + att_display_width(part->name) + 3 +
                 att_display_width(part->formula->text) + 3;
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put(page->out, "   ");
    if (column + att_display_width(description) <= terminal.width) {
        att_put_plain(page->out, description);
        att_terminal_style(&terminal, ATT_STYLE_NONE);
        att_terminal_end_line(&terminal);
        return;
    }
    att_terminal_wrapped(&terminal, description, column, PART_VALUE_INDENT);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
}

static void text_part(att_page *page, const att_trace_part *part, const att_trace_part *before)
{
    att_terminal terminal = terminal_of(page);
    const att_matrix *value = att_part_value(part, page->options);
    if (!value) {
        put_input(page, part, !before || att_part_value(before, page->options));
        return;
    }
    put_blank(page);
    if (part->description) {
        att_put_repeat(page->out, " ", PART_INDENT);
        att_terminal_style(&terminal, ATT_STYLE_DIM);
        att_terminal_wrapped(&terminal, part->description, PART_INDENT, PART_INDENT);
        att_terminal_style(&terminal, ATT_STYLE_NONE);
    }
    put_equation(page, part->name, part->formula, value, PART_INDENT);
    put_rounded(page, part->rounded, PART_INDENT);
    att_put_calculations(page, part);
}

/* The comment behind a statement, below its result. */
static void put_comment(att_page *page, const att_trace_step *step, int indent)
{
    att_terminal terminal = terminal_of(page);
    if (!step->comment)
        return;
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put_repeat(page->out, " ", indent);
    att_terminal_wrapped(&terminal, step->comment, indent, indent);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
}

static void text_value(att_page *page, const att_trace_step *step)
{
    bool in_parts = att_value_is_part(page, step);
    put_blank(page);
    put_equation(page, step->name, step->formula, in_parts ? NULL : step->value, 0);
    put_rounded(page, in_parts ? NULL : step->rounded, 0);
    att_put_step_calculations(page, step);
    put_comment(page, step, VALUE_INDENT);
    att_put_parts(page, step);
}

static void text_gradient(att_page *page, const att_trace_step *step)
{
    att_terminal terminal = terminal_of(page);
    put_blank(page);
    att_terminal_wrapped(&terminal, step->text, 0, 0);
    put_comment(page, step, VALUE_INDENT);
    att_put_parts(page, step);
}

static const char *mark(const att_page *page, bool passed)
{
    if (page->options->ascii)
        return passed ? "ok" : "FAIL";
    return passed ? "✓" : "✗";
}

/* Consecutive checks have no blank line between them. */
static void open_check(att_page *page)
{
    const att_trace_step *before =
        page->step_number > 1 ? &page->sheet->steps[page->step_number - 2] : NULL;
    bool follows = before && (before->kind == ATT_STEP_CHECK || before->kind == ATT_STEP_ERROR);
    if (!follows || !att_step_is_shown(before, page->options))
        put_blank(page);
}

static void text_check(att_page *page, const att_trace_step *step)
{
    const att_check *check = step->check;
    att_terminal terminal = terminal_of(page);
    att_style style = check->passed ? ATT_STYLE_PASSED : ATT_STYLE_FAILED;
    struct line line;
    line_open(&line);
    att_put_check(&line.out, check, notation(page), page->options->digits);
    const char *claim = line_close(&line, page);
    if (!claim)
        return;
    const char *sign = mark(page, check->passed);
    int indent = 2 + att_display_width(sign) + 1;
    int end = indent + att_display_width(claim);
    open_check(page);
    att_put(page->out, "  ");
    att_terminal_style(&terminal, style);
    att_put(page->out, sign);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    att_put(page->out, " ");
    bool beside = check->passed && check->message &&
                  end + 3 + att_display_width(check->message) <= terminal.width;
    if (beside) {
        att_put_plain(page->out, claim);
        att_put(page->out, "   ");
    } else {
        att_terminal_wrapped(&terminal, claim, indent, indent + 2);
        att_put_repeat(page->out, " ", check->message ? indent : 0);
    }
    att_terminal_style(&terminal, check->passed ? ATT_STYLE_DIM : ATT_STYLE_FAILED);
    if (check->message)
        att_terminal_wrapped(&terminal, check->message, indent, indent);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_comment(page, step, indent);
}

static void text_error(att_page *page, const att_trace_step *step)
{
    att_terminal terminal = terminal_of(page);
    const char *sign = mark(page, true);
    int indent = 2 + att_display_width(sign) + 1;
    open_check(page);
    att_put(page->out, "  ");
    att_terminal_style(&terminal, ATT_STYLE_PASSED);
    att_put(page->out, sign);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    att_put(page->out, " ");
    if (step->formula)
        att_put_formula(page->out, step->formula, notation(page), page->options->digits);
    att_put(page->out, " fails as expected:\n");
    att_put_repeat(page->out, " ", indent);
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_terminal_wrapped(&terminal, step->text, indent, indent);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_comment(page, step, indent);
}

static void text_plot(att_page *page, const att_trace_step *step)
{
    att_map map;
    if (!att_page_map(page, step->map, INT64_MAX, INT64_MAX, &map))
        return;
    att_render_options options = *page->options;
    options.digits = (int)att_min_i64(options.digits, ATT_MAP_DIGITS);
    put_blank(page);
    att_map_put_text(page->out, &map, &options, MAP_INDENT, page->scratch);
    put_comment(page, step, MAP_INDENT);
}

static void text_diagram(att_page *page, const att_trace_step *step)
{
    put_blank(page);
    att_diagram_put_text(page, step, MAP_INDENT);
    put_comment(page, step, MAP_INDENT);
}

/* The blanks of an answer, behind or below its name. */
static void put_blanks(att_page *page, const att_ask *ask, int indent)
{
    bool scalar = is_scalar(ask->value);
    for (int64_t i = 0; i < ask->value->rows; i++) {
        if (ask->value->rows > 1) {
            put_blank(page);
            att_put_repeat(page->out, " ", indent + VALUE_INDENT);
        }
        att_blank_put_text(page->out, ask->value->cols, scalar);
    }
    put_blank(page);
}

static void text_ask(att_page *page, const att_trace_step *step)
{
    const att_ask *ask = step->ask;
    att_terminal terminal = terminal_of(page);
    const char *name = formula_text(page, ask->formula);
    put_blank(page);
    att_terminal_style(&terminal, ATT_STYLE_BOLD);
    att_putf(page->out, "(%zu) ", ask->number);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    att_terminal_wrapped(&terminal, ask->description, 4, 4);
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put(page->out, "    ");
    att_ask_put_terms(page->out, ask);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_blank(page);
    if (page->sheet->solution) {
        put_equation(page, name, NULL, ask->value, VALUE_INDENT);
    } else {
        att_put(page->out, "    ");
        att_put_plain(page->out, name ? name : "");
        att_put(page->out, att_ask_has_blanks(ask) ? " = " : ", ");
        if (att_ask_has_blanks(ask))
            put_blanks(page, ask, VALUE_INDENT);
        else
            att_ask_put_shape(page->out, ask, page->options->ascii ? "x" : "×");
        att_put(page->out, att_ask_has_blanks(ask) ? "" : "\n");
    }
    for (size_t i = 0; i < ATT_COUNT(ask->hints) && ask->hints[i]; i++) {
        att_put(page->out, "    Hint: ");
        att_terminal_wrapped(&terminal, ask->hints[i], 10, 10);
    }
    put_comment(page, step, VALUE_INDENT);
}

static void text_end_sheet(att_page *page)
{
    att_terminal terminal = terminal_of(page);
    if (page->sheet->checks == 0)
        return;
    put_blank(page);
    att_terminal_style(&terminal, page->sheet->failures ? ATT_STYLE_FAILED : ATT_STYLE_PASSED);
    att_put_summary(page);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    att_put(page->out, ".\n");
}

static void text_end(att_page *page)
{
    att_terminal terminal = terminal_of(page);
    if (page->out->text->length == page->out->start)
        return;
    if (page->sheet_count != 1 || page->sheets[0]->checks == 0)
        put_blank(page);
    att_terminal_style(&terminal, ATT_STYLE_DIM);
    att_put_rounding(page);
    att_terminal_style(&terminal, ATT_STYLE_NONE);
    put_blank(page);
}

const att_format_spec att_format_text = {
    .begin = text_begin,
    .begin_sheet = text_begin_sheet,
    .step = { [ATT_STEP_HEADING] = text_heading,
              [ATT_STEP_PROSE] = text_prose,
              [ATT_STEP_VALUE] = text_value,
              [ATT_STEP_CHECK] = text_check,
              [ATT_STEP_ERROR] = text_error,
              [ATT_STEP_PLOT] = text_plot,
              [ATT_STEP_ASK] = text_ask,
              [ATT_STEP_GRADIENT] = text_gradient,
              [ATT_STEP_DIAGRAM] = text_diagram },
    .head = text_head,
    .part = text_part,
    .calculation = text_calculation,
    .calculations = {}, /* PART_VALUE_INDENT */
    .end_sheet = text_end_sheet,
    .end = text_end,
};
