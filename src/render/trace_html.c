/* A trace as one self-contained HTML file. Formulas are MathML, matrices are tables, maps are
 * inline SVG, and each step has an anchor. */
#include "base/minmax.h"
#include "render/ask.h"
#include "render/formula.h"
#include "render/html_page.h"
#include "render/matrix.h"
#include "render/diagram_page.h"
#include "render/page.h"
#include "render/prose.h"
#include "render/view.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_ROWS = 24, MAX_COLS = 16, MAP_QUERIES = 100, MAP_KEYS = 100 };

static const char style[] =
    "article+article{margin-top:4rem;border-top:2px solid var(--line)}\n"
    ".file,.note,.description,.message{color:var(--soft)}\n"
    ".file{font-family:ui-monospace,monospace;font-size:.85rem}\n"
    ".step{position:relative;margin:1rem 0}\n"
    ".line{position:absolute;left:-3.2rem;top:.35rem;width:2.4rem;text-align:right;"
    "color:var(--soft);font-size:.75rem;text-decoration:none;opacity:.55}\n"
    ".line:hover{opacity:1}\n@media (max-width:64rem){.line{display:none}}\n"
    ".eq{overflow-x:auto;overflow-y:hidden;padding:.35rem 0;display:flex;flex-wrap:wrap;"
    "align-items:center;gap:.1rem .5rem}\nmath{font-size:1.08rem}\n"
    "mtd{padding:.15em .35em}\ndetails .eq{gap:.1rem .25rem;align-items:baseline}\n"
    ".part{margin:.9rem 0 .9rem 1.4rem;padding-left:1rem;border-left:3px solid var(--line)}\n"
    ".description{margin:0 0 .1rem;font-style:italic}\n.note{margin:.1rem 0 .1rem 1.4rem}\n"
    ".head{margin:1.2rem 0 0 1.4rem;font-weight:600}\n"
    "details{margin:.3rem 0 0}\nsummary{color:var(--soft);cursor:pointer;font-size:.85rem}\n"
    "details math,.working math{font-size:.95rem}\n"
    ".working .eq{gap:.1rem .25rem;align-items:baseline;padding:0}\n"
    "table.matrix{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3rem 0}\n"
    ".matrix td,.matrix th{padding:.12rem .6rem;text-align:right;white-space:nowrap}\n"
    ".matrix td{font-family:var(--math);font-size:1.06rem}\n"
    ".matrix thead td{padding:0}\n.matrix th{font-weight:500;color:var(--soft)}\n.matrix tbody "
    "th{text-align:left}\n"
    ".matrix .open,.matrix .close{border:2px solid var(--ink);width:.25rem;padding:0}\n"
    ".matrix .open{border-right:0}\n.matrix .close{border-left:0}\n"
    ".masked{color:var(--soft);background:repeating-linear-gradient(45deg,transparent 0 4px,"
    "var(--line) 4px 6px)}\n"
    ".check{margin:.5rem 0;padding:.35rem .75rem;border-left:4px solid var(--pass);"
    "background:var(--card);border-radius:0 6px 6px 0;overflow-x:auto;overflow-y:hidden}\n"
    ".check .mark{color:var(--pass);font-weight:700;margin-right:.5rem}\n"
    ".check.failed{border-color:var(--fail);background:var(--failbg)}\n"
    ".check.failed .mark,.check.failed .message{color:var(--fail)}\n"
    ".message{display:block;font-size:.88rem}\n"
    ".banner{padding:.6rem 1rem;border:2px solid var(--fail);border-radius:6px;"
    "background:var(--failbg);color:var(--fail);font-weight:600}\n.banner a{color:inherit}\n"
    ".sum{font-weight:600;color:var(--pass)}\n.sum.failed{color:var(--fail)}\n"
    "@media print{.line{display:none}.eq,.part,.ask,.check{break-inside:avoid}"
    ".description,.head{break-after:avoid}}\n";

/* Of exercises. */
static const char ask_style[] =
    ".ask{border:1px solid var(--line);border-radius:6px;padding:.4rem 1rem .6rem}\n"
    ".question{margin:.2rem 0}\n.terms{color:var(--soft);font-size:.88rem}\n"
    ".matrix td.blank{border:1px solid var(--soft);min-width:4.2rem;height:1.7rem}\n";

static bool asks(const att_page *page)
{
    for (size_t i = 0; i < page->sheet_count; i++)
        if (page->sheets[i]->ask_count > 0)
            return true;
    return false;
}

/* The first heading of the only sheet, or its name. */
static const char *title_of(const att_page *page)
{
    for (size_t i = 0; page->sheet_count == 1 && i < page->sheets[0]->step_count; i++)
        if (page->sheets[0]->steps[i].kind == ATT_STEP_HEADING)
            return page->sheets[0]->steps[i].text;
    return page->sheet_count == 1 ? page->sheets[0]->name : "Worksheets";
}

static void html_begin(att_page *page)
{
    att_put_html_head(page->out, title_of(page), style);
    att_put(page->out, asks(page) ? ask_style : "");
    att_put_html_body(page->out);
}

static void put_anchor(att_page *page, size_t step)
{
    att_putf(page->out, "s%zu-%zu", page->sheet_number, step);
}

/* The banner at the top: failed checks with links. */
static void put_banner(att_page *page)
{
    att_put(page->out, "<p class=\"banner\">");
    att_put_summary(page);
    att_put(page->out, ": line ");
    const char *comma = "";
    for (size_t i = 0; i < page->sheet->step_count; i++) {
        const att_trace_step *step = &page->sheet->steps[i];
        if (step->kind != ATT_STEP_CHECK || step->check->passed)
            continue;
        att_putf(page->out, "%s<a href=\"#", comma);
        put_anchor(page, i + 1);
        att_putf(page->out, "\">%d</a>", step->line);
        comma = ", ";
    }
    att_put(page->out, "</p>\n");
}

static void html_begin_sheet(att_page *page)
{
    att_put(page->out, "<article>\n<p class=\"file\">");
    att_put_xml(page->out, page->sheet->name);
    att_put(page->out, "</p>\n");
    if (page->sheet->failures > 0)
        put_banner(page);
}

/* The anchor of a step, with its line in the sheet as the link, for readers of the sheet. */
static void open_step(att_page *page, const att_trace_step *step, const char *class)
{
    att_putf(page->out, "<section class=\"%s\" id=\"", class);
    put_anchor(page, page->step_number);
    if (page->sheet->paper) {
        att_put(page->out, "\">\n");
        return;
    }
    att_put(page->out, "\"><a class=\"line\" href=\"#");
    put_anchor(page, page->step_number);
    att_putf(page->out, "\" title=\"line %d of the sheet\">%d</a>\n", step->line, step->line);
}

static void html_heading(att_page *page, const att_trace_step *step)
{
    int level = (int)att_clamp_i64(step->level, 1, 3);
    att_putf(page->out, "<h%d id=\"", level);
    put_anchor(page, page->step_number);
    att_put(page->out, "\">");
    att_put_xml(page->out, step->text);
    att_putf(page->out, "</h%d>\n", level);
}

static void put_prose_text(att_writer *out, const char *text, size_t length)
{
    att_put_user_text(out, text, length, att_put_xml);
}

static void put_prose_code(att_writer *out, const char *text, size_t length)
{
    att_put(out, "<code>");
    put_prose_text(out, text, length);
    att_put(out, "</code>");
}

static void put_prose_link(att_writer *out, const char *url, size_t length, bool end)
{
    att_put(out, end ? "</a>" : "<a href=\"");
    if (end)
        return;
    put_prose_text(out, url, length);
    att_put(out, "\">");
}

static const att_prose_markup prose = {
    .text = put_prose_text,
    .code = put_prose_code,
    .emphasis = { "<em>", "</em>" },
    .strong = { "<strong>", "</strong>" },
    .link = put_prose_link,
    .math = { "<math><mrow>", "</mrow></math>" },
    .math_style = ATT_MATH_MATHML,
    .paragraph = { "<p>", "</p>\n" },
    .list = { { "<ul>\n", "</ul>\n" }, { "<ol>\n", "</ol>\n" } },
    .item = { "<li>", "</li>\n" },
    .number = { "<li value=\"", "\">" },
};

static void html_prose(att_page *page, const att_trace_step *step)
{
    att_put_prose(page->out, step->text, &prose);
}

static void open_equation(att_page *page)
{
    att_put(page->out, "<div class=\"eq\"><math displaystyle=\"true\"><mrow>");
}

static void put_equals(att_page *page)
{
    att_put(page->out, "<mo>=</mo>");
}

/* A scalar is part of the formula, a matrix a table beside it. */
static void put_value(att_page *page, const att_matrix *value, const char *relation)
{
    bool scalar = value->rows == 1 && value->cols == 1;
    if (relation)
        att_putf(page->out, "<mo>%s</mo>", relation);
    if (scalar && (!value->allowed || value->allowed[0]))
        att_put_formula_matrix(page->out, value, &att_notation_mathml, page->options->digits);
    else if (scalar)
        att_put(page->out, "<mtext>masked</mtext>");
    att_put(page->out, "</mrow></math>\n");
    if (scalar)
        return;
    att_view view = att_view_of(value, page->options, MAX_ROWS, MAX_COLS);
    att_matrix_put_html(page->out, &view);
}

/* name = formula = value; wraps before the value if it does not fit a line. */
static void put_equation(att_page *page, const char *name, const att_expr *formula,
                         const att_matrix *value, const att_matrix *rounded)
{
    const att_notation *notation = &att_notation_mathml;
    bool has_formula = formula && !(value && att_expr_is_literal(formula));
    open_equation(page);
    if (name)
        notation->name(page->out, name, notation);
    if (name && has_formula)
        put_equals(page);
    if (has_formula)
        att_put_formula(page->out, formula, notation, page->options->digits);
    if (value)
        put_value(page, value, name || has_formula ? "=" : NULL);
    else
        att_put(page->out, "</mrow></math>\n");
    if (value && rounded) {
        char words[ATT_ROUNDING_WORDS];
        att_put(page->out, "<math displaystyle=\"true\"><mrow>");
        put_value(page, rounded, "≈");
        att_putf(page->out, "<span class=\"note\">%s</span>\n", att_page_rounding(page, words));
    }
    att_put(page->out, "</div>\n");
}

/* A separate formula for each term of a sum and for each side of an equals sign: a browser breaks
 * lines only between formulas. */
#define NEXT_FORMULA "</mrow></math><math displaystyle=\"true\"><mrow>"

static void put_sum(att_page *page, const att_expr *e)
{
    if (e->kind != ATT_EXPR_BINARY || e->op != ATT_OP_ADD) {
        att_put_formula(page->out, e, &att_notation_mathml, page->options->digits);
        return;
    }
    put_sum(page, e->child[0]);
    att_put(page->out, NEXT_FORMULA "<mo form=\"infix\" lspace=\"0\" rspace=\"0.25em\">+</mo>");
    att_put_formula_term(page->out, e->child[1], &att_notation_mathml, page->options->digits);
}

static void html_calculation(att_page *page, const att_calculation *calculation)
{
    const att_notation *notation = &att_notation_mathml;
    int digits = page->options->digits;
    open_equation(page);
    att_put_formula(page->out, calculation->left, notation, digits);
    put_equals(page);
    if (calculation->right) {
        put_sum(page, calculation->right);
        att_putf(page->out,
                 NEXT_FORMULA "<mo form=\"infix\" lspace=\"0\" rspace=\"0.28em\">%s</mo>",
                 calculation->rounded ? "≈" : "=");
    }
    att_put_formula_matrix(page->out, calculation->value, notation, digits);
    att_put(page->out, "</mrow></math></div>\n");
}

static void html_head(att_page *page, int64_t number)
{
    att_putf(page->out, "<p class=\"head\">Head %" PRId64 "</p>\n", number);
}

static void html_part(att_page *page, const att_trace_part *part, const att_trace_part *before)
{
    (void)before;
    att_put(page->out, "<div class=\"part\">\n");
    if (part->description) {
        att_put(page->out, "<p class=\"description\">");
        att_put_xml(page->out, part->description);
        att_put(page->out, "</p>\n");
    }
    put_equation(page, part->name, part->formula, att_part_value(part, page->options),
                 part->rounded);
    att_put_calculations(page, part);
    att_put(page->out, "</div>\n");
}

static void put_comment(att_page *page, const att_trace_step *step)
{
    if (!step->comment)
        return;
    att_put(page->out, "<p class=\"note\">");
    att_put_xml(page->out, step->comment);
    att_put(page->out, "</p>\n");
}

static void html_value(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "step");
    put_equation(page, step->name, step->formula,
                 att_value_is_part(page, step) ? NULL : step->value, step->rounded);
    att_put_step_calculations(page, step);
    put_comment(page, step);
    att_put_parts(page, step);
    att_put(page->out, "</section>\n");
}

static void html_gradient(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "step");
    att_put(page->out, "<p>");
    att_put_xml(page->out, step->text);
    att_put(page->out, "</p>\n");
    put_comment(page, step);
    att_put_parts(page, step);
    att_put(page->out, "</section>\n");
}

static void html_check(att_page *page, const att_trace_step *step)
{
    const att_check *check = step->check;
    open_step(page, step, "step");
    att_put(page->out, check->passed ? "<div class=\"check\"><span class=\"mark\">✓</span>"
                                     : "<div class=\"check failed\"><span class=\"mark\">✗ failed"
                                       "</span>");
    att_put(page->out, "<math><mrow>");
    att_put_check(page->out, check, &att_notation_mathml, page->options->digits);
    att_put(page->out, "</mrow></math>");
    if (check->message) {
        att_put(page->out, "<span class=\"message\">");
        att_put_xml(page->out, check->message);
        att_put(page->out, "</span>");
    }
    att_put(page->out, "</div>\n");
    put_comment(page, step);
    att_put(page->out, "</section>\n");
}

static void html_error(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "step");
    att_put(page->out, "<div class=\"check\"><span class=\"mark\">✓</span>");
    if (step->formula) {
        att_put(page->out, "<math><mrow>");
        att_put_formula(page->out, step->formula, &att_notation_mathml, page->options->digits);
        att_put(page->out, "</mrow></math> ");
    }
    att_put(page->out, "fails as expected:<span class=\"message\">");
    att_put_xml(page->out, step->text);
    att_put(page->out, "</span></div>\n");
    put_comment(page, step);
    att_put(page->out, "</section>\n");
}

static void html_plot(att_page *page, const att_trace_step *step)
{
    att_map map;
    if (!att_page_map(page, step->map, MAP_QUERIES, MAP_KEYS, &map))
        return;
    char id[64];
    snprintf(id, sizeof id, "s%zu-%zu-map", page->sheet_number, page->step_number);
    open_step(page, step, "step");
    att_put(page->out, "<figure>\n");
    att_map_put_svg(page->out, &map, &(att_svg_options){ .id = id, .digits = ATT_MAP_DIGITS });
    if (att_map_is_reduced(page, step, &map)) {
        att_put(page->out, "<figcaption>");
        att_map_put_reduction(page->out, step->map, &map, "×");
        att_put(page->out, "</figcaption>\n");
    }
    att_put(page->out, "</figure>\n");
    put_comment(page, step);
    att_put(page->out, "</section>\n");
}

static void html_diagram(att_page *page, const att_trace_step *step)
{
    char id[64];
    snprintf(id, sizeof id, "s%zu-%zu-diagram", page->sheet_number, page->step_number);
    open_step(page, step, "step");
    att_put(page->out, "<figure>\n<figcaption>");
    att_put_xml(page->out, att_diagram_title(page, step));
    att_put(page->out, "</figcaption>\n");
    att_diagram_put_svg(page, step, id);
    att_put(page->out, "</figure>\n");
    put_comment(page, step);
    att_put(page->out, "</section>\n");
}

static void html_ask(att_page *page, const att_trace_step *step)
{
    const att_ask *ask = step->ask;
    open_step(page, step, "step ask");
    att_putf(page->out, "<p class=\"question\"><b>(%zu)</b> ", ask->number);
    att_put_xml(page->out, ask->description);
    att_put(page->out, " <span class=\"terms\">[");
    att_ask_put_terms(page->out, ask);
    att_put(page->out, "]</span></p>\n<div class=\"eq\"><math displaystyle=\"true\"><mrow>");
    att_put_formula(page->out, ask->formula, &att_notation_mathml, page->options->digits);
    if (page->sheet->solution) {
        put_value(page, ask->value, "=");
    } else if (att_ask_has_blanks(ask)) {
        att_put(page->out, "<mo>=</mo></mrow></math>\n");
        att_blank_put_html(page->out, ask->value);
    } else {
        att_put(page->out, "</mrow></math>, ");
        att_ask_put_shape(page->out, ask, "×");
    }
    att_put(page->out, "</div>\n");
    for (size_t i = 0; i < ATT_COUNT(ask->hints) && ask->hints[i]; i++) {
        att_put(page->out, "<p class=\"note\">Hint: ");
        att_put_xml(page->out, ask->hints[i]);
        att_put(page->out, "</p>\n");
    }
    put_comment(page, step);
    att_put(page->out, "</section>\n");
}

static void html_end_sheet(att_page *page)
{
    if (page->sheet->checks > 0) {
        att_putf(page->out, "<p class=\"sum%s\">", page->sheet->failures ? " failed" : "");
        att_put_summary(page);
        att_put(page->out, ".</p>\n");
    }
    att_put(page->out, "</article>\n");
}

static void html_end(att_page *page)
{
    att_put(page->out, "<footer>");
    att_put_rounding(page);
    att_put(page->out, "</footer>\n");
    att_put_html_end(page->out);
}

const att_format_spec att_format_html = {
    .begin = html_begin,
    .begin_sheet = html_begin_sheet,
    .step = { [ATT_STEP_HEADING] = html_heading,
              [ATT_STEP_PROSE] = html_prose,
              [ATT_STEP_VALUE] = html_value,
              [ATT_STEP_CHECK] = html_check,
              [ATT_STEP_ERROR] = html_error,
              [ATT_STEP_PLOT] = html_plot,
              [ATT_STEP_ASK] = html_ask,
              [ATT_STEP_GRADIENT] = html_gradient,
              [ATT_STEP_DIAGRAM] = html_diagram },
    .head = html_head,
    .part = html_part,
    .calculation = html_calculation,
    .calculations = { .begin = "<details open=\"open\"><summary>calculation</summary>\n",
                      .end = "</details>\n",
                      .one_begin = "<div class=\"working\">\n",
                      .one_end = "</div>\n" },
    .end_sheet = html_end_sheet,
    .end = html_end,
};
