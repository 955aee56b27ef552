/* A trace as GitHub-flavored Markdown: formulas and matrices in fenced math blocks, in which,
 * unlike in $$, Markdown escapes do not apply; maps as tables. */
#include "base/minmax.h"
#include "render/ask.h"
#include "render/formula.h"
#include "render/matrix.h"
#include "render/diagram_page.h"
#include "render/page.h"
#include "render/prose.h"
#include "render/tex_break.h"
#include "render/view.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* LINE_WIDTH: of a formula, in digits, that fits a page of GitHub. */
enum { MAX_ROWS = 20, MAX_COLS = 12, MAP_QUERIES = 24, MAP_KEYS = 16, LINE_WIDTH = 80 };

/* A user's text as one line of Markdown, with escapes. */
static void put_escaped(att_writer *out, const char *text)
{
    const char *start = text;
    bool at_start = true; /* where a character could start a list or a heading */
    for (uint32_t c; (c = att_next_char(&text)) != 0;) {
        bool special = c < 128 && strchr("\\`*_[]<>|~$#&{}", (int)c);
        bool bullet = at_start && (c == '-' || c == '+' || c == '=');
        bool ordinal = at_start && start != text - 1 && (c == '.' || c == ')');
        if (c == '<' || c == '>' || c == '&')
            att_put(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
        else if (c == '\n' || c == '\t')
            att_put(out, " ");
        else {
            att_put(out, special || bullet || ordinal ? "\\" : "");
            att_put_char(out, c);
        }
        at_start = at_start && (c < 128 && isdigit((int)c)); /* "1." starts a list */
    }
}

/* Code: the fence is longer than any run of backticks in it. */
static void put_code_span(att_writer *out, const char *code)
{
    size_t longest = 0, run = 0;
    for (const char *at = code; *at; at++) {
        run = *at == '`' ? run + 1 : 0;
        longest = att_max_size(run, longest);
    }
    att_put_repeat(out, "`", (int64_t)longest + 1);
    att_put(out, longest ? " " : "");
    att_put_plain(out, code);
    att_put(out, longest ? " " : "");
    att_put_repeat(out, "`", (int64_t)longest + 1);
}

static void put_code(att_page *page, const char *code)
{
    put_code_span(page->out, code);
}

static void put_cell_text(att_page *page, const char *text)
{
    att_put(page->out, " ");
    put_escaped(page->out, text ? text : "");
    att_put(page->out, " |");
}

static void put_table_rule(att_page *page, int64_t columns)
{
    att_put(page->out, "\n|:--|");
    att_put_repeat(page->out, "--:|", columns);
    att_put(page->out, "\n");
}

/* Fractions are drawn, unless one is wider than the page and can be broken. */
static const att_notation *choose_notation(att_page *page, const att_expr *formula)
{
    att_string text = { 0 };
    att_writer tex = att_writer_on(&text);
    att_put_formula(&tex, formula, &att_notation_mathjax, page->options->digits);
    bool wide = tex.status == ATT_OK && att_tex_widest_piece(text.data) > LINE_WIDTH;
    if (tex.status != ATT_OK)
        page->out->status = tex.status;
    att_string_free(&text);
    return wide ? &att_notation_mathjax_in_line : &att_notation_mathjax;
}

/* "name = formula" on several lines, if it is wide; the value is on a line of its own. */
static bool put_wide_formula(att_page *page, const char *name, const att_expr *formula,
                             const att_matrix *value)
{
    int64_t columns = value ? att_min_i64(value->cols, MAX_COLS) : 0;
    int64_t beside = columns * (page->options->digits + 4); /* digits of the value */
    const att_notation *notation = choose_notation(page, formula);
    att_string text = { 0 };
    att_writer tex = att_writer_on(&text);
    notation->name(&tex, name, notation);
    att_put(&tex, " &= ");
    att_put_formula(&tex, formula, notation, page->options->digits);
    bool wide = tex.status == ATT_OK && att_tex_width(text.data) + beside > LINE_WIDTH;
    if (wide) {
        att_put(page->out, "\\begin{aligned}\n");
        att_put_tex_broken(page->out, text.data, LINE_WIDTH);
    }
    if (tex.status != ATT_OK)
        page->out->status = tex.status;
    att_string_free(&text);
    return wide;
}

/* name = formula = value in a math block. */
static void put_equation(att_page *page, const char *name, const att_expr *formula,
                         const att_matrix *value, const att_matrix *rounded)
{
    const att_notation *notation = &att_notation_mathjax;
    bool has_formula = formula && !(value && att_expr_is_literal(formula));
    att_put(page->out, "\n```math\n");
    bool wide = name && has_formula && put_wide_formula(page, name, formula, value);
    if (!wide && name)
        notation->name(page->out, name, notation);
    if (!wide && name && (has_formula || value))
        att_put(page->out, " = ");
    if (!wide && has_formula)
        att_put_formula(page->out, formula, notation, page->options->digits);
    if (value) {
        att_view view = att_view_of(value, page->options, MAX_ROWS, MAX_COLS);
        att_put(page->out, wide ? " \\\\\n&= " : has_formula ? "\n= " : "");
        att_matrix_put_tex(page->out, &view, notation);
    }
    if (value && rounded) {
        char words[ATT_ROUNDING_WORDS];
        att_view view = att_view_of(rounded, page->options, MAX_ROWS, MAX_COLS);
        att_put(page->out, wide ? " \\\\\n&\\approx " : "\n\\approx ");
        att_matrix_put_tex(page->out, &view, notation);
        att_putf(page->out, "\\quad\\text{(%s)}", att_page_rounding(page, words));
    }
    att_put(page->out, wide ? "\n\\end{aligned}" : "");
    att_put(page->out, "\n```\n");
}

static void md_begin(att_page *page)
{
    (void)page;
}

static void md_begin_sheet(att_page *page)
{
    if (page->sheet_number > 1)
        att_put(page->out, "\n---\n\n");
    if (page->sheet_count > 1) {
        att_put(page->out, "**");
        put_escaped(page->out, page->sheet->name);
        att_put(page->out, "**\n\n");
    }
}

static void md_heading(att_page *page, const att_trace_step *step)
{
    att_put(page->out, page->shown > 0 ? "\n" : "");
    att_put_repeat(page->out, "#", att_clamp_i64(step->level, 1, 6));
    att_put(page->out, " ");
    put_escaped(page->out, step->text);
    att_put(page->out, "\n");
}

static void put_prose_text(att_writer *out, const char *text, size_t length)
{
    att_put_user_text(out, text, length, put_escaped);
}

static void put_prose_code(att_writer *out, const char *text, size_t length)
{
    att_put_user_text(out, text, length, put_code_span);
}

static void put_prose_link(att_writer *out, const char *url, size_t length, bool end)
{
    att_put(out, end ? "](<" : "[");
    if (!end)
        return;
    att_put_bytes(out, url, length); /* without blanks and brackets */
    att_put(out, ">)");
}

static const att_prose_markup prose = {
    .text = put_prose_text,
    .code = put_prose_code,
    .emphasis = { "*", "*" },
    .strong = { "**", "**" },
    .link = put_prose_link,
    .math = { "$`", "`$" },
    .math_style = ATT_MATH_MATHJAX,
    .paragraph = { "", "\n" },
    .list = { { "\n", "\n" }, { "\n", "\n" } },
    .item = { "- ", "\n" },
    .number = { "", ". " },
};

static void md_prose(att_page *page, const att_trace_step *step)
{
    att_put(page->out, page->shown > 0 ? "\n" : "");
    att_put_prose(page->out, step->text, &prose);
}

static void md_calculation(att_page *page, const att_calculation *calculation)
{
    att_string text = { 0 };
    att_writer tex = att_writer_on(&text);
    const att_notation *notation =
        calculation->right ? choose_notation(page, calculation->right) : &att_notation_mathjax;
    att_put_calculation(&tex, calculation, notation, page->options->digits, " &= ", " = ",
                        " \\approx ");
    if (tex.status == ATT_OK)
        att_put_tex_broken(page->out, text.data, LINE_WIDTH);
    else
        page->out->status = tex.status;
    att_string_free(&text);
}

static void md_head(att_page *page, int64_t number)
{
    att_putf(page->out, "\n#### Head %" PRId64 "\n", number);
}

static void md_part(att_page *page, const att_trace_part *part, const att_trace_part *before)
{
    (void)before;
    if (part->description) {
        att_put(page->out, "\n*");
        put_escaped(page->out, part->description);
        att_put(page->out, "*\n");
    }
    put_equation(page, part->name, part->formula, att_part_value(part, page->options),
                 part->rounded);
    att_put_calculations(page, part);
}

/* The comment behind a statement: a paragraph, indented if it belongs to a list item. */
static void put_comment(att_page *page, const att_trace_step *step, const char *indent)
{
    if (!step->comment)
        return;
    att_putf(page->out, "\n%s", indent);
    put_escaped(page->out, step->comment);
    att_put(page->out, "\n");
}

static void md_value(att_page *page, const att_trace_step *step)
{
    put_equation(page, step->name, step->formula,
                 att_value_is_part(page, step) ? NULL : step->value, step->rounded);
    att_put_step_calculations(page, step);
    put_comment(page, step, "");
    att_put_parts(page, step);
}

static void md_gradient(att_page *page, const att_trace_step *step)
{
    att_put(page->out, page->shown > 0 ? "\n" : "");
    put_escaped(page->out, step->text);
    att_put(page->out, "\n");
    put_comment(page, step, "");
    att_put_parts(page, step);
}

static void md_check(att_page *page, const att_trace_step *step)
{
    att_string text = { 0 };
    att_writer claim = att_writer_on(&text);
    att_put_check(&claim, step->check, &att_notation_unicode, page->options->digits);
    att_put(page->out, step->check->passed ? "\n- ✅ " : "\n- ❌ **failed:** ");
    if (claim.status == ATT_OK)
        put_code(page, text.data);
    else
        page->out->status = claim.status;
    att_string_free(&text);
    if (step->check->message) {
        att_put(page->out, ": ");
        put_escaped(page->out, step->check->message);
    }
    att_put(page->out, "\n");
    put_comment(page, step, "  ");
}

static void md_error(att_page *page, const att_trace_step *step)
{
    att_put(page->out, "\n- ✅ ");
    put_code(page, step->source ? step->source : "");
    att_put(page->out, " fails as expected: ");
    put_escaped(page->out, step->text);
    att_put(page->out, "\n");
    put_comment(page, step, "  ");
}

/* The largest value of a query's row is set in bold. */
static int64_t argmax_key(const att_map *map, int64_t panel, int64_t query)
{
    int64_t best = -1;
    for (int64_t j = 0; j < map->keys; j++)
        if (att_map_cell(map, panel, query, j) == ATT_MAP_CELL_VALUE &&
            (best < 0 ||
             att_map_value(map, panel, query, j) > att_map_value(map, panel, query, best)))
            best = j;
    return best;
}

static void put_map_row(att_page *page, const att_map *map, int64_t panel, int64_t query)
{
    char number[ATT_LABEL_SIZE], text[ATT_NUMBER_SIZE];
    int64_t best = map->keys > 1 ? argmax_key(map, panel, query) : -1;
    int digits = page->options->digits < 3 ? page->options->digits : 3;
    att_put(page->out, "|");
    put_cell_text(page, att_map_label(map->query_labels, query, number));
    for (int64_t j = 0; j < map->keys; j++) {
        if (att_map_cell(map, panel, query, j) == ATT_MAP_CELL_MASKED) {
            att_put(page->out, " masked |");
            continue;
        }
        double value = att_map_value(map, panel, query, j);
        att_number_print(text, value, (att_number_format){ .decimals = digits });
        att_putf(page->out, j == best ? " **%s** |" : " %s |", text);
    }
    att_put(page->out, "\n");
}

static void put_panel(att_page *page, const att_map *map, int64_t panel)
{
    char number[ATT_LABEL_SIZE];
    if (map->panel_labels && map->panel_labels[panel]) {
        att_put(page->out, "\n*");
        put_escaped(page->out, map->panel_labels[panel]);
        att_put(page->out, "*\n");
    } else if (map->panels > 1) {
        att_putf(page->out, "\n*head %" PRId64 "*\n", panel + 1);
    }
    att_put(page->out, "\n| ");
    put_escaped(page->out, att_map_query_name(map));
    att_put(page->out, " \\\\ ");
    put_escaped(page->out, att_map_key_name(map));
    att_put(page->out, " |");
    for (int64_t j = 0; j < map->keys; j++)
        put_cell_text(page, att_map_label(map->key_labels, j, number));
    put_table_rule(page, map->keys);
    for (int64_t i = 0; i < map->queries; i++)
        put_map_row(page, map, panel, i);
}

static void md_plot(att_page *page, const att_trace_step *step)
{
    att_map map;
    if (!att_page_map(page, step->map, MAP_QUERIES, MAP_KEYS, &map))
        return;
    att_put(page->out, "\n**");
    put_escaped(page->out, map.title ? map.title : map.query_name ? "Matrix" : "Attention map");
    att_put(page->out, "**\n");
    if (att_map_is_reduced(page, step, &map)) {
        att_put(page->out, "\n");
        att_map_put_reduction(page->out, step->map, &map, "×");
        att_put(page->out, "\n");
    }
    for (int64_t p = 0; p < map.panels && page->out->status == ATT_OK; p++)
        put_panel(page, &map, p);
    put_comment(page, step, "");
}

static void md_diagram(att_page *page, const att_trace_step *step)
{
    att_put(page->out, "\n**");
    put_escaped(page->out, att_diagram_title(page, step));
    att_put(page->out, "**\n\n");
    att_diagram_put_mermaid(page, step);
    put_comment(page, step, "");
}

static void md_ask(att_page *page, const att_trace_step *step)
{
    const att_ask *ask = step->ask;
    att_putf(page->out, "\n**(%zu)** ", ask->number);
    put_escaped(page->out, ask->description);
    att_put(page->out, " *\\[");
    att_ask_put_terms(page->out, ask);
    att_put(page->out, "\\]*\n\n```math\n");
    att_put_formula(page->out, ask->formula, &att_notation_mathjax, page->options->digits);
    if (page->sheet->solution) {
        att_view view = att_view_of(ask->value, page->options, MAX_ROWS, MAX_COLS);
        att_put(page->out, " = ");
        att_matrix_put_tex(page->out, &view, &att_notation_mathjax);
    } else if (att_ask_has_blanks(ask)) {
        att_put(page->out, " = ");
        att_blank_put_tex(page->out, ask->value, "\\,\\boxed{\\phantom{\\Big|00.000}}\\,");
    }
    att_put(page->out, "\n```\n");
    if (!page->sheet->solution && !att_ask_has_blanks(ask)) {
        att_put(page->out, "\n(");
        att_ask_put_shape(page->out, ask, "×");
        att_put(page->out, ")\n");
    }
    for (size_t i = 0; i < ATT_COUNT(ask->hints) && ask->hints[i]; i++) {
        att_put(page->out, "\n*Hint:* ");
        put_escaped(page->out, ask->hints[i]);
        att_put(page->out, "\n");
    }
    put_comment(page, step, "");
}

static void md_end_sheet(att_page *page)
{
    if (page->sheet->checks == 0)
        return;
    att_put(page->out, "\n**");
    att_put_summary(page);
    att_put(page->out, ".**\n");
}

static void md_end(att_page *page)
{
    if (page->out->text->length == page->out->start)
        return;
    att_put(page->out, "\n");
    att_put_rounding(page);
    att_put(page->out, "\n");
}

const att_format_spec att_format_markdown = {
    .begin = md_begin,
    .begin_sheet = md_begin_sheet,
    .step = { [ATT_STEP_HEADING] = md_heading,
              [ATT_STEP_PROSE] = md_prose,
              [ATT_STEP_VALUE] = md_value,
              [ATT_STEP_CHECK] = md_check,
              [ATT_STEP_ERROR] = md_error,
              [ATT_STEP_PLOT] = md_plot,
              [ATT_STEP_ASK] = md_ask,
              [ATT_STEP_GRADIENT] = md_gradient,
              [ATT_STEP_DIAGRAM] = md_diagram },
    .head = md_head,
    .part = md_part,
    .calculation = md_calculation,
    .calculations = { .begin = "\n<details><summary>Calculation</summary>\n\n"
                               "```math\n\\begin{aligned}\n",
                      .between = " \\\\\n",
                      .after_last = "\n\\end{aligned}\n```\n",
                      .end = "\n</details>\n",
                      .one_begin = "\n```math\n\\begin{aligned}\n",
                      .one_end = "" },
    .end_sheet = md_end_sheet,
    .end = md_end,
};
