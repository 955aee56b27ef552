/* Exercises: reading a sheet, and writing question papers and solutions of its variants. */
#include "grade/exercise.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "render/formula.h"

#include <string.h>

enum { MAX_VARIANT = 200 };

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *to = att_alloc(size, 1);
    return to ? memcpy(to, text, size) : NULL;
}

/* The sheet has to be one that can be computed and asks for something. */
static att_status check(const att_exercise *exercise, att_error *err)
{
    att_sheet *sheet;
    ATT_TRY(att_exercise_compute(&sheet, exercise, "explain", err));
    size_t asks = sheet->ask_count;
    att_sheet_free(sheet);
    if (asks > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, exercise->name,
                    "an exercise asks for something: expected a line such as 'ask a.weights \"the "
                    "weights\" points 3'");
}

att_status att_exercise_read(att_exercise **out, const char *text, size_t length, const char *name,
                             const char *folder, att_error *err)
{
    att_exercise *exercise = att_alloc_zero(1, sizeof *exercise);
    *out = NULL;
    if (!exercise)
        return att_fail_memory(err);
    exercise->name = copy(name);
    exercise->folder = folder ? copy(folder) : NULL;
    att_status status = ATT_OK;
    if (!exercise->name || (folder && !exercise->folder) ||
        att_string_append(&exercise->text, text, length) != ATT_OK)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        status = check(exercise, err);
    if (status == ATT_OK)
        *out = exercise;
    else
        att_exercise_free(exercise);
    return status;
}

att_status att_exercise_load(att_exercise **out, const char *path, att_error *err)
{
    att_string text = { 0 };
    const char *slash = strrchr(path, '/');
    *out = NULL;
    ATT_TRY(att_file_read(&text, path, (size_t)16 << 20, err));
    char *folder = copy(slash ? path : ".");
    if (folder && slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    att_status status =
        folder ? att_exercise_read(out, text.data ? text.data : "", text.length, path, folder, err)
               : att_fail_memory(err);
    att_free(folder);
    att_string_free(&text);
    return status;
}

void att_exercise_free(att_exercise *exercise)
{
    if (!exercise)
        return;
    att_string_free(&exercise->text);
    att_free(exercise->name);
    att_free(exercise->folder);
    att_free(exercise);
}

att_status att_exercise_compute(att_sheet **out, const att_exercise *exercise, const char *variant,
                                att_error *err)
{
    *out = NULL;
    if (strlen(variant) == 0 || strlen(variant) > MAX_VARIANT)
        return att_fail(err, ATT_BAD_INPUT, exercise->name,
                        "the name of a variant has 1 to %d bytes, found %zu", MAX_VARIANT,
                        strlen(variant));
    return att_sheet_run_variant(out, exercise->text.data ? exercise->text.data : "",
                                 exercise->text.length, exercise->name, exercise->folder, variant,
                                 err);
}

att_status att_exercise_compute_scenario(att_sheet **out, const att_exercise *exercise,
                                         const char *variant, att_scenario *scenario,
                                         att_error *err)
{
    bool complete;
    return att_sheet_run_scenario(out, exercise->text.data, exercise->text.length, exercise->name,
                                  exercise->folder, variant, scenario, &complete, err);
}

/* ---- Papers */

/* Whether the value stands in the sheet as numbers, so that the question paper may state it. */
static bool is_stated(const att_trace_step *step)
{
    const att_expr *formula = step->formula;
    if (step->given || !formula)
        return true;
    if (formula->kind == ATT_EXPR_LIST) {
        for (size_t i = 0; i < formula->children; i++)
            if (formula->child[i]->kind != ATT_EXPR_MATRIX)
                return false;
        return true;
    }
    return formula->kind == ATT_EXPR_LOAD || att_expr_is_literal(formula);
}

/* What a question paper may state of a step: of a computed value its name and its formula. Members
 * are copied one by one, so that a new one of the trace does not give numbers away. */
static att_trace_step public_part(const att_trace_step *step)
{
    att_trace_step out = { .kind = step->kind,
                           .line = step->line,
                           .source = step->source,
                           .text = step->text,
                           .level = step->level,
                           .name = step->name,
                           .formula = step->formula,
                           .detail = step->detail,
                           .ask = step->ask,
                           .given = step->given };
    bool computed =
        step->kind == ATT_STEP_GRADIENT || (step->kind == ATT_STEP_VALUE && !is_stated(step));
    if (computed) {
        out.comment = step->kind == ATT_STEP_VALUE ? step->text : NULL; /* for x of X */
        return out;
    }
    out.comment = step->comment;
    out.value = step->value;
    out.parts = step->parts; /* the items of a list */
    out.part_count = step->part_count;
    return out;
}

/* The steps of the question paper: prose, what is given, the formulas of what is computed without
 * its numbers, and the asks. Checks, plots, gradients and diagrams would give numbers away. */
static void hide_values(att_sheet *sheet)
{
    size_t kept = 0;
    for (size_t i = 0; i < sheet->step_count; i++) {
        att_trace_step step = sheet->steps[i];
        if (step.kind == ATT_STEP_CHECK || step.kind == ATT_STEP_ERROR ||
            step.kind == ATT_STEP_PLOT || step.kind == ATT_STEP_GRADIENT ||
            step.kind == ATT_STEP_DIAGRAM || (step.kind == ATT_STEP_VALUE && !step.name))
            continue;
        sheet->steps[kept++] = public_part(&step);
    }
    sheet->step_count = kept;
    sheet->checks = 0;
    sheet->failures = 0;
    sheet->map_count = 0;
}

/* Adds a paragraph before step `at`. */
static att_status add_prose(att_sheet *sheet, size_t at, const char *text, att_error *err)
{
    void *steps = sheet->steps;
    if (!text || !att_arena_array_grow(&sheet->arena, &steps, &sheet->step_capacity,
                                       sheet->step_count, sizeof *sheet->steps))
        return att_fail_memory(err);
    sheet->steps = steps;
    memmove(sheet->steps + at + 1, sheet->steps + at,
            (sheet->step_count++ - at) * sizeof *sheet->steps);
    sheet->steps[at] = (att_trace_step){ .kind = ATT_STEP_PROSE, .source = text, .text = text };
    return ATT_OK;
}

/* How to hand the answers in. */
static att_status add_instructions(att_sheet *sheet, att_error *err)
{
    return add_prose(sheet, sheet->step_count,
                     att_arena_printf(&sheet->arena,
                                      "Hand in a text file with a line for each answer, such as "
                                      "'%s = …'; matrices as [1 2; 3 4], as a NumPy array or row "
                                      "by row. A .npz file and a notebook are read too.",
                                      sheet->asks[0]->name),
                     err);
}

/* Whose numbers these are, below the title. */
static att_status add_variant(att_sheet *sheet, const char *variant, att_error *err)
{
    bool titled = sheet->step_count > 0 && sheet->steps[0].kind == ATT_STEP_HEADING;
    if (!sheet->random || strcmp(variant, "explain") == 0) /* the numbers of the sheet itself */
        return ATT_OK;
    return add_prose(sheet, titled,
                     att_arena_printf(&sheet->arena,
                                      sheet->solution ? "Solution of variant %s."
                                                      : "Your numbers are those of variant %s.",
                                      variant),
                     err);
}

att_status att_exercise_render(att_string *out, const att_exercise *exercise, const char *variant,
                               bool solution, const att_render_options *options, att_error *err)
{
    att_sheet *sheet;
    ATT_TRY(att_exercise_compute(&sheet, exercise, variant, err));
    const char *slash = strrchr(sheet->name, '/');
    sheet->paper = true;
    sheet->solution = solution;
    sheet->name = slash ? slash + 1 : sheet->name; /* folders are no concern of the readers */
    att_status status = ATT_OK;
    if (!solution) {
        hide_values(sheet);
        status = add_instructions(sheet, err);
    }
    if (status == ATT_OK)
        status = add_variant(sheet, variant, err);
    if (status == ATT_OK)
        status = att_sheet_render(out, sheet, options, err);
    att_sheet_free(sheet);
    return status;
}
