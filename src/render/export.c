/* Worksheets as Python programs: the head of the program, the definitions that it uses, and a line
 * for each statement of the sheet. */
#include "render/export.h"

#include "base/minmax.h"
#include "base/string.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

/* A definition of the runtime: a function, a constant or an import, and what it needs, each name
 * between blanks. */
struct definition {
    const char *name;
    const char *needs;
    const char *text;
};

#include "render/export_runtime.inc"

static const struct language {
    const char *name;
    const char *module; /* the definition that imports it */
    const struct definition *definitions;
} languages[] = {
    [ATT_EXPORT_NUMPY] = { "NumPy", "np", numpy_definitions },
    [ATT_EXPORT_PYTORCH] = { "PyTorch", "torch", torch_definitions },
};

/* ---- Failures */

void att_export_refuse(att_exporter *exporter, const char *format, ...)
{
    if (exporter->status != ATT_OK || exporter->out.status != ATT_OK)
        return;
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    exporter->status = att_fail_at(exporter->err, ATT_BAD_INPUT, exporter->sheet->name,
                                   exporter->line, 0, NULL, "%s", message);
}

void att_export_no_memory(att_exporter *exporter)
{
    exporter->out.status = ATT_NO_MEMORY;
}

/* ---- Definitions */

static ptrdiff_t find_definition(att_export_language language, const char *name, size_t length)
{
    const struct definition *rows = languages[language].definitions;
    for (ptrdiff_t i = 0; rows[i].name; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return i;
    return -1;
}

bool att_export_is_defined(att_export_language language, const char *name)
{
    return find_definition(language, name, strlen(name)) >= 0;
}

bool att_export_is_used(att_export_language language, const char *name)
{
    for (size_t i = 0; builtins[i]; i++)
        if (strcmp(builtins[i], name) == 0)
            return true;
    return att_export_is_defined(language, name);
}

/* Marks a definition and all that it needs. */
static void mark(att_exporter *exporter, const char *name, size_t length)
{
    ptrdiff_t index = find_definition(exporter->language, name, length);
    if (index < 0 || (size_t)index >= sizeof exporter->used || exporter->used[index])
        return;
    exporter->used[index] = true;
    const char *at = languages[exporter->language].definitions[index].needs;
    while (*(at += strspn(at, " "))) {
        size_t word = strcspn(at, " ");
        mark(exporter, at, word);
        at += word;
    }
}

void att_export_use(att_exporter *exporter, const char *name)
{
    mark(exporter, name, strlen(name));
    att_put(&exporter->out, name);
}

static bool is_import(const struct definition *row)
{
    return strncmp(row->text, "import ", 7) == 0 || strncmp(row->text, "from ", 5) == 0;
}

static void put_definitions(att_writer *out, const att_exporter *exporter, bool imports)
{
    const struct definition *rows = languages[exporter->language].definitions;
    bool spaced = true; /* functions stand between two blank lines */
    for (size_t i = 0; rows[i].name; i++) {
        if (!exporter->used[i] || is_import(&rows[i]) != imports)
            continue;
        bool function = !imports && strstr(rows[i].text, "\n ") != NULL;
        att_put(out, imports ? "" : function || spaced ? "\n\n" : "\n");
        att_put(out, rows[i].text);
        spaced = function;
    }
}

/* ---- Prose */

static void put_heading(att_exporter *exporter, const att_trace_step *step)
{
    uint32_t code;
    int64_t width = 0;
    for (const char *at = step->text; *at; width++)
        at += att_utf8_decode_lossy(at, strlen(at), &code);
    att_put(&exporter->out, "\n");
    att_export_comment(exporter, step->text);
    att_put(&exporter->out, "# ");
    att_put_repeat(&exporter->out, step->level == 1 ? "=" : step->level == 2 ? "-" : ".", width);
    att_put(&exporter->out, "\n");
}

static void put_prose(att_exporter *exporter, const att_trace_step *step)
{
    att_put(&exporter->out, "\n");
    att_export_comment(exporter, step->text);
}

void att_export_end(att_exporter *exporter, const char *comment)
{
    if (comment && comment[0]) {
        att_put(&exporter->out, "  # ");
        att_export_on_line(exporter, comment);
    }
    att_put(&exporter->out, "\n");
}

void att_export_left_out(att_exporter *exporter, const char *why, const att_trace_step *step)
{
    att_putf(&exporter->out, "# %s", why);
    att_export_on_line(exporter, step->source);
    att_put(&exporter->out, "\n");
}

static void put_plot(att_exporter *exporter, const att_trace_step *step)
{
    att_export_left_out(exporter, "left out: ", step);
}

/* A student's task: the value itself is computed by other lines. */
static void put_ask(att_exporter *exporter, const att_trace_step *step)
{
    att_export_left_out(exporter, "", step);
}

/* ---- Values */

static void put_labels(att_exporter *exporter, const char *what, const char *name,
                       const char *const *labels, int64_t count)
{
    if (!labels)
        return;
    att_putf(&exporter->out, "# %s of ", what);
    att_export_on_line(exporter, name);
    att_put(&exporter->out, ":");
    for (int64_t i = 0; i < count; i++) {
        att_put(&exporter->out, i > 0 ? ", " : " ");
        att_export_string(exporter, labels[i] ? labels[i] : "");
    }
    att_put(&exporter->out, "\n");
}

/* Labels are a comment where they are given: a computed matrix has those of its operands. */
static void put_label_comments(att_exporter *exporter, const att_trace_step *step)
{
    bool given = !step->formula || att_export_is_literal(exporter, step->formula) ||
                 step->formula->kind == ATT_EXPR_LOAD;
    if (!given || !step->value)
        return;
    put_labels(exporter, "rows", step->name, step->value->row_labels, step->value->rows);
    put_labels(exporter, "columns", step->name, step->value->col_labels, step->value->cols);
}

static void put_show(att_exporter *exporter, const att_trace_step *step)
{
    const char *text = step->source + strspn(step->source, "show");
    att_put(&exporter->out, "print(");
    att_export_string(exporter, text + strspn(text, " \t"));
    att_put(&exporter->out, ", ");
    if (att_export_type_of(exporter, step->formula).kind == ATT_EXPORT_LIST)
        att_export_value(exporter, step->formula);
    else
        att_export_matrix(exporter, step->formula);
    att_put(&exporter->out, ", sep=\"\\n\")");
    att_export_end(exporter, step->comment);
}

/* Whether the expression uses a value whose gradient the sheet wants. */
static bool uses_differentiated(const att_exporter *exporter, const att_expr *node)
{
    if (node->kind == ATT_EXPR_NAME && att_export_is_differentiated(exporter, node->text))
        return true;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && uses_differentiated(exporter, node->child[i]))
            return true;
    return false;
}

/* Autograd must know from the start that a gradient is wanted. */
static bool starts_graph(const att_exporter *exporter, const att_trace_step *step,
                         att_export_type type)
{
    return type.kind != ATT_EXPORT_RECORD && type.kind != ATT_EXPORT_ANY &&
           att_export_is_differentiated(exporter, step->name) &&
           !(step->formula && uses_differentiated(exporter, step->formula));
}

/* The right side of an assignment; without a formula, the numbers that were drawn. */
static void put_assigned(att_exporter *exporter, const att_trace_step *step, att_export_type type)
{
    bool tracked = starts_graph(exporter, step, type);
    if (tracked)
        att_export_use(exporter, "tracked");
    att_put(&exporter->out, tracked ? "(" : "");
    if (!step->formula)
        att_export_numbers(exporter, step->value);
    else if (type.kind == ATT_EXPORT_MATRIX)
        att_export_scalar(exporter, step->formula);
    else
        att_export_value(exporter, step->formula);
    att_put(&exporter->out, tracked ? ")" : "");
}

static void put_value(att_exporter *exporter, const att_trace_step *step)
{
    if (!step->name) {
        put_show(exporter, step);
        return;
    }
    if (!step->formula) {
        att_export_left_out(exporter, "", step);
    }
    const att_export_type matrix = { ATT_EXPORT_MATRIX, NULL };
    att_export_type type = step->formula ? att_export_type_of(exporter, step->formula) : matrix;
    const att_export_name *before = att_export_find(exporter, step->name);
    att_export_type old = before ? before->type : type;
    const char *by_hand = att_export_hand_value(exporter, step);
    exporter->pending = before ? NULL : step->name;
    att_put(&exporter->out, att_export_assign(exporter, step->name, old));
    att_put(&exporter->out, " = ");
    put_assigned(exporter, step, type);
    exporter->pending = NULL;
    att_export_assign(exporter, step->name, type);
    att_export_assign_hand(exporter, step->name, by_hand);
    att_export_end(exporter, step->comment);
    put_label_comments(exporter, step);
}

/* ---- Claims */

/* The rule of a claim as a tolerance: ", within(0.005)". */
static void put_rule(att_exporter *exporter, const att_check *check, const char *before)
{
    static const char *const rules[] = {
        [ATT_RULE_WITHIN] = "within",    [ATT_RULE_PERCENT] = "within_percent",
        [ATT_RULE_DIGITS] = "to_digits", [ATT_RULE_DECIMALS] = "to_decimals",
        [ATT_RULE_PRINTED] = NULL,       [ATT_RULE_DEFAULT] = NULL,
        [ATT_RULE_GRADIENT] = NULL,      [ATT_RULE_ERROR] = NULL,
    };
    const char *rule = (size_t)check->rule < ATT_COUNT(rules) ? rules[check->rule] : NULL;
    bool counted = check->rule == ATT_RULE_DIGITS || check->rule == ATT_RULE_DECIMALS;
    if (!rule)
        return;
    att_put(&exporter->out, before);
    att_export_use(exporter, rule);
    att_put(&exporter->out, "(");
    att_put_json_number(&exporter->out, counted ? (double)check->digits : check->tolerance);
    att_put(&exporter->out, ")");
}

static void put_line_number(att_exporter *exporter, const att_trace_step *step)
{
    att_putf(&exporter->out, ", line=%d)", step->line);
    exporter->claims++;
    att_export_end(exporter, step->comment);
}

static void put_printed_number(att_exporter *exporter, const att_expr *node)
{
    bool negative = node->kind == ATT_EXPR_NEGATE;
    const att_expr *number = negative ? node->child[0] : node;
    att_putf(&exporter->out, "%s%s", negative ? "-" : "", number->text);
}

/* *as_printed("0.26 0.33; 0.1 0.2"): the expected numbers and their tolerance. */
static void put_printed(att_exporter *exporter, const att_expr *written)
{
    bool matrix = written->kind == ATT_EXPR_MATRIX;
    att_put(&exporter->out, "*");
    att_export_use(exporter, "as_printed");
    att_put(&exporter->out, "(\"");
    if (!matrix)
        put_printed_number(exporter, written);
    for (size_t i = 0; matrix && i < written->children; i++)
        for (size_t j = 0; j < written->child[i]->children; j++) {
            att_put(&exporter->out, j > 0 ? " " : i > 0 ? "; " : "");
            put_printed_number(exporter, written->child[i]->child[j]);
        }
    att_put(&exporter->out, "\")");
}

static void put_expect(att_exporter *exporter, const att_trace_step *step)
{
    const att_check *check = step->check;
    if (check->by_hand && !(att_export_has_hand(exporter, check->left) &&
                            att_export_has_hand(exporter, check->right))) {
        att_export_left_out(exporter, "left out, about results rounded as by hand: ", step);
        return;
    }
    if (check->by_hand)
        att_export_set_rounding(exporter, check->rounding);
    exporter->hand = check->by_hand;
    att_export_use(exporter, check->negated ? "expect_not" : "expect");
    att_put(&exporter->out, "(");
    att_export_matrix(exporter, check->left);
    att_put(&exporter->out, ", ");
    if (check->rule == ATT_RULE_PRINTED)
        put_printed(exporter, check->right);
    else
        att_export_matrix(exporter, check->right);
    exporter->hand = false;
    put_rule(exporter, check, ", ");
    put_line_number(exporter, step);
}

static void put_expect_error(att_exporter *exporter, const att_trace_step *step,
                             const att_expr *formula)
{
    if (att_export_breaks_language(exporter, formula)) {
        att_export_left_out(exporter, "left out, a rule of the language of worksheets: ", step);
        return;
    }
    att_export_left_out(exporter, "", step);
    att_export_use(exporter, "expect_error");
    att_put(&exporter->out, "(lambda: ");
    exporter->checked = true;
    att_export_value(exporter, formula);
    exporter->checked = false;
    put_line_number(exporter, step);
}

/* compare_all({"X": X, "a": a}, "dump.npz", within(1e-6)): all values of the sheet so far. */
static void put_compare_all(att_exporter *exporter, const att_trace_step *step)
{
    att_export_use(exporter, "compare_all");
    att_put(&exporter->out, "({");
    const char *between = "";
    for (size_t i = 0; i < exporter->value_count; i++) {
        if (exporter->values[i].reserved)
            continue;
        att_put(&exporter->out, between);
        att_export_string(exporter, exporter->values[i].name);
        att_putf(&exporter->out, ": %s", exporter->values[i].identifier);
        between = ", ";
    }
    att_put(&exporter->out, "}, ");
    att_export_string(exporter, step->check->file);
    put_rule(exporter, step->check, ", ");
    put_line_number(exporter, step);
}

/* The expression as in the sheet: arrays of the file have such names. */
static void put_known_as(att_exporter *exporter, const att_trace_step *step)
{
    const char *begin = step->source + strlen("compare");
    begin += strspn(begin, " \t");
    const char *end = strchr(begin, '"');
    size_t length = end ? (size_t)(end - begin) : strlen(begin);
    while (length > 0 && (begin[length - 1] == ' ' || begin[length - 1] == '\t'))
        length--;
    const char *text = att_arena_strndup(&exporter->arena, begin, length);
    if (!text)
        att_export_no_memory(exporter);
    att_put(&exporter->out, ", known_as=");
    att_export_string(exporter, text ? text : "");
}

static void put_compare(att_exporter *exporter, const att_trace_step *step)
{
    const att_check *check = step->check;
    const att_expr *load = check->load;
    if (!check->left ||
        (check->left->kind == ATT_EXPR_NAME && strcmp(check->left->text, "all") == 0)) {
        put_compare_all(exporter, step);
        return;
    }
    att_export_use(exporter, "compare");
    att_put(&exporter->out, "(");
    att_export_value(exporter, check->left);
    att_put(&exporter->out, ", ");
    att_export_string(exporter, check->file);
    if (check->array) {
        att_put(&exporter->out, ", ");
        att_export_string(exporter, check->array);
    }
    for (size_t i = 2; i < load->children; i++)
        att_putf(&exporter->out, "%s%lld", i == 2 ? ", at=[" : ", ",
                 (long long)load->child[i]->number);
    att_put(&exporter->out, load->children > 2 ? "]" : "");
    put_rule(exporter, check, ", allowed=");
    put_known_as(exporter, step);
    put_line_number(exporter, step);
}

static void put_check(att_exporter *exporter, const att_trace_step *step)
{
    if (step->check->rule == ATT_RULE_GRADIENT)
        att_export_gradient_check(exporter, step);
    else if (step->check->rule == ATT_RULE_ERROR)
        put_expect_error(exporter, step, step->check->left);
    else if (step->check->file)
        put_compare(exporter, step);
    else
        put_expect(exporter, step);
}

static void put_error(att_exporter *exporter, const att_trace_step *step)
{
    put_expect_error(exporter, step, step->formula);
}

/* ---- The program */

static void (*const writers[])(att_exporter *exporter, const att_trace_step *step) = {
    [ATT_STEP_HEADING] = put_heading, [ATT_STEP_PROSE] = put_prose,
    [ATT_STEP_VALUE] = put_value,     [ATT_STEP_CHECK] = put_check,
    [ATT_STEP_ERROR] = put_error,     [ATT_STEP_PLOT] = put_plot,
    [ATT_STEP_ASK] = put_ask,         [ATT_STEP_GRADIENT] = att_export_gradient,
    [ATT_STEP_DIAGRAM] = put_plot,
};

static void put_steps(att_exporter *exporter)
{
    const att_trace_step *before = NULL;
    for (size_t i = 0; i < exporter->sheet->step_count && exporter->status == ATT_OK; i++) {
        const att_trace_step *step = &exporter->sheet->steps[i];
        bool prose = before && (before->kind == ATT_STEP_PROSE || before->kind == ATT_STEP_HEADING);
        if (prose && step->kind != ATT_STEP_PROSE && step->kind != ATT_STEP_HEADING)
            att_put(&exporter->out, "\n");
        exporter->line = step->line;
        bool defines = step->kind == ATT_STEP_VALUE && step->function;
        if (defines)
            att_export_definition(exporter, step);
        else if (step->kind == ATT_STEP_VALUE && step->loop)
            i += att_export_loop(exporter, step) - 1;
        else if ((size_t)step->kind < ATT_COUNT(writers) && writers[step->kind])
            writers[step->kind](exporter, step);
        else
            att_export_refuse(exporter, "this statement cannot be exported yet");
        exporter->after_function = defines;
        before = step;
    }
}

/* The first two lines are fixed: in them, Python would read the encoding of the file. */
static void put_head(att_writer *out, att_exporter *exporter)
{
    const struct language *language = &languages[exporter->language];
    const char *slash = strrchr(exporter->sheet->name, '/');
    const char *name = slash ? slash + 1 : exporter->sheet->name;
    att_writer body = exporter->out;
    exporter->out = *out;
    att_put(&exporter->out, "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# The worksheet ");
    att_export_on_line(exporter, name);
    att_putf(&exporter->out,
             " with %s: the same values in double precision, and the same claims.\n"
             "# Made by attend explain --export.\n",
             language->name);
    put_definitions(&exporter->out, exporter, true);
    att_put(&exporter->out, "\nSHEET = ");
    att_export_string(exporter, name);
    att_put(&exporter->out, "\n");
    put_definitions(&exporter->out, exporter, false);
    att_put(&exporter->out,
            "\n\n# ---------------------------------------------------------------- "
            "the worksheet\n\n");
    *out = exporter->out;
    exporter->out = body;
}

att_status att_sheet_export(att_string *out, const att_sheet *sheet, att_export_language language,
                            att_error *err)
{
    att_string body = { 0 };
    if ((size_t)language >= ATT_COUNT(languages))
        return att_fail(err, ATT_BAD_INPUT, NULL, "unknown language of an export");
    att_exporter exporter = {
        .out = att_writer_on(&body), .sheet = sheet, .language = language, .err = err
    };
    att_writer program = att_writer_on(out);
    mark(&exporter, languages[language].module, strlen(languages[language].module));
    for (size_t i = 0; i < sheet->step_count; i++)
        exporter.has_hand = exporter.has_hand || (sheet->steps[i].kind == ATT_STEP_CHECK &&
                                                  sheet->steps[i].check->by_hand);
    att_export_collect_gradients(&exporter);
    att_export_collect_functions(&exporter);
    put_steps(&exporter);
    if (exporter.status == ATT_OK) {
        put_head(&program, &exporter);
        att_put(&program, body.data ? body.data : "");
        att_putf(&program, "\nprint(f\"{SHEET}: %zu claim%s\")\n", exporter.claims,
                 exporter.claims == 1 ? " holds" : "s hold");
    }
    if (exporter.out.status != ATT_OK)
        program.status = exporter.out.status;
    att_string_free(&body);
    att_arena_free(&exporter.arena);
    return exporter.status != ATT_OK ? exporter.status : att_writer_finish(&program, err);
}
