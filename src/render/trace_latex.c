/* A trace as a LaTeX document for pdflatex with the packages of texlive-latex-recommended. Formulas
 * wider than the page are scaled down. LuaLaTeX and XeLaTeX show characters of all scripts;
 * pdflatex shows the code points of characters that its fonts lack (tex.c). */
#include "base/minmax.h"
#include "render/ask.h"
#include "render/formula.h"
#include "render/matrix.h"
#include "render/diagram_page.h"
#include "render/page.h"
#include "render/prose.h"
#include "render/view.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_ROWS = 20,
    MAX_COLS = 16,
    MAP_QUERIES = 40,
    MAP_KEYS = 40,
    CELL_BYTES = 6,
    CELL_COLUMNS = 5, /* of a value in its cell */
    MAP_VALUES = 12,  /* maps up to this many keys show their values */
    WIDE_FORMULA = 70,
    LINE_COLUMNS = 60 /* formula and matrix share a line up to about this width */
};

static const char preamble[] =
    "\\documentclass[11pt]{article}\n"
    "\\usepackage{iftex}\n"
    "\\ifPDFTeX\\usepackage[utf8]{inputenc}\\else\\usepackage{fontspec}\\fi\n"
    "\\usepackage{amsmath,amssymb}\n"
    "\\usepackage{array}\n"
    "\\usepackage{graphicx}\n"
    "\\usepackage{xcolor}\n"
    "\\usepackage[margin=25mm]{geometry}\n"
    "\\setlength{\\parindent}{0pt}\n"
    "\\setlength{\\parskip}{6pt plus 2pt}\n"
    "\\setlength{\\emergencystretch}{3em}\n"
    "\\setcounter{MaxMatrixCols}{64}\n"
    "\\definecolor{attendpass}{HTML}{1A7F37}\n"
    "\\definecolor{attendfail}{HTML}{C62828}\n"
    "\\definecolor{attendmask}{HTML}{DDDDDD}\n"
    "% Characters that the fonts of pdflatex lack: as code points, or with another font.\n"
    "\\newcommand{\\attendcodes}[1]{{\\footnotesize\\texttt{#1}}}\n"
    "\\ifPDFTeX\n"
    "\\newcommand{\\attendother}[4]{\\attendcodes{#1}}\n"
    "\\else\n"
    "\\ifLuaTeX\\defaultfontfeatures{Renderer=HarfBuzz}\\fi\n"
    "\\newcommand{\\attendother}[4]{\\IfFontExistsTF{#3}{{\\fontspec{#3}[#4]#2}}"
    "{\\attendcodes{#1}}}\n"
    "\\fi\n"
    "% A formula, scaled down if it is wider than the page.\n"
    "\\newsavebox{\\attendbox}\n"
    "\\newlength{\\attendroom}\n"
    "\\newcommand{\\attendfit}[1]{\\setlength{\\attendroom}{\\linewidth}"
    "\\addtolength{\\attendroom}{-6em}%\n"
    "  \\sbox{\\attendbox}{$\\displaystyle #1$}%\n"
    "  \\ifdim\\wd\\attendbox>\\attendroom\\resizebox{\\attendroom}{!}{\\usebox{\\attendbox}}%\n"
    "  \\else\\usebox{\\attendbox}\\fi}\n"
    "\\newcommand{\\attendline}[1]{\\par\\hspace*{1.5em}\\attendfit{#1}\\par}\n"
    "% A sum, broken over lines if it is wider than the page.\n"
    "\\newcommand{\\attendsum}[1]{\\setlength{\\attendroom}{\\linewidth}"
    "\\addtolength{\\attendroom}{-6em}%\n"
    "  \\sbox{\\attendbox}{$\\displaystyle #1$}%\n"
    "  \\ifdim\\wd\\attendbox>\\attendroom\\par{\\leftskip=1.5em \\hangindent=2.5em \\hangafter=1\n"
    "  \\rightskip=3em plus 1fil \\binoppenalty=0 \\relpenalty=200 \\lineskip=3pt "
    "\\lineskiplimit=2pt\n"
    "  $\\displaystyle #1$\\par}%\n"
    "  \\else\\par\\hspace*{1.5em}\\usebox{\\attendbox}\\par\\fi}\n"
    "% What stands above a formula or a figure is never parted from it.\n"
    "\\newcommand{\\attendcaption}[1]{\\par #1\\par\\nobreak}\n"
    "% A box for a number that is written by hand, in a line of its own height.\n"
    "\\newcommand{\\attendblank}{\\rule[-4mm]{0pt}{10mm}\\,\\setlength{\\fboxsep}{0pt}"
    "\\fbox{\\rule[-2mm]{0pt}{7mm}\\hspace{15mm}}\\,}\n"
    "\\newcommand{\\attendpass}{\\textcolor{attendpass}{$\\checkmark$}}\n"
    "\\newcommand{\\attendfail}{\\textcolor{attendfail}{\\textbf{$\\times$ failed}}}\n"
    "% A cell of a map: its color, the color of its text, its text. Boxes, because the package\n"
    "% for colored cells makes every array in the document several times slower.\n"
    "\\newlength{\\attendwide}\n\\newlength{\\attendhigh}\n"
    "\\newcommand{\\attendcell}[3]{\\setlength{\\fboxsep}{0pt}\\colorbox[HTML]{#1}{\\textcolor{#2}{"
    "%\n"
    "  \\makebox[\\attendwide]{\\rule[-0.35\\attendhigh]{0pt}{\\attendhigh}#3}}}}\n";

static void put_tex(att_page *page, const char *text)
{
    att_put_tex(page->out, text);
}

static void latex_begin(att_page *page)
{
    att_put(page->out, preamble);
    if (att_page_has_diagram(page))
        att_put(page->out, "\\usepackage{tikz}\n\\usetikzlibrary{arrows.meta}\n");
    att_put(page->out, "\\begin{document}\n\\raggedbottom\n");
}

static void latex_begin_sheet(att_page *page)
{
    if (page->sheet_number > 1)
        att_put(page->out, "\n\\clearpage\n");
    if (page->sheet_count > 1) {
        att_put(page->out, "{\\small\\color{gray}");
        put_tex(page, page->sheet->name);
        att_put(page->out, "}\n\n");
    }
}

static void latex_heading(att_page *page, const att_trace_step *step)
{
    static const char *const commands[] = { "section*", "subsection*", "subsubsection*" };
    int level = (int)att_clamp_i64(step->level, 1, 3);
    att_putf(page->out, "\n\\%s{", commands[level - 1]);
    put_tex(page, step->text);
    att_put(page->out, "}\n");
}

static void put_prose_text(att_writer *out, const char *text, size_t length)
{
    att_put_user_text(out, text, length, att_put_tex);
}

static void put_prose_code(att_writer *out, const char *text, size_t length)
{
    att_put(out, "\\texttt{");
    put_prose_text(out, text, length);
    att_put(out, "}");
}

/* The address stands behind the text: paper has no links. */
static void put_prose_link(att_writer *out, const char *url, size_t length, bool end)
{
    if (!end)
        return;
    att_put(out, " (");
    put_prose_code(out, url, length);
    att_put(out, ")");
}

static const att_prose_markup prose = {
    .text = put_prose_text,
    .code = put_prose_code,
    .emphasis = { "\\emph{", "}" },
    .strong = { "\\textbf{", "}" },
    .link = put_prose_link,
    .math = { "$", "$" },
    .math_style = ATT_MATH_TEX,
    .paragraph = { "\n", "\n" },
    .list = { { "\n\\begin{itemize}\\setlength{\\itemsep}{0pt}\n", "\\end{itemize}\n" },
              { "\n\\begin{enumerate}\\setlength{\\itemsep}{0pt}\n", "\\end{enumerate}\n" } },
    .item = { "\\item ", "\n" },
    .number = { "\\item[", ".] " },
};

static void latex_prose(att_page *page, const att_trace_step *step)
{
    att_put_prose(page->out, step->text, &prose);
}

static void open_display(att_page *page)
{
    att_put(page->out, "\\attendline{");
}

/* Whether its parentheses are stretched, which keeps them on one line. */
static bool is_tall(const att_expr *e)
{
    if (e->kind == ATT_EXPR_MATRIX || e->kind == ATT_EXPR_CONSTANT ||
        (e->kind == ATT_EXPR_BINARY && e->op == ATT_OP_DIVIDE))
        return true;
    for (size_t i = 0; i < e->children; i++)
        if (e->child[i] && is_tall(e->child[i]))
            return true;
    return false;
}

/* Whether TeX can break the formula into lines: no wide fraction, matrix or root is in the way.
 * With fractions `in_line`, these and their parentheses are not. */
static bool can_break(att_page *page, const att_expr *e, bool in_line)
{
    bool sum = e->kind == ATT_EXPR_BINARY &&
               (e->op == ATT_OP_ADD || e->op == ATT_OP_SUBTRACT || e->op == ATT_OP_MULTIPLY ||
                e->op == ATT_OP_MULTIPLY_ELEMENTWISE || (in_line && e->op == ATT_OP_DIVIDE));
    bool call = e->kind == ATT_EXPR_CALL && strcmp(e->text, "exp") != 0 && (in_line || !is_tall(e));
    if (!sum && !call)
        return att_formula_width(page, e) <= WIDE_FORMULA;
    for (size_t i = 0; i < e->children; i++)
        if (!can_break(page, e->child[i], in_line))
            return false;
    return true;
}

/* Fractions are drawn, unless one is so wide that the formula would shrink to fit the page. */
static const att_notation *choose_notation(att_page *page, const att_expr *e, bool *breaks)
{
    *breaks = !e || can_break(page, e, false);
    if (*breaks || !can_break(page, e, true))
        return &att_notation_tex;
    *breaks = true;
    return &att_notation_tex_in_line;
}

static void close_display(att_page *page)
{
    att_put(page->out, "}\n");
}

static bool is_long(att_page *page, const att_expr *formula, const att_matrix *value)
{
    int64_t cols = att_min_i64(value->cols, MAX_COLS);
    int64_t width = cols * (page->options->digits + 4);
    return att_formula_width(page, formula) + width > LINE_COLUMNS;
}

/* name = formula = value; a long value is on its own line. */
static void put_equation(att_page *page, const char *name, const att_expr *formula,
                         const att_matrix *value, const att_matrix *rounded)
{
    bool literal = formula && value && att_expr_is_literal(formula);
    bool has_formula = formula && !literal, breaks;
    const att_notation *notation = choose_notation(page, has_formula ? formula : NULL, &breaks);
    att_put(page->out, has_formula && breaks && (!value || is_long(page, formula, value))
                           ? "\\attendsum{"
                           : "\\attendline{");
    if (name)
        notation->name(page->out, name, notation);
    if (has_formula) {
        att_put(page->out, name ? " = " : "");
        att_put_formula(page->out, formula, notation, page->options->digits);
    }
    if (value) {
        if (has_formula && is_long(page, formula, value)) {
            close_display(page);
            att_put(page->out, "\\nobreak");
            open_display(page);
            att_put(page->out, "\\quad");
        }
        att_view view = att_view_of(value, page->options, MAX_ROWS, MAX_COLS);
        att_put(page->out, name || has_formula ? " = " : "");
        att_matrix_put_tex(page->out, &view, notation);
    }
    close_display(page);
    if (value && rounded) {
        char words[ATT_ROUNDING_WORDS];
        att_view view = att_view_of(rounded, page->options, MAX_ROWS, MAX_COLS);
        att_put(page->out, "\\nobreak");
        open_display(page);
        att_put(page->out, "\\quad \\approx ");
        att_matrix_put_tex(page->out, &view, notation);
        att_putf(page->out, "\\quad\\text{\\small %s}", att_page_rounding(page, words));
        close_display(page);
    }
}

static void latex_calculation(att_page *page, const att_calculation *calculation)
{
    bool breaks;
    const att_notation *notation = choose_notation(page, calculation->right, &breaks);
    att_put(page->out, breaks ? "\\attendsum{" : "\\attendline{");
    att_put_calculation(page->out, calculation, notation, page->options->digits, " = ", " = ",
                        " \\approx ");
    close_display(page);
}

static void latex_head(att_page *page, int64_t number)
{
    att_putf(page->out, "\n\\attendcaption{\\textbf{Head %" PRId64 "}}\n", number);
}

static void latex_part(att_page *page, const att_trace_part *part, const att_trace_part *before)
{
    (void)before;
    if (part->description) {
        att_put(page->out, "\n\\attendcaption{\\textit{");
        put_tex(page, part->description);
        att_put(page->out, "}}\n");
    }
    put_equation(page, part->name, part->formula, att_part_value(part, page->options),
                 part->rounded);
    att_put_calculations(page, part);
}

static void put_comment(att_page *page, const att_trace_step *step)
{
    if (!step->comment)
        return;
    att_put(page->out, "{\\small ");
    put_tex(page, step->comment);
    att_put(page->out, "\\par}\n");
}

static void latex_value(att_page *page, const att_trace_step *step)
{
    att_put(page->out, "\n");
    put_equation(page, step->name, step->formula,
                 att_value_is_part(page, step) ? NULL : step->value, step->rounded);
    att_put_step_calculations(page, step);
    put_comment(page, step);
    att_put_parts(page, step);
}

static void latex_gradient(att_page *page, const att_trace_step *step)
{
    att_put(page->out, "\n");
    put_tex(page, step->text);
    att_put(page->out, "\n");
    put_comment(page, step);
    att_put_parts(page, step);
}

static void latex_check(att_page *page, const att_trace_step *step)
{
    const att_check *check = step->check;
    att_put(page->out, check->passed ? "\n\\attendpass\\quad " : "\n\\attendfail\\quad ");
    att_put(page->out, "\\attendfit{");
    att_put_check(page->out, check, &att_notation_tex, page->options->digits);
    att_put(page->out, "}");
    if (check->message) {
        att_put(page->out,
                check->passed ? "\\\\{\\small\\color{gray}" : "\\\\{\\small\\color{attendfail}");
        put_tex(page, check->message);
        att_put(page->out, "}");
    }
    att_put(page->out, step->comment ? "\\\\" : "\n");
    put_comment(page, step);
}

static void latex_error(att_page *page, const att_trace_step *step)
{
    att_put(page->out, "\n\\attendpass\\quad \\texttt{");
    put_tex(page, step->source ? step->source : "");
    att_put(page->out, "} fails as expected:\\\\{\\small\\color{gray}");
    put_tex(page, step->text);
    att_put(page->out, step->comment ? "}\\\\" : "}\n");
    put_comment(page, step);
}

static void put_map_cell(att_page *page, const att_map *map, const att_color_scale *scale,
                         int64_t panel, int64_t query, int64_t key)
{
    char text[ATT_NUMBER_SIZE] = "";
    att_map_cell_kind kind = att_map_cell(map, panel, query, key);
    if (kind == ATT_MAP_CELL_MASKED) {
        att_put(page->out, "\\attendcell{DDDDDD}{gray}{$\\times$}");
        return;
    }
    if (kind == ATT_MAP_CELL_NAN) {
        att_put(page->out, "\\attendcell{FFD9D9}{attendfail}{nan}");
        return;
    }
    double value = att_map_value(map, panel, query, key);
    if (kind == ATT_MAP_CELL_INFINITE) {
        att_putf(page->out, "\\attendcell{FFE9C7}{black}{$%s\\infty$}", value < 0 ? "-" : "");
        return;
    }
    att_colormap colormap = scale->diverging ? ATT_COLORMAP_DIVERGING : ATT_COLORMAP_PAPER;
    att_rgb c = att_colormap_color(colormap, att_color_scale_level(scale, value));
    if (map->keys <= MAP_VALUES)
        att_map_number(text, value, scale, (int)att_min_i64(page->options->digits, ATT_MAP_DIGITS),
                       CELL_COLUMNS);
    att_putf(page->out, "\\attendcell{%02X%02X%02X}{%s}{%s}", c.red, c.green, c.blue,
             att_rgb_is_dark(c) ? "white" : "black", text);
}

/* Whether a key's label is wider than its cell, so that the labels are rotated. */
static bool has_long_labels(const att_map *map)
{
    char number[ATT_LABEL_SIZE];
    for (int64_t j = 0; j < map->keys; j++) {
        const char *label = att_map_label(map->key_labels, j, number);
        if (strlen(label) >
            CELL_BYTES) /* in bytes: characters beyond ASCII may be printed as U+0986 */
            return true;
    }
    return false;
}

static void put_panel_head(att_page *page, const att_map *map, int64_t panel)
{
    char number[ATT_LABEL_SIZE];
    if (map->panel_labels && map->panel_labels[panel]) {
        att_put(page->out, "\\textbf{");
        put_tex(page, map->panel_labels[panel]);
        att_put(page->out, "\\strut}\\\\[4pt]\n");
    } else if (map->panels > 1) {
        att_putf(page->out, "\\textbf{head %" PRId64 "\\strut}\\\\[4pt]\n", panel + 1);
    }
    att_put(page->out, "\\begin{tabular}{r@{\\hspace{0.6em}}*{");
    att_put_integer(page->out, map->keys);
    att_put(page->out, "}{c@{\\hspace{1pt}}}}\n");
    put_tex(page, att_map_query_name(map));
    att_put(page->out, " $\\backslash$ ");
    put_tex(page, att_map_key_name(map));
    bool upright = map->keys > MAP_VALUES || has_long_labels(map);
    for (int64_t j = 0; j < map->keys; j++) {
        att_put(page->out, upright ? " & \\rotatebox{90}{" : " & {\\strut ");
        put_tex(page, att_map_label(map->key_labels, j, number));
        att_put(page->out, "}");
    }
    att_put(page->out, " \\\\[4pt]\n");
}

static void put_panel(att_page *page, const att_map *map, const att_color_scale *scale,
                      int64_t panel)
{
    char number[ATT_LABEL_SIZE];
    att_put(page->out, panel > 0 ? "\\hspace{2em}%\n" : "\n\\hspace*{1.5em}");
    bool values = map->keys <= MAP_VALUES;
    att_put(page->out, values ? "\\setlength{\\attendwide}{2.6em}\\setlength{\\attendhigh}{2em}%\n"
                              : "\\setlength{\\attendwide}{1em}\\setlength{\\attendhigh}{1em}%\n");
    att_put(page->out, "\\attendfit{\\mbox{\\renewcommand{\\arraystretch}{0}"
                       "\\begin{tabular}[t]{c}\n");
    put_panel_head(page, map, panel);
    for (int64_t i = 0; i < map->queries && page->out->status == ATT_OK; i++) {
        put_tex(page, att_map_label(map->query_labels, i, number));
        for (int64_t j = 0; j < map->keys; j++) {
            att_put(page->out, " & ");
            put_map_cell(page, map, scale, panel, i, j);
        }
        att_put(page->out, " \\\\[1pt]\n");
    }
    att_put(page->out, "\\end{tabular}\n\\end{tabular}}}\n");
}

/* The legend: the ends of the color scale, and the mark of masked cells. */
static void put_map_legend(att_page *page, const att_map *map, const att_color_scale *scale)
{
    char low[ATT_NUMBER_SIZE], high[ATT_NUMBER_SIZE];
    att_number_short(low, scale->low, 4);
    att_number_short(high, scale->high, 4);
    att_putf(page->out, "\n{\\small\\color{gray}%s $%s$, %s $%s$%s}\n",
             scale->diverging ? "brown:" : "light:", low,
             scale->diverging ? "blue:" : "dark:", high,
             att_map_has(map, ATT_MAP_CELL_MASKED) ? "; $\\times$ is masked" : "");
}

static void latex_plot(att_page *page, const att_trace_step *step)
{
    att_map map;
    if (!att_page_map(page, step->map, MAP_QUERIES, MAP_KEYS, &map))
        return;
    att_color_scale scale = att_map_color_scale(&map);
    att_put(page->out, "\n\\attendcaption{\\textbf{");
    put_tex(page, map.title ? map.title : map.query_name ? "Matrix" : "Attention map");
    att_put(page->out, "}}\n");
    if (att_map_is_reduced(page, step, &map)) {
        att_put(page->out, "\\attendcaption{");
        att_map_put_reduction(page->out, step->map, &map, "$\\times$");
        att_put(page->out, "}\n");
    }
    att_put(page->out, "\n{\\raggedright");
    for (int64_t p = 0; p < map.panels && page->out->status == ATT_OK; p++)
        put_panel(page, &map, &scale, p);
    att_put(page->out, "\\par}\n");
    put_map_legend(page, &map, &scale);
    att_put(page->out, step->comment ? "\n" : "");
    put_comment(page, step);
}

static void latex_diagram(att_page *page, const att_trace_step *step)
{
    att_put(page->out, "\n\\attendcaption{\\textbf{");
    put_tex(page, att_diagram_title(page, step));
    att_put(page->out, "}}\n");
    att_diagram_put_tikz(page, step);
    att_put(page->out, step->comment ? "\n" : "");
    put_comment(page, step);
}

static void latex_ask(att_page *page, const att_trace_step *step)
{
    const att_ask *ask = step->ask;
    att_putf(page->out, "\n\\textbf{(%zu)} ", ask->number);
    put_tex(page, ask->description);
    att_put(page->out, " {\\small\\color{gray}[");
    att_string terms = { 0 };
    att_writer out = att_writer_on(&terms);
    att_ask_put_terms(&out, ask);
    if (out.status == ATT_OK)
        put_tex(page, terms.data);
    else
        page->out->status = out.status;
    att_string_free(&terms);
    att_put(page->out, "]}\\nopagebreak\n");
    open_display(page);
    att_put_formula(page->out, ask->formula, &att_notation_tex, page->options->digits);
    if (page->sheet->solution) {
        att_view view = att_view_of(ask->value, page->options, MAX_ROWS, MAX_COLS);
        att_put(page->out, " = ");
        att_matrix_put_tex(page->out, &view, &att_notation_tex);
    } else if (att_ask_has_blanks(ask)) {
        att_put(page->out, " = \\renewcommand{\\arraystretch}{1.6}");
        att_blank_put_tex(page->out, ask->value, "\\attendblank");
    } else {
        att_put(page->out, "\\text{, ");
        att_ask_put_shape(page->out, ask, "$\\times$");
        att_put(page->out, "}");
    }
    close_display(page);
    for (size_t i = 0; i < ATT_COUNT(ask->hints) && ask->hints[i]; i++) {
        att_put(page->out, "{\\small\\textit{Hint:} ");
        put_tex(page, ask->hints[i]);
        att_put(page->out, "\\par}\n");
    }
    put_comment(page, step);
}

static void latex_end_sheet(att_page *page)
{
    if (page->sheet->checks == 0)
        return;
    att_putf(page->out, "\n\\textbf{\\textcolor{%s}{",
             page->sheet->failures ? "attendfail" : "attendpass");
    att_put_summary(page);
    att_put(page->out, ".}}\n");
}

static void latex_end(att_page *page)
{
    att_put(page->out, "\n{\\small\\color{gray}");
    att_put_rounding(page);
    att_put(page->out, "}\n\\end{document}\n");
}

const att_format_spec att_format_latex = {
    .begin = latex_begin,
    .begin_sheet = latex_begin_sheet,
    .step = { [ATT_STEP_HEADING] = latex_heading,
              [ATT_STEP_PROSE] = latex_prose,
              [ATT_STEP_VALUE] = latex_value,
              [ATT_STEP_CHECK] = latex_check,
              [ATT_STEP_ERROR] = latex_error,
              [ATT_STEP_PLOT] = latex_plot,
              [ATT_STEP_ASK] = latex_ask,
              [ATT_STEP_GRADIENT] = latex_gradient,
              [ATT_STEP_DIAGRAM] = latex_diagram },
    .head = latex_head,
    .part = latex_part,
    .calculation = latex_calculation,
    .calculations = { .begin = "{\\small\\setlength{\\parskip}{3pt}\n", .end = "\\par}\n" },
    .end_sheet = latex_end_sheet,
    .end = latex_end,
};
