/* An exercise: the text of a sheet with `ask` lines, which is computed for each variant. */
#ifndef ATT_GRADE_EXERCISE_H
#define ATT_GRADE_EXERCISE_H

#include "attend.h"
#include "sheet/interpreter.h"
#include "sheet/scenario.h"

struct att_exercise {
    att_string text;
    char *name;
    char *folder; /* or NULL */
};

/* Computes the sheet for a variant; the caller frees it. */
att_status att_exercise_compute(att_sheet **out, const att_exercise *exercise, const char *variant,
                                att_error *err);

/* Computes it under a scenario (sheet/scenario.h). */
att_status att_exercise_compute_scenario(att_sheet **out, const att_exercise *exercise,
                                         const char *variant, att_scenario *scenario,
                                         att_error *err);

#endif
