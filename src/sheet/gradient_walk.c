/* The walk over the record, from the result to the inputs: which values matter, what was sent to
 * each, and the steps of the trace. */
#include "sheet/gradient_walk.h"

#include "base/progress.h"
#include "sheet/matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

att_arena *att_backward_arena(const att_backward *walk)
{
    return walk->scope->arena;
}

att_error *att_backward_error(const att_backward *walk)
{
    return walk->scope->err;
}

struct att_adjoint *att_backward_adjoint(const att_backward *walk, const att_matrix *matrix)
{
    const att_recorded_value *value = att_record_find(walk->record, matrix);
    return value ? &walk->adjoints[value - walk->record->values] : NULL;
}

bool att_backward_wants(const att_backward *walk, const att_matrix *value)
{
    const struct att_adjoint *adjoint = att_backward_adjoint(walk, value);
    return adjoint && adjoint->wanted;
}

/* ---- Contributions */

static double term_at(const att_terms *terms, int64_t i, int64_t j, int64_t l)
{
    double a = terms->a[i * terms->a_row + j * terms->a_col + l * terms->a_term];
    return terms->b ? a * terms->b[i * terms->b_row + j * terms->b_col + l * terms->b_term] : a;
}

static void add_terms(att_matrix *to, const att_terms *terms)
{
    for (int64_t i = 0; i < to->rows; i++, att_progress_poll())
        for (int64_t j = 0; j < to->cols; j++) {
            double sum = 0;
            for (int64_t l = 0; l < terms->count; l++) {
                double term = term_at(terms, i, j, l);
                sum += term;
                if (isfinite(term))
                    to->magnitude = fmax(to->magnitude, fabs(terms->scale * term));
            }
            to->data[i * to->cols + j] += terms->scale == 1 ? sum : terms->scale * sum;
        }
}

static void add_contribution(att_matrix *to, const att_contribution *part)
{
    if (part->value && part->next)
        to->magnitude = fmax(to->magnitude, att_matrix_largest(part->value));
    for (int64_t i = 0; part->value && i < to->rows * to->cols; i++)
        to->data[i] += part->value->data[i];
    if (!part->value)
        add_terms(to, &part->terms);
}

att_status att_backward_send(att_backward *walk, const att_matrix *to, att_contribution part)
{
    struct att_adjoint *adjoint = att_backward_adjoint(walk, to);
    if (!adjoint || !adjoint->wanted)
        return ATT_OK;
    att_contribution *copy = att_arena_alloc(walk->scope->arena, 1, sizeof *copy);
    if (!copy || !part.formula)
        return att_fail_memory(walk->scope->err);
    *copy = part;
    if (!adjoint->end)
        adjoint->end = &adjoint->first;
    *adjoint->end = copy;
    adjoint->end = (const att_contribution **)&copy->next;
    return ATT_OK;
}

/* ---- Calculations */

static const char *d_name(att_backward *walk, const att_matrix *matrix)
{
    const char *name = att_backward_name_text(walk, matrix);
    return name ? att_arena_printf(walk->scope->arena, "d%s", name) : NULL;
}

static att_expr *number(att_arena *arena, double value)
{
    return att_make_number(arena, value);
}

/* scale·(a·b + …), or a·b + … */
static void write_terms(att_expr_sum *sum, const att_terms *terms, int64_t i, int64_t j)
{
    att_arena *arena = sum->arena;
    att_expr_sum inner = { .arena = arena };
    att_expr_sum *to = terms->scale == 1 ? sum : &inner;
    for (int64_t l = 0; l < terms->count; l++) {
        double a = terms->a[i * terms->a_row + j * terms->a_col + l * terms->a_term];
        att_expr *factor = number(arena, a);
        if (terms->b)
            factor = att_make_binary(
                arena, ATT_OP_MULTIPLY, factor,
                number(arena, terms->b[i * terms->b_row + j * terms->b_col + l * terms->b_term]));
        att_expr_sum_add(to, factor);
    }
    if (to == &inner)
        att_expr_sum_add(
            sum, att_make_binary(arena, ATT_OP_MULTIPLY, number(arena, terms->scale), inner.expr));
}

/* Whether every number is only passed on, perhaps with a factor that the formula has. */
static bool is_plain(const att_contribution *part)
{
    return !part->write && part->terms.count <= 1 && !part->terms.b;
}

static bool has_calculation(const att_contribution *first, const att_matrix *grad)
{
    int64_t terms = 0;
    bool plain = !first->next;
    for (const att_contribution *part = first; part; part = part->next) {
        if (!part->write && part->terms.count == 0)
            return false;
        terms += part->write ? part->term_count : part->terms.count;
        plain = plain && is_plain(part);
    }
    return !plain && att_calculation_fits(grad->rows, grad->cols, terms);
}

static att_expr *write_element(att_arena *arena, const att_contribution *first, int64_t i,
                               int64_t j)
{
    att_expr_sum sum = { .arena = arena };
    for (const att_contribution *part = first; part; part = part->next) {
        if (part->write)
            att_expr_sum_add(&sum, part->write(arena, part->of, i, j));
        else
            write_terms(&sum, &part->terms, i, j);
    }
    return sum.expr;
}

static att_status write_calculations(att_backward *walk, const char *name,
                                     const att_contribution *first, const att_matrix *grad,
                                     att_calculations *out)
{
    att_arena *arena = walk->scope->arena;
    if (!has_calculation(first, grad))
        return ATT_OK;
    ATT_TRY(
        att_calculations_start(out, arena, (size_t)(grad->rows * grad->cols), walk->scope->err));
    for (int64_t i = 0; i < grad->rows; i++)
        for (int64_t j = 0; j < grad->cols; j++) {
            if (grad->allowed && !grad->allowed[i * grad->cols + j])
                continue;
            ATT_TRY(att_calculations_add_number(out, arena, i + 1,
                                                att_make_indexed(arena, name, i + 1, j + 1),
                                                write_element(arena, first, i, j),
                                                grad->data[i * grad->cols + j], walk->scope->err));
        }
    return ATT_OK;
}

/* ---- Steps */

/* "a.grad.weights": how the sheet reads the gradient; NULL: it cannot. */
static const char *path_of(const att_backward *walk, const att_recorded_value *value)
{
    if (!value->name || !att_backward_is_current(walk, value))
        return "";
    size_t base = strcspn(value->name, ".[");
    return att_arena_printf(walk->scope->arena, "%.*s.grad%s", (int)base, value->name,
                            value->name + base);
}

/* "u1 is q * W" for a value without a name; "h of line 3" for a name that was assigned again. */
static const char *explain_name(att_backward *walk, const att_recorded_value *value,
                                const char *name)
{
    char quote[ATT_QUOTE_SIZE];
    if (value->name)
        return att_arena_printf(walk->scope->arena, "%s is %s of line %d", name, value->name,
                                value->line);
    if (value->loop && strncmp(name, value->loop, strlen(value->loop)) == 0)
        return att_arena_printf(walk->scope->arena, "%s is %s in step %" PRId64 " of line %d", name,
                                value->loop, value->step, value->line);
    const att_expr *node = walk->record->computations[value->producer].node;
    if (node->line == 0)
        return name;
    return att_arena_printf(walk->scope->arena, "%s is %s", name,
                            att_sheet_source_quote(walk->scope->source, node, quote));
}

/* What the step is, then the rule that gives it. */
static const char *describe(att_backward *walk, const att_recorded_value *value, const char *name,
                            const att_contribution *first)
{
    const char *path = path_of(walk, value);
    const char *what = path && !*path ? explain_name(walk, value, name) : path;
    const char *reason =
        first->next ? "used more than once, so the contributions add up" : first->reason;
    if (!what || !reason)
        return what;
    return att_arena_printf(walk->scope->arena, "%s: %s", what, reason);
}

static att_expr *add_formulas(att_backward *walk, const att_contribution *first)
{
    att_expr_sum sum = { .arena = walk->scope->arena };
    for (const att_contribution *part = first; part; part = part->next)
        att_expr_sum_add(&sum, part->formula);
    return sum.expr;
}

att_status att_backward_show(att_backward *walk, const att_trace_part *part)
{
    void *parts = walk->parts;
    if (!part->name || !part->value ||
        !att_arena_array_grow(walk->scope->arena, &parts, &walk->part_capacity, walk->part_count,
                              sizeof *part))
        return att_fail_memory(walk->scope->err);
    walk->parts = parts;
    walk->parts[walk->part_count++] = *part;
    return ATT_OK;
}

static att_status add_step(att_backward *walk, const att_recorded_value *value,
                           const att_contribution *first, const att_matrix *grad)
{
    att_calculations calculations = { 0 };
    const char *name = d_name(walk, value->matrix);
    const char *description = name ? describe(walk, value, name + 1, first) : NULL;
    const char *path = path_of(walk, value);
    att_expr *formula = add_formulas(walk, first);
    if (!name || !description || !path || !formula)
        return att_fail_memory(walk->scope->err);
    ATT_TRY(write_calculations(walk, name, first, grad, &calculations));
    const att_trace_part part = { .name = name,
                                  .path = *path ? path : NULL,
                                  .description = description,
                                  .formula = formula,
                                  .value = grad,
                                  .calculations = calculations.items,
                                  .calculation_count = calculations.count };
    return att_backward_show(walk, &part);
}

att_status att_backward_show_worked(att_backward *walk, const char *name,
                                    const att_contribution *part, bool inner)
{
    att_calculations calculations = { 0 };
    if (!part->formula || !part->value)
        return att_fail_memory(walk->scope->err);
    ATT_TRY(write_calculations(walk, name, part, part->value, &calculations));
    return att_backward_show(walk, &(att_trace_part){ .name = name,
                                                      .inner = inner,
                                                      .description = part->reason,
                                                      .formula = part->formula,
                                                      .value = part->value,
                                                      .calculations = calculations.items,
                                                      .calculation_count = calculations.count });
}

static att_status complete(att_backward *walk, const att_matrix *matrix,
                           const att_contribution *shown, const att_matrix *grad)
{
    const att_recorded_value *value = att_record_find(walk->record, matrix);
    size_t index = (size_t)(value - walk->record->values);
    walk->adjoints[index].finished = true;
    walk->result->grads[index] = grad;
    return add_step(walk, value, shown, grad);
}

att_status att_backward_sent(att_backward *walk, const att_matrix *matrix, const att_matrix **out)
{
    const struct att_adjoint *adjoint = att_backward_adjoint(walk, matrix);
    *out = NULL;
    if (!adjoint || !adjoint->first)
        return ATT_OK;
    att_matrix *grad =
        att_matrix_like(walk->scope->arena, att_record_find(walk->record, matrix)->matrix);
    if (!grad)
        return att_fail_memory(walk->scope->err);
    grad->magnitude = 0; /* of the terms that follow, not of the value */
    for (const att_contribution *part = adjoint->first; part; part = part->next)
        add_contribution(grad, part);
    for (int64_t i = 0; grad->allowed && i < grad->rows * grad->cols; i++)
        if (!grad->allowed[i]) /* a masked pair does not change with anything */
            grad->data[i] = 0;
    *out = grad;
    return ATT_OK;
}

att_expr *att_backward_sent_formula(att_backward *walk, const att_matrix *matrix)
{
    const struct att_adjoint *adjoint = att_backward_adjoint(walk, matrix);
    return adjoint && adjoint->first ? add_formulas(walk, adjoint->first) : NULL;
}

att_status att_backward_finish(att_backward *walk, const att_matrix *matrix, const att_matrix **out)
{
    const struct att_adjoint *adjoint = att_backward_adjoint(walk, matrix);
    *out = NULL;
    if (!adjoint || !adjoint->first)
        return ATT_OK;
    if (adjoint->finished) {
        *out = walk->result->grads[adjoint - walk->adjoints];
        return ATT_OK;
    }
    ATT_TRY(att_backward_sent(walk, matrix, out));
    return complete(walk, matrix, adjoint->first, *out);
}

att_status att_backward_finish_as(att_backward *walk, const att_matrix *matrix,
                                  const att_contribution *part)
{
    return complete(walk, matrix, part, part->value);
}

att_status att_backward_keep(att_backward *walk, const att_trace_part *part,
                             const att_matrix *gradient)
{
    att_kept_gradient *kept = att_arena_alloc(walk->scope->arena, 1, sizeof *kept);
    if (!kept || !gradient)
        return att_fail_memory(walk->scope->err);
    *kept = (att_kept_gradient){ .next = walk->result->kept,
                                 .data = part->value->data,
                                 .name = part->name,
                                 .gradient = gradient,
                                 .computation = walk->computation };
    walk->result->kept = kept;
    return ATT_OK;
}

const att_matrix *att_backward_kept(const att_backward *walk, const char *part)
{
    for (const att_kept_gradient *kept = walk->result->kept; kept; kept = kept->next)
        if (kept->computation == walk->computation && strcmp(kept->name, part) == 0)
            return kept->gradient;
    return NULL;
}

/* ---- What matters */

static bool is_asked_for(const att_gradient_request *request, const att_recorded_value *value)
{
    if (!request->inputs)
        return value->name != NULL;
    for (size_t i = 0; i < request->input_count; i++)
        if (request->inputs[i]->data == value->matrix->data)
            return true;
    return false;
}

/* Whether something that is wanted is behind the computation's result: an input, or one of its own
 * parts. */
static bool depends(const att_backward *walk, const att_computation *computation)
{
    for (size_t i = 0; i < computation->output.part_count; i++)
        if (att_backward_wants(walk, computation->output.parts[i].value))
            return true;
    for (size_t i = 0; i < computation->input_count; i++)
        if (att_backward_wants(walk, computation->inputs[i]))
            return true;
    return false;
}

/* Wants what the computation at `index` has made. */
static void want_outputs(att_backward *walk, size_t index)
{
    const att_value *output = &walk->record->computations[index].output;
    for (size_t i = 0; i <= output->part_count; i++) {
        const att_matrix *matrix = i < output->part_count ? output->parts[i].value : output->matrix;
        const att_recorded_value *value = att_record_find(walk->record, matrix);
        if (value && value->producer == index)
            walk->adjoints[value - walk->record->values].wanted = true;
    }
}

static void mark_wanted(att_backward *walk, size_t count)
{
    for (size_t i = 0; i < walk->record->value_count; i++) {
        walk->adjoints[i].wanted = is_asked_for(walk->request, &walk->record->values[i]);
        walk->adjoints[i].first_use = ATT_NOT_COMPUTED;
    }
    for (size_t i = 0; i < count; i++) {
        const att_computation *computation = &walk->record->computations[i];
        if (computation->spec && computation->spec->backward && depends(walk, computation))
            want_outputs(walk, i);
    }
}

/* Marks the computations that the result depends on, and the first of them to use each value. */
static void mark_needed(att_backward *walk, size_t last)
{
    walk->needed[last] = true;
    for (size_t i = last + 1; i-- > 0;) {
        const att_computation *computation = &walk->record->computations[i];
        for (size_t k = 0; walk->needed[i] && k < computation->input_count; k++) {
            const att_recorded_value *value = att_record_find(walk->record, computation->inputs[k]);
            if (!value || !walk->adjoints[value - walk->record->values].wanted)
                continue;
            walk->adjoints[value - walk->record->values].first_use = i;
            if (value->producer != ATT_NOT_COMPUTED)
                walk->needed[value->producer] = true;
        }
    }
}

/* ---- The walk */

/* Completes the inputs of the sheet whose uses have all been passed. */
static att_status finish_inputs(att_backward *walk, const att_computation *computation)
{
    for (size_t i = 0; i < computation->input_count; i++) {
        const att_recorded_value *value = att_record_find(walk->record, computation->inputs[i]);
        if (!value || value->producer != ATT_NOT_COMPUTED)
            continue;
        const struct att_adjoint *adjoint = &walk->adjoints[value - walk->record->values];
        const att_matrix *ignored;
        if (adjoint->first_use == walk->computation && !adjoint->finished)
            ATT_TRY(att_backward_finish(walk, value->matrix, &ignored));
    }
    return ATT_OK;
}

/* The name of the result is that of its expression, and its gradient is 1 or what was given. */
static att_status send_start(att_backward *walk)
{
    const att_gradient_request *request = walk->request;
    att_arena *arena = walk->scope->arena;
    const att_matrix *start = request->with ? request->with : att_matrix_scalar(arena, 1);
    if (!start)
        return att_fail_memory(walk->scope->err);
    return att_backward_send(
        walk, request->of,
        (att_contribution){ .reason = request->with ? "the gradient to start with" : "the start",
                            .formula = request->with ? att_backward_name(walk, start)
                                                     : att_make_number(arena, 1),
                            .value = start });
}

/* Completes what a computation made that has no gradient itself: for the walk it is an input. */
static att_status finish_outputs(att_backward *walk, const att_computation *computation)
{
    const att_value *output = &computation->output;
    for (size_t i = 0; i <= output->part_count; i++) {
        const att_matrix *matrix = i < output->part_count ? output->parts[i].value : output->matrix;
        const att_recorded_value *value = att_record_find(walk->record, matrix);
        if (value && value->producer == walk->computation)
            ATT_TRY(att_backward_finish(walk, matrix, &matrix));
    }
    return ATT_OK;
}

static att_status walk_back(att_backward *walk, size_t last)
{
    for (size_t i = last + 1; i-- > 0;) {
        const att_computation *computation = &walk->record->computations[i];
        if (!walk->needed[i])
            continue;
        walk->computation = i;
        if (computation->spec && computation->spec->backward)
            ATT_TRY(computation->spec->backward(walk, computation));
        else
            ATT_TRY(finish_outputs(walk, computation));
        ATT_TRY(finish_inputs(walk, computation));
        ATT_TRY(att_progress_check(walk->scope->err));
    }
    return ATT_OK;
}

static bool allocate(att_backward *walk, const att_scope *scope)
{
    const att_record *record = scope->record;
    att_arena *arena = scope->arena;
    walk->adjoints = att_arena_alloc(arena, record->value_count, sizeof *walk->adjoints);
    walk->needed = att_arena_alloc(arena, record->computation_count, sizeof *walk->needed);
    walk->result = att_arena_alloc(arena, 1, sizeof *walk->result);
    if (!walk->adjoints || !walk->needed || !walk->result)
        return false;
    walk->result->value_count = record->value_count;
    walk->result->grads = att_arena_alloc(arena, record->value_count, sizeof *walk->result->grads);
    return walk->result->grads != NULL;
}

att_status att_gradient_walk(const att_scope *scope, const att_gradient_request *request,
                             att_gradient **out, att_trace_part **parts, size_t *part_count)
{
    att_backward walk = { .scope = scope, .request = request, .record = scope->record };
    const att_recorded_value *value = att_record_find(scope->record, request->of);
    if (!allocate(&walk, scope))
        return att_fail_memory(scope->err);
    if (value) {
        bool computed = value->producer != ATT_NOT_COMPUTED;
        mark_wanted(&walk, computed ? value->producer + 1 : 0);
        ATT_TRY(send_start(&walk));
        const att_matrix *ignored;
        if (computed) {
            mark_needed(&walk, value->producer);
            ATT_TRY(walk_back(&walk, value->producer));
        } else {
            ATT_TRY(att_backward_finish(&walk, request->of, &ignored));
        }
    }
    *out = walk.result;
    *parts = walk.parts;
    *part_count = walk.part_count;
    return ATT_OK;
}
