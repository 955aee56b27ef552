/* Selection of steps, parts, rows and heads by the render options, and abbreviation of large
 * matrices. */
#include "render/view.h"

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

att_axis att_axis_ends(int64_t count, int64_t shown)
{
    if (shown >= count)
        return (att_axis){ .count = count, .head = count };
    int64_t tail = shown >= 6 ? shown / 3 : 1;
    return (att_axis){ .count = count, .head = shown > tail ? shown - tail : 1, .tail = tail };
}

att_axis att_axis_abridged(int64_t count, int64_t max)
{
    return att_axis_ends(count, count <= max ? count : max * 3 / 5);
}

att_view att_view_of(const att_matrix *matrix, const att_render_options *options, int64_t most_rows,
                     int64_t most_cols)
{
    att_view view = { .matrix = matrix };
    view.rows = att_axis_abridged(matrix->rows, most_rows);
    view.cols = att_axis_abridged(matrix->cols, most_cols);
    view.format = att_number_choose_sums(matrix->data, matrix->allowed, matrix->rows * matrix->cols,
                                         matrix->magnitude, options->digits);
    if (options->row > 0 && matrix->rows > 1) {
        bool has = options->row <= matrix->rows;
        view.rows = (att_axis){ .count = matrix->rows, .first = options->row - 1, .head = has };
    }
    return view;
}

const char *att_view_cell(const att_view *view, int64_t row, int64_t col, char *buffer)
{
    int64_t at = row * view->matrix->cols + col;
    if (view->matrix->allowed && !view->matrix->allowed[at])
        return NULL;
    att_number_print(buffer, view->matrix->data[at], view->format);
    return buffer;
}

bool att_matrix_has_masked(const att_matrix *matrix)
{
    size_t count = (size_t)(matrix->rows * matrix->cols);
    return matrix->allowed && memchr(matrix->allowed, 0, count) != NULL;
}

const char *att_row_label(const att_matrix *matrix, int64_t row)
{
    return matrix->row_labels ? matrix->row_labels[row] : NULL;
}

const char *att_col_label(const att_matrix *matrix, int64_t col)
{
    return matrix->col_labels ? matrix->col_labels[col] : NULL;
}

/* The parsed option `only`: name, name.part, name.head[2] or name.head[2].part. */
struct selector {
    const char *name; /* not terminated */
    size_t length;
    int64_t head;     /* 0: any */
    const char *part; /* NULL: all */
};

/* Whether `*at` begins with the field head[N]; sets its number and moves `*at` past it. */
static int64_t read_head(const char **at)
{
    int64_t number = 0;
    const char *digit = *at + strlen("head[");
    if (strncmp(*at, "head[", strlen("head[")) != 0)
        return 0;
    for (; *digit >= '0' && *digit <= '9' && number < INT32_MAX; digit++)
        number = number * 10 + (*digit - '0');
    if (digit[0] != ']' || (digit[1] != '\0' && digit[1] != '.'))
        return 0;
    *at = digit + 1;
    return number;
}

static struct selector selector_of(const char *only)
{
    struct selector selector = { .name = only, .length = strcspn(only, ".") };
    const char *rest = only + selector.length;
    if (*rest == '\0')
        return selector;
    rest++;
    selector.head = read_head(&rest);
    selector.part = selector.head == 0 ? rest : *rest ? rest + 1 : NULL;
    return selector;
}

static bool has_name(const char *name, const struct selector *selector)
{
    return name && strlen(name) == selector->length &&
           memcmp(name, selector->name, selector->length) == 0;
}

static bool selects_part(const att_trace_part *part, const struct selector *selector)
{
    return (selector->head == 0 || part->head == selector->head) &&
           (!selector->part || strcmp(part->name, selector->part) == 0);
}

static bool has_part(const att_trace_step *step, const struct selector *selector)
{
    bool found = selector->head == 0 && !selector->part;
    for (size_t i = 0; i < step->part_count && !found; i++)
        found = selects_part(&step->parts[i], selector);
    return found;
}

/* Whether `expr` is x.head[N] with an N that is not selected. */
static bool is_other_head(const att_expr *expr, const struct selector *selector)
{
    return selector->head > 0 && expr->kind == ATT_EXPR_INDEX && expr->children == 2 &&
           expr->child[0]->kind == ATT_EXPR_FIELD && strcmp(expr->child[0]->text, "head") == 0 &&
           expr->child[1]->kind == ATT_EXPR_NUMBER &&
           expr->child[1]->number != (double)selector->head;
}

/* Whether an expression such as a.head[2].weights refers to the selected name. */
static bool selects_step(const att_expr *expr, const struct selector *selector)
{
    bool part_found = selector->part == NULL;
    while (expr && expr->children > 0) {
        if (expr->kind != ATT_EXPR_FIELD && expr->kind != ATT_EXPR_INDEX &&
            expr->kind != ATT_EXPR_TRANSPOSE)
            return false;
        if (is_other_head(expr, selector))
            return false;
        if (expr->kind == ATT_EXPR_FIELD && selector->part &&
            strcmp(expr->text, selector->part) == 0)
            part_found = true;
        expr = expr->child[0];
    }
    return expr && expr->kind == ATT_EXPR_NAME && part_found && has_name(expr->text, selector);
}

/* Whether `only` names a gradient: X.grad, or a.grad with all its parts. */
static bool names_gradient(const char *only)
{
    const char *field = strchr(only, '.');
    return field && strncmp(field, ".grad", 5) == 0 && (field[5] == '\0' || field[5] == '.');
}

static bool selects_gradient(const att_trace_part *part, const char *only)
{
    size_t length = strlen(only);
    return part->path && strncmp(part->path, only, length) == 0 &&
           (part->path[length] == '\0' || part->path[length] == '.');
}

static bool has_gradient(const att_trace_step *step, const char *only)
{
    for (size_t i = 0; i < step->part_count; i++)
        if (selects_gradient(&step->parts[i], only))
            return true;
    return false;
}

bool att_step_is_shown(const att_trace_step *step, const att_render_options *options)
{
    if (!options->only)
        return true;
    struct selector selector = selector_of(options->only);
    switch (step->kind) {
    case ATT_STEP_VALUE:
        return has_name(step->name, &selector) && has_part(step, &selector);
    case ATT_STEP_CHECK:
        return selects_step(step->check->left, &selector);
    case ATT_STEP_PLOT:
        return selects_step(step->formula, &selector);
    case ATT_STEP_GRADIENT:
        return names_gradient(options->only) ? has_gradient(step, options->only)
                                             : selects_step(step->formula, &selector);
    default:
        return false;
    }
}

int64_t att_render_head(const att_render_options *options)
{
    int64_t asked = options->only ? selector_of(options->only).head : 0;
    return asked > 0 ? asked : options->head;
}

/* Whether a part is only another name of a value: q = s. */
static bool is_renamed(const att_trace_part *part)
{
    return part->formula && part->formula->kind == ATT_EXPR_NAME;
}

bool att_part_is_shown(const att_trace_part *part, const att_render_options *options)
{
    if (options->head > 0 && part->head > 0 && part->head != options->head)
        return false;
    struct selector selector = selector_of(options->only ? options->only : "");
    if (options->only && names_gradient(options->only))
        return selects_gradient(part, options->only);
    if (selector.head > 0 || selector.part)
        return selects_part(part, &selector);
    bool same = is_renamed(part) && strcmp(part->formula->text, part->name) == 0;
    return !same || options->format == ATT_FORMAT_JSON; /* q = q has no information */
}

const att_matrix *att_part_value(const att_trace_part *part, const att_render_options *options)
{
    bool selector = options->only && selector_of(options->only).part;
    return is_renamed(part) && !selector ? NULL : part->value;
}

bool att_calculation_is_shown(const att_calculation *calculation, const att_render_options *options)
{
    return options->row == 0 || calculation->row == 0 || calculation->row == options->row;
}

/* The largest numbers of rows and heads that are shown, and whether the name was found. */
struct extent {
    int64_t rows;
    int64_t heads;
    size_t steps;
    size_t values; /* steps with results, without checks and plots */
};

static void measure_step(struct extent *extent, const att_trace_step *step)
{
    extent->steps++;
    extent->values += step->kind == ATT_STEP_VALUE;
    if (step->value)
        extent->rows = att_max_i64(extent->rows, step->value->rows);
    if (step->map) {
        extent->rows = att_max_i64(extent->rows, step->map->queries);
        extent->heads = att_max_i64(extent->heads, step->map->panels);
    }
    for (size_t i = 0; i < step->part_count; i++) {
        extent->heads = att_max_i64(extent->heads, step->parts[i].head);
        extent->rows = att_max_i64(extent->rows, step->parts[i].value->rows);
    }
}

static struct extent measure(const att_sheet *const *sheets, size_t count,
                             const att_render_options *options)
{
    struct extent extent = { 0 };
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sheets[s]->step_count; i++)
            if (att_step_is_shown(&sheets[s]->steps[i], options))
                measure_step(&extent, &sheets[s]->steps[i]);
    return extent;
}

/* The step with the name that `only` begins with; if there is one, the part of `only` is wrong. */
static const att_trace_step *named_step(const att_sheet *const *sheets, size_t count,
                                        const struct selector *selector)
{
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sheets[s]->step_count; i++)
            if (sheets[s]->steps[i].kind == ATT_STEP_VALUE &&
                has_name(sheets[s]->steps[i].name, selector))
                return &sheets[s]->steps[i];
    return NULL;
}

static att_status fail_name(const char *what, const char *word, const char *const *known,
                            size_t count, const char *place, att_error *err)
{
    const char *near = att_suggest(word, known, count);
    if (near)
        return att_fail(err, ATT_BAD_INPUT, place, "%s is called '%s': did you mean '%s'?", what,
                        word, near);
    return att_fail(err, ATT_BAD_INPUT, place, "%s is called '%s'", what, word);
}

static int64_t heads_of(const att_trace_step *step)
{
    int64_t heads = 0;
    for (size_t i = 0; i < step->part_count; i++)
        heads = att_max_i64(heads, step->parts[i].head);
    return heads;
}

static att_status fail_part(const att_trace_step *step, const struct selector *selector,
                            const char *place, att_error *err)
{
    if (selector->head > heads_of(step))
        return att_fail(err, ATT_BAD_INPUT, place,
                        "head %" PRId64 " is out of range: '%s' has %" PRId64, selector->head,
                        step->name, heads_of(step));
    size_t names = 0;
    const char **known = att_alloc(step->part_count, sizeof *known);
    if (!known)
        return att_fail_memory(err);
    for (size_t i = 0; i < step->part_count; i++)
        if (selector->head == 0 || step->parts[i].head == selector->head)
            known[names++] = step->parts[i].name;
    char what[128] = "no part of '";
    strncat(what, step->name, 96);
    strcat(what, "'");
    att_status status = fail_name(what, selector->part, known, names, place, err);
    att_free(known);
    return status;
}

static att_status fail_only(const att_sheet *const *sheets, size_t count, const char *only,
                            att_error *err)
{
    const char *place = count == 1 ? sheets[0]->name : NULL;
    struct selector selector = selector_of(only);
    const att_trace_step *step = named_step(sheets, count, &selector);
    if (step && (selector.part || selector.head > 0))
        return fail_part(step, &selector, place, err);
    size_t steps = 0, names = 0;
    for (size_t s = 0; s < count; s++)
        steps += sheets[s]->step_count;
    const char **known = att_alloc(steps, sizeof *known);
    if (!known)
        return att_fail_memory(err);
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < sheets[s]->step_count; i++)
            if (sheets[s]->steps[i].name)
                known[names++] = sheets[s]->steps[i].name;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(selector.length < 120 ? selector.length : 120), only);
    att_status status = fail_name("no step", name, known, names, place, err);
    att_free(known);
    return status;
}

static const char *const format_names[ATT_FORMAT_COUNT] = {
    [ATT_FORMAT_TEXT] = "text", [ATT_FORMAT_MARKDOWN] = "Markdown", [ATT_FORMAT_LATEX] = "LaTeX",
    [ATT_FORMAT_HTML] = "HTML", [ATT_FORMAT_JSON] = "JSON",         [ATT_FORMAT_SVG] = "SVG",
};

att_status att_render_options_resolve(att_render_options *out, const att_render_options *options,
                                      int formats, const char *object, att_error *err)
{
    ATT_TRY(ATT_OPTIONS_COPY(att_render_options, out, options, err));
    if ((size_t)out->format >= ATT_FORMAT_COUNT)
        return att_fail(err, ATT_BAD_INPUT, "format", "unknown format number %d", (int)out->format);
    if (!(formats >> out->format & 1))
        return att_fail(err, ATT_BAD_INPUT, "format", "%s cannot be rendered as %s", object,
                        format_names[out->format]);
    if (out->digits < -1 || out->digits > ATT_DIGITS_MAX)
        return att_fail(err, ATT_BAD_INPUT, "digits", "expected at most %d, found %d",
                        ATT_DIGITS_MAX, out->digits);
    out->digits = out->digits == 0 ? ATT_DIGITS_DEFAULT : (int)att_max_i64(out->digits, 0);
    return ATT_OK;
}

att_status att_render_options_check(const att_sheet *const *sheets, size_t count,
                                    const att_render_options *options, att_error *err)
{
    const char *place = count == 1 ? sheets[0]->name : NULL;
    int64_t head = att_render_head(options);
    if (options->head > 0 && head != options->head)
        return att_fail(err, ATT_BAD_INPUT, place, "'%s' does not belong to head %" PRId64,
                        options->only, options->head);
    struct extent extent = measure(sheets, count, options);
    bool by_head = head != options->head; /* checks have no head */
    if (options->only && (by_head ? extent.values : extent.steps) == 0)
        return fail_only(sheets, count, options->only, err);
    if (options->row < 0 || options->row > att_max_i64(extent.rows, 0))
        return att_fail(err, ATT_BAD_INPUT, place,
                        "row %" PRId64 " is out of range: the largest matrix shown has %" PRId64,
                        options->row, extent.rows);
    if (options->head < 0 || options->head > extent.heads)
        return att_fail(err, ATT_BAD_INPUT, place,
                        "head %" PRId64
                        " is out of range: the largest number of heads shown is %" PRId64,
                        options->head, extent.heads);
    return ATT_OK;
}
