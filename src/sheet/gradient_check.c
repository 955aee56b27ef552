/* gradient L check: every number of every input is moved a little, the computations that depend on
 * it run again, and the change of the result is compared with the gradient. Computations write to
 * where their first results are, which are put back afterwards. */
#include "sheet/gradient.h"

#include "base/minmax.h"
#include "base/progress.h"

#include <math.h>
#include <string.h>

/* The steps of the differences, relative to a number above 1, tried in turn. The formula with four
 * points has an error of h⁴ f⁽⁵⁾ / 30, and rounding adds about 1e-16 |f| / h: both are far below
 * TOLERANCE. A smaller step is for a function that bends within the larger one: beside a kink, or
 * a norm of numbers that are nearly equal. */
static const double steps[] = { 1e-4, 1e-5, 1e-6 };
#define TOLERANCE 1e-6

/* Of |f|: what rounding may add to the differences. */
#define ROUNDING 1e-10

/* Multiplications of a whole check: seconds in plain loops. */
#define MAX_WORK 2e9

/* The computations between one input and the result. */
struct replay {
    att_scope scope; /* with a scratch arena */
    const att_record *record;
    const att_gradient_request *request;
    const att_computation **computations; /* in order */
    size_t count;
    bool *changed;  /* [value_count] depends on the input */
    double **saved; /* [value_count] the first numbers of what they compute */
};

static bool is_changed(const struct replay *replay, const att_matrix *matrix)
{
    const att_recorded_value *value = att_record_find(replay->record, matrix);
    return value && replay->changed[value - replay->record->values];
}

static size_t size_of(const att_matrix *matrix)
{
    return (size_t)(matrix->rows * matrix->cols) * sizeof(double);
}

/* Keeps the numbers of a result that will be overwritten. */
static bool save(struct replay *replay, att_arena *arena, const att_matrix *matrix, size_t producer)
{
    const att_recorded_value *value = att_record_find(replay->record, matrix);
    size_t index = value ? (size_t)(value - replay->record->values) : 0;
    if (!value || value->producer != producer || replay->changed[index])
        return true;
    replay->changed[index] = true;
    replay->saved[index] = att_arena_alloc(arena, 1, size_of(matrix));
    if (replay->saved[index])
        memcpy(replay->saved[index], matrix->data, size_of(matrix));
    return replay->saved[index] != NULL;
}

static bool save_outputs(struct replay *replay, att_arena *arena, size_t index)
{
    const att_value *output = &replay->record->computations[index].output;
    for (size_t i = 0; i < output->part_count; i++)
        if (!save(replay, arena, output->parts[i].value, index))
            return false;
    return save(replay, arena, output->matrix, index);
}

/* Marks what the computation `last` depends on; NULL when memory is out. */
static bool *mark_needed(const att_record *record, att_arena *arena, size_t last)
{
    bool *needed = att_arena_alloc(arena, last + 1, sizeof *needed);
    if (!needed)
        return NULL;
    needed[last] = true;
    for (size_t i = last + 1; i-- > 0;) {
        const att_computation *computation = &record->computations[i];
        for (size_t k = 0; needed[i] && k < computation->input_count; k++) {
            const att_recorded_value *value = att_record_find(record, computation->inputs[k]);
            if (value && value->producer != ATT_NOT_COMPUTED)
                needed[value->producer] = true;
        }
    }
    return needed;
}

/* Finds what depends on the value and leads to the computation `last`. */
static bool find_computations(struct replay *replay, att_arena *arena, size_t value, size_t last)
{
    const att_record *record = replay->record;
    replay->computations = att_arena_alloc(arena, last + 1, sizeof *replay->computations);
    replay->changed = att_arena_alloc(arena, record->value_count, sizeof *replay->changed);
    replay->saved = att_arena_alloc(arena, record->value_count, sizeof *replay->saved);
    const bool *needed = mark_needed(record, arena, last);
    if (!replay->computations || !replay->changed || !replay->saved || !needed)
        return false;
    replay->changed[value] = true;
    for (size_t i = 0; i <= last; i++) {
        const att_computation *computation = &record->computations[i];
        bool depends = false;
        for (size_t k = 0; needed[i] && k < computation->input_count && !depends; k++)
            depends = is_changed(replay, computation->inputs[k]);
        if (!depends || !computation->spec)
            continue;
        replay->computations[replay->count++] = computation;
        if (!save_outputs(replay, arena, i))
            return false;
    }
    return true;
}

static void put_back(const struct replay *replay)
{
    for (size_t i = 0; replay->saved && i < replay->record->value_count; i++)
        if (replay->saved[i])
            memcpy(replay->record->values[i].matrix->data, replay->saved[i],
                   size_of(replay->record->values[i].matrix));
}

/* The result, or the sum of its elements times the gradient that was given. */
static double result_of(const att_gradient_request *request)
{
    double sum = 0;
    for (int64_t i = 0; i < request->of->rows * request->of->cols; i++)
        sum += request->with ? request->with->data[i] * request->of->data[i] : request->of->data[i];
    return sum;
}

static att_status run_at(struct replay *replay, double *number, double at, double *out)
{
    double before = *number;
    att_status status = ATT_OK;
    *number = at;
    for (size_t i = 0; i < replay->count && status == ATT_OK; i++)
        status = replay->computations[i]->spec->again(&replay->scope, replay->computations[i]);
    if (status == ATT_OK) /* otherwise the arena says whether its limit was reached */
        att_arena_free(replay->scope.arena);
    *out = result_of(replay->request);
    *number = before;
    return status;
}

/* The slope at one number by differences of four results, and how far from it the gradient may
 * be. */
static att_status measure(struct replay *replay, double *number, double step, double gradient,
                          double *slope, double *bound)
{
    double x = *number, h = step * fmax(1, fabs(x)), f[5];
    for (int n = 0; n < 5; n++)
        ATT_TRY(run_at(replay, number, x + (n - 2) * h, &f[n]));
    *slope = (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * h);
    *bound = TOLERANCE * (1 + fabs(gradient)) + ROUNDING * fabs(f[2]);
    return ATT_OK;
}

/* Whether a small step to one side leaves the piece of a function with kinks (gradient_kink.c). */
static att_status leaves_piece(struct replay *replay, double *number, double step, bool *out)
{
    double x = *number, h = step * fmax(1, fabs(x)), result;
    uint64_t pieces[3];
    for (int n = 0; n < 3; n++) {
        ATT_TRY(run_at(replay, number, x + (n - 1) * h, &result));
        *number = x + (n - 1) * h; /* it may be the input of such a function itself */
        pieces[n] = att_gradient_pieces(replay->computations, replay->count);
        *number = x;
    }
    *out = pieces[0] != pieces[1] || pieces[1] != pieces[2];
    return ATT_OK;
}

static void count_wrong(att_gradient_difference *out, const char *name, const att_matrix *of,
                        int64_t at, double gradient, double slope)
{
    if (out->wrong++ > 0)
        return;
    out->name = name;
    out->row = at / of->cols + 1;
    out->col = at % of->cols + 1;
    out->gradient = gradient;
    out->difference = slope;
    out->largest = fabs(slope - gradient) / (1 + fabs(gradient));
}

/* At a kink the gradient is a convention, which differences cannot judge. */
static att_status check_number(struct replay *replay, const att_recorded_value *value, int64_t at,
                               double gradient, att_gradient_difference *out)
{
    double *number = &value->matrix->data[at], slope = 0, bound;
    bool kink;
    out->count++;
    for (size_t i = 0; i < ATT_COUNT(steps); i++) {
        ATT_TRY(measure(replay, number, steps[i], gradient, &slope, &bound));
        double error = fabs(slope - gradient);
        if (error <= bound) {
            if (out->wrong == 0)
                out->largest = fmax(out->largest, error / (1 + fabs(gradient)));
            return ATT_OK;
        }
    }
    ATT_TRY(leaves_piece(replay, number, steps[ATT_COUNT(steps) - 1], &kink));
    if (kink)
        out->kinks++;
    else
        count_wrong(out, value->name, value->matrix, at, gradient, slope);
    return ATT_OK;
}

static att_status check_value(struct replay *replay, const att_recorded_value *value,
                              const att_matrix *gradient, att_gradient_difference *out)
{
    const att_matrix *of = value->matrix;
    for (int64_t at = 0; at < of->rows * of->cols; at++) {
        if (!isfinite(of->data[at])) /* a masked score, say */
            continue;
        ATT_TRY(check_number(replay, value, at, gradient->data[at], out));
        ATT_TRY(att_progress_check(replay->scope.err));
    }
    return ATT_OK;
}

static att_status check_input(const att_scope *scope, const att_gradient_request *request,
                              size_t index, const att_matrix *gradient,
                              att_gradient_difference *out)
{
    const att_record *record = scope->record;
    const att_recorded_value *result = att_record_find(record, request->of);
    att_arena scratch = { .limit = scope->arena->limit }, kept = { .limit = scope->arena->limit };
    struct replay replay = { .scope = *scope, .record = record, .request = request };
    replay.scope.arena = &scratch;
    replay.scope.record = NULL;
    att_status status = ATT_OK;
    if (result->producer != ATT_NOT_COMPUTED &&
        !find_computations(&replay, &kept, index, result->producer))
        status = att_fail_memory(scope->err);
    if (status == ATT_OK)
        status = check_value(&replay, &record->values[index], gradient, out);
    put_back(&replay);
    if (scratch.limit_reached || kept.limit_reached)
        scope->arena->limit_reached = true;
    att_arena_free(&scratch);
    att_arena_free(&kept);
    return status;
}

/* Whether nothing that has a gradient is behind the value. */
static bool is_source(const att_record *record, const att_gradient *gradient,
                      const att_recorded_value *value)
{
    if (value->producer == ATT_NOT_COMPUTED)
        return true;
    const att_computation *computation = &record->computations[value->producer];
    for (size_t i = 0; i < computation->input_count; i++) {
        const att_recorded_value *input = att_record_find(record, computation->inputs[i]);
        if (input && gradient->grads[input - record->values])
            return false;
    }
    return true;
}

/* Checked are the inputs that were asked for; without `for`, the names at which the walk ends. A
 * part of a result cannot be moved alone: the result's other parts are computed from it. */
static bool is_input(const att_record *record, const att_gradient_request *request,
                     const att_gradient *gradient, size_t index)
{
    const att_recorded_value *value = &record->values[index];
    if (!gradient->grads[index])
        return false;
    if (value->producer != ATT_NOT_COMPUTED &&
        record->computations[value->producer].output.part_count > 1)
        return false;
    for (size_t i = 0; i < request->input_count; i++)
        if (request->inputs[i]->data == value->matrix->data)
            return true;
    return !request->inputs && value->name && is_source(record, gradient, value);
}

/* About the multiplications of one computation: of the elements of its results, each a sum over a
 * side of an input. */
static double work_of(const att_computation *c)
{
    double elements = (double)c->output.matrix->rows * (double)c->output.matrix->cols;
    int64_t side = 1;
    for (size_t i = 0; i < c->output.part_count; i++)
        elements += (double)c->output.parts[i].value->rows * (double)c->output.parts[i].value->cols;
    for (size_t i = 0; i < c->input_count; i++)
        side = att_max_i64(side, att_max_i64(c->inputs[i]->rows, c->inputs[i]->cols));
    return elements * (double)side + 100;
}

static att_status check_work(const att_scope *scope, const att_gradient_request *request,
                             const att_gradient *gradient)
{
    const att_record *record = scope->record;
    double numbers = 0, work = 0;
    for (size_t i = 0; i < gradient->value_count; i++) {
        const att_matrix *of = record->values[i].matrix;
        if (is_input(record, request, gradient, i))
            numbers += (double)of->rows * (double)of->cols;
    }
    for (size_t i = 0; i < record->computation_count; i++)
        work += work_of(&record->computations[i]);
    if (5 * numbers * work <= MAX_WORK)
        return ATT_OK;
    return att_scope_fail(scope, request->node,
                          "a check of %.0f numbers takes more work than a sheet may: choose inputs "
                          "with 'for'",
                          numbers);
}

att_status att_gradient_check(const att_scope *scope, const att_gradient_request *request,
                              const att_gradient *gradient, att_gradient_difference *out)
{
    *out = (att_gradient_difference){ .tolerance = TOLERANCE };
    ATT_TRY(check_work(scope, request, gradient));
    if (!isfinite(result_of(request)))
        return att_scope_fail(scope, request->node,
                              "a check needs a finite result: differences of %s say nothing",
                              isnan(result_of(request)) ? "nan" : "inf");
    for (size_t i = 0; i < gradient->value_count; i++)
        if (is_input(scope->record, request, gradient, i))
            ATT_TRY(check_input(scope, request, i, gradient->grads[i], out));
    if (out->count > 0)
        return ATT_OK;
    return att_scope_fail(scope, request->node,
                          "nothing to check: expected an input after 'for', because a part of a "
                          "result cannot be changed alone");
}
