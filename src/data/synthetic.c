/* The data of the synthetic tasks for callers of the library (att_synthetic_data in attend.h). */
#include "attend.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/string.h"
#include "data/synthetic_shapes.h"
#include "data/synthetic_strings.h"
#include "settings/settings.h"

static att_status generate_shapes(att_string *lines, att_tensor *images,
                                  const att_settings *settings, bool valid, att_error *err)
{
    att_image_grids grids = { 0 };
    att_status status = att_shapes_generate(&grids, lines, settings, valid, err);
    if (status == ATT_OK && images) {
        const int64_t shape[] = { grids.count, grids.rows, grids.columns, grids.depth };
        *images = att_tensor_view(grids.values, ATT_F32, 4, shape);
        images->owned = grids.owned.owned;
        return ATT_OK;
    }
    att_image_grids_free(&grids);
    return status;
}

static att_status generate(att_string *lines, att_tensor *images, const att_settings *settings,
                           bool valid, att_error *err)
{
    switch (settings->task) {
    case ATT_TASK_SHAPES:
        return generate_shapes(lines, images, settings, valid, err);
    case ATT_TASK_REVERSE:
    case ATT_TASK_COPY:
    case ATT_TASK_SORT: {
        att_string other = { 0 };
        att_status status =
            att_task_generate(valid ? &other : lines, valid ? lines : &other, settings, err);
        att_string_free(&other);
        return status;
    }
    default:
        return att_fail(err, ATT_BAD_INPUT, "task",
                        "expected a task that generates its data (reverse, copy, sort or shapes)");
    }
}

att_status att_synthetic_data(att_string *lines, att_tensor *images, const att_settings *settings,
                              bool valid, att_error *err)
{
    if (images)
        *images = (att_tensor){ 0 };
    att_string made = { 0 };
    att_progress_scope scope;
    att_progress_begin(&scope, "generating data", 0);
    att_status status = att_settings_check(settings, err);
    if (status == ATT_OK)
        status = generate(&made, images, settings, valid, err);
    if (status == ATT_OK && att_string_append(lines, made.data, made.length) != ATT_OK)
        status = att_fail_memory(err);
    att_string_free(&made);
    status = att_progress_end(&scope, status, err);
    if (status != ATT_OK && images)
        att_tensor_free(images);
    return status;
}
