/* The checks of a sheet that did not hold, told as errors are, so that a program shows both alike.
 */
#include "base/error.h"
#include "sheet/trace.h"

static bool failed(const att_select *step)
{
    return step->kind == ATT_STEP_CHECK && !step->check->passed;
}

void att_sheet_failure_get(att_error *out, const att_sheet *sheet, size_t index)
{
    *out = (att_error){ 0 };
    for (size_t i = 0; i < sheet->step_count; i++) {
        const att_select *step = &sheet->steps[i];
        if (!failed(step) || index-- > 0)
            continue;
        att_fail_at(out, ATT_BAD_INPUT, sheet->name, step->line, 0, step->source, "%s",
                    step->check->message);
        return;
    }
}
