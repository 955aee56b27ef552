/* The learning curves of a model, from the training record in its file. */
#include "attend.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "model/model.h"
#include "render/view.h"

#include <math.h>
#include <string.h>

enum { CURVES = 2 };

/* The numbers under `key` of each validation; NaN where one lacks it. */
static const double *read_curve(const att_json *history, size_t count, const char *key,
                                att_arena *memory)
{
    double *values = att_arena_alloc(memory, count, sizeof *values);
    for (size_t i = 0; values && i < count; i++) {
        const att_json *item = NULL;
        values[i] = NAN;
        if (att_json_get_item(&item, history, i, ATT_JSON_OBJECT, "training", NULL) == ATT_OK)
            (void)att_json_get_number(&values[i], item, key, "training", NULL);
    }
    return values;
}

static att_status render(att_string *out, const att_json *history, size_t count,
                         const att_render_options *options, att_error *err)
{
    att_arena memory = { 0 };
    const double *steps = read_curve(history, count, "step", &memory);
    const att_curve curves[CURVES] = {
        { "training loss", read_curve(history, count, "train_loss", &memory) },
        { "validation loss", read_curve(history, count, "loss", &memory) },
    };
    att_status status;
    if (steps && curves[0].values && curves[1].values) {
        const att_plot plot = { .title = "Learning curves",
                                .x_label = "step",
                                .y_label = "loss, nats per token",
                                .count = (int64_t)count,
                                .curves = curves,
                                .curve_count = CURVES,
                                .linear = true,
                                .x_first = isfinite(steps[0]) ? (int64_t)steps[0] : 1,
                                .x_last = isfinite(steps[count - 1]) ? (int64_t)steps[count - 1]
                                                                     : (int64_t)count };
        status = att_plot_render(out, &plot, options, err);
    } else {
        status = att_fail_memory(err);
    }
    att_arena_free(&memory);
    return status;
}

att_status att_model_curves_render(att_string *out, const att_model *model,
                                   const att_render_options *options, att_error *err)
{
    att_json_doc doc = { 0 };
    const att_json *history = NULL;
    const char *text = model->training_json;
    if (text)
        ATT_TRY(att_json_read(&doc, text, strlen(text), "training", NULL, err));
    if (text)
        history = att_json_find(doc.root, "history");
    size_t count = history && history->type == ATT_JSON_ARRAY ? history->count : 0;
    att_status status =
        count > 0 ? render(out, history, count, options, err)
                  : att_fail(err, ATT_BAD_INPUT, NULL, "the file has no record of validations");
    att_json_free(&doc);
    return status;
}
