/* attend show --gradients: the gradient flow of RNN language models, one curve per layer. The norm
 * of the gradient of the last token's loss at each earlier hidden state shows how far back a model
 * can learn (vanishing gradients). */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The gradient flow of the model and of those of --compare, and their curves in one plot. */
typedef struct gradient_flows {
    att_model **compared; /* [compared_count] */
    size_t compared_count;
    att_gradient_flow **flows; /* [count] */
    size_t count;
    att_curve curves[ATT_PLOT_CURVES];
    size_t curve_count;
} gradient_flows;

static void gradient_flows_free(gradient_flows *of)
{
    for (size_t i = 0; i < of->count; i++)
        att_gradient_flow_free(of->flows[i]);
    free(of->flows);
    models_free(of->compared, of->compared_count);
}

/* Adds a model's flow and one curve per layer. */
static att_status add_flow(gradient_flows *out, att_model *model, const att_string *text,
                           att_error *err)
{
    att_gradient_flow **flow = &out->flows[out->count];
    att_status status = att_model_gradient_flow(flow, model, text->data, text->length, err);
    if (status != ATT_OK)
        return status;
    out->count++;
    if (att_gradient_flow_count(*flow) != att_gradient_flow_count(out->flows[0]))
        return error_set(err, ATT_BAD_INPUT, "--compare",
                         "the models tokenize the text differently");
    for (size_t k = 0; k < att_gradient_flow_layers(*flow); k++) {
        if (out->curve_count == ATT_PLOT_CURVES)
            return error_set(err, ATT_BAD_INPUT, "--compare", "more than %d layers to plot",
                             ATT_PLOT_CURVES);
        out->curves[out->curve_count++] = *att_gradient_flow_get(*flow, k);
    }
    return ATT_OK;
}

static att_status compute_flows(gradient_flows *out, att_model *model, const char *compare,
                                const att_string *text, att_error *err)
{
    att_status status = compare ? models_load(&out->compared, &out->compared_count, "--compare",
                                              compare, ATT_PRECISION_STORED, err)
                                : ATT_OK;
    if (status != ATT_OK)
        return status;
    out->flows = calloc(1 + out->compared_count, sizeof *out->flows);
    if (!out->flows)
        return error_memory(err);
    status = add_flow(out, model, text, err);
    for (size_t i = 0; i < out->compared_count && status == ATT_OK; i++) {
        status = add_flow(out, out->compared[i], text, err);
        error_blame_model(err, status, "--compare");
    }
    return status;
}

static att_status put(att_string *out, const char *text)
{
    return att_string_append(out, text, strlen(text));
}

/* {"losses":[…],"layers":[{"name","gradient_norms":[…]}]} */
static att_status gradient_flows_json(att_string *out, const gradient_flows *of, att_error *err)
{
    bool ok = put(out, "{\"losses\":[") == ATT_OK;
    for (size_t i = 0; ok && i < of->count; i++) {
        char number[40];
        snprintf(number, sizeof number, "%s%.9g", i > 0 ? "," : "",
                 att_gradient_flow_loss(of->flows[i]));
        ok = put(out, number) == ATT_OK;
    }
    ok = ok && put(out, "],\"layers\":[") == ATT_OK;
    for (size_t i = 0; ok && i < of->curve_count; i++) {
        const att_curve *curve = &of->curves[i];
        ok = put(out, i > 0 ? ",{\"name\":" : "{\"name\":") == ATT_OK &&
             escape_json(out, curve->name, strlen(curve->name)) == ATT_OK &&
             put(out, ",\"gradient_norms\":") == ATT_OK &&
             show_numbers_json(out, curve->values, att_gradient_flow_count(of->flows[0])) ==
                 ATT_OK &&
             put(out, "}") == ATT_OK;
    }
    return ok && put(out, "]}\n") == ATT_OK ? ATT_OK : error_memory(err);
}

static att_status draw(att_string *text, att_string *svg, const gradient_flows *of,
                       const show_settings *set, att_error *err)
{
    const att_render_options options = output_render_options(set->color, set->ascii);
    const att_plot plot = { .title = "Gradient flow: loss of the last token",
                            .x_label = "token",
                            .y_label = "gradient norm",
                            .count = att_gradient_flow_count(of->flows[0]),
                            .curves = of->curves,
                            .curve_count = of->curve_count };
    att_status status = set->json ? gradient_flows_json(text, of, err)
                                  : att_plot_render(text, &plot, &options, err);
    const att_render_options as_svg = output_format(ATT_FORMAT_SVG);
    return status == ATT_OK ? att_plot_render(svg, &plot, &as_svg, err) : status;
}

att_status show_gradients(const void *settings, const decoding *models, const char *input,
                          att_error *err)
{
    const show_settings *set = settings;
    att_string read = { 0 }, text = { 0 }, svg = { 0 };
    output_list files = { 0 };
    gradient_flows of = { 0 };
    att_status status = show_read_input(&read, input, err);
    if (status == ATT_OK)
        status = compute_flows(&of, models->model, set->compare, &read, err);
    if (status == ATT_OK)
        status = draw(&text, &svg, &of, set, err);
    if (status == ATT_OK)
        status = show_write(&files, &svg, "plot", &text, set, err);
    output_free(&files);
    att_string_free(&svg);
    att_string_free(&text);
    att_string_free(&read);
    gradient_flows_free(&of);
    return status;
}
