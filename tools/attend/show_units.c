/* attend show --cell and --gradients: what goes on inside a recurrent model while it reads. */
#include "show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "output.h"
#include "drawing_files.h"

/* What both make: something for standard output, and files. */
typedef struct unit_output {
    att_string text;
    att_string svg;
    output_list files;
} unit_output;

bool show_inspects_units(const show_settings *set)
{
    return set->unit || set->gradients;
}

exit_code show_units_check(const struct verb *verb, const show_settings *set,
                           const show_settings *usual)
{
    static const char *const of_cell[] = { "cell",  "signal", "json",  "svg",   "png",   "pdf",
                                           "scale", "html",   "color", "ascii", "quiet", NULL };
    static const char *const of_gradients[] = { "gradients", "ensemble", "json",  "svg",
                                                "png",       "pdf",      "scale", "color",
                                                "ascii",     "quiet",    NULL };
    const option *other =
        options_first_outside(verb, set->unit ? of_cell : of_gradients, set, usual);
    if (other)
        return report_usage(verb, "--%s is not for --%s", other->name,
                            set->unit ? "cell" : "gradients");
    return EXIT_DONE;
}

static att_render_options options_of(const show_settings *set)
{
    return (att_render_options){ .ascii = set->ascii,
                                 .color = output_color((color_choice)set->color),
                                 .width = output_width() };
}

/* The text that is meant: the operand, or what comes in. */
static att_status read_input(att_string *out, const char *input, att_error *err)
{
    if (strcmp(input, "-") == 0)
        return lines_read_all(out, "-", err);
    return att_string_append(out, input, strlen(input)) == ATT_OK ? ATT_OK : error_memory(err);
}

/* Pictures of the SVG, then everything to its place. */
static att_status write_files(unit_output *what, const show_settings *set, const char *name,
                              att_error *err)
{
    static const att_string nothing;
    const drawing_files asked = { set->svg, set->png, set->pdf, set->scale };
    att_status status = drawing_files_draw_svg(&what->files, &what->svg, name, &asked, err);
    return status == ATT_OK ? output_all(&what->files, set->quiet ? &nothing : &what->text, err)
                            : status;
}

static void unit_output_free(unit_output *what)
{
    att_string_free(&what->text);
    att_string_free(&what->svg);
    output_free(&what->files);
}

/* ---- JSON */

static att_status add_string(att_string *out, const char *words)
{
    return att_string_append(out, words, strlen(words));
}

/* Enough digits for a float, which is what units are. */
static att_status add_numbers(att_string *out, const double *values, int64_t count)
{
    char number[40];
    att_status status = add_string(out, "[");
    for (int64_t i = 0; i < count && status == ATT_OK; i++) {
        snprintf(number, sizeof number, "%s%.9g", i > 0 ? "," : "", values[i]);
        status = add_string(out, number);
    }
    return status == ATT_OK ? add_string(out, "]") : status;
}

/* ---- one unit */

/* "2:17". */
static bool parse_unit(att_layer_unit *out, const char *words)
{
    char *end;
    out->layer = strtoll(words, &end, 10);
    if (end == words || *end != ':' || !(end[1] >= '0' && end[1] <= '9'))
        return false;
    out->unit = strtoll(end + 1, &end, 10);
    return *end == '\0';
}

static att_status unit_json(att_string *out, const att_highlight *coloured, att_layer_unit unit,
                            att_error *err)
{
    char head[100];
    snprintf(head, sizeof head,
             "{\"layer\":%" PRId64 ",\"unit\":%" PRId64 ",\"values\":", unit.layer, unit.unit);
    bool ok = add_string(out, head) == ATT_OK &&
              add_numbers(out, coloured->values, coloured->count) == ATT_OK &&
              add_string(out, "}\n") == ATT_OK;
    return ok ? ATT_OK : error_memory(err);
}

static att_status make_unit(unit_output *what, const att_highlight *coloured, att_layer_unit unit,
                            const show_settings *set, att_error *err)
{
    const att_render_options options = options_of(set);
    att_status status = set->json ? unit_json(&what->text, coloured, unit, err)
                                  : att_highlight_text(&what->text, coloured, &options, err);
    if (status == ATT_OK)
        status = att_highlight_svg(&what->svg, coloured, 0, err);
    if (status != ATT_OK || !set->html)
        return status;
    output_file *page = output_add(&what->files, set->html, "page");
    return page ? att_highlight_html(&page->bytes, coloured, err) : error_memory(err);
}

att_status show_unit(const show_settings *set, const decoding *models, const char *input,
                     att_error *err)
{
    att_layer_unit unit;
    att_string text = { 0 };
    att_unit_activations *watched = NULL;
    unit_output what = { 0 };
    if (!parse_unit(&unit, set->unit))
        return error_set(err, ATT_BAD_INPUT, "--cell", "'%s' is not LAYER:UNIT, two numbers from 1",
                         set->unit);
    att_status status = read_input(&text, input, err);
    if (status == ATT_OK)
        status = att_model_unit_activations(&watched, models->model, text.data, text.length, unit,
                                            (att_unit_signal)set->signal, err);
    if (status == ATT_OK)
        status = make_unit(&what, att_unit_activations_get(watched), unit, set, err);
    if (status == ATT_OK)
        status = write_files(&what, set, "text", err);
    unit_output_free(&what);
    att_unit_activations_free(watched);
    att_string_free(&text);
    return status;
}

/* ---- gradients */

/* The flows of the model and of those beside it, and their curves as one plot. */
typedef struct gradient_flows {
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
}

static att_status compute_flows(gradient_flows *out, const decoding *models, const att_string *text,
                                att_error *err)
{
    size_t count = 1 + models->options.ensemble_count;
    out->flows = calloc(count, sizeof *out->flows);
    if (!out->flows)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        att_model *model = i == 0 ? models->model : models->ensemble[i - 1];
        att_status status =
            att_model_gradient_flow(&out->flows[i], model, text->data, text->length, err);
        if (status != ATT_OK)
            return status;
        out->count++;
        if (att_gradient_flow_count(out->flows[i]) != att_gradient_flow_count(out->flows[0]))
            return error_set(err, ATT_BAD_INPUT, "--ensemble",
                             "the models split the text differently");
        for (size_t k = 0; k < att_gradient_flow_layers(out->flows[i]); k++) {
            if (out->curve_count == ATT_PLOT_CURVES)
                return error_set(err, ATT_BAD_INPUT, "--ensemble", "more than %d layers to plot",
                                 ATT_PLOT_CURVES);
            out->curves[out->curve_count++] = att_gradient_flow_get(out->flows[i], k);
        }
    }
    return ATT_OK;
}

static att_status gradient_flows_json(att_string *out, const gradient_flows *of, att_error *err)
{
    bool ok = add_string(out, "{\"losses\":[") == ATT_OK;
    for (size_t i = 0; ok && i < of->count; i++) {
        char number[40];
        snprintf(number, sizeof number, "%s%.9g", i > 0 ? "," : "",
                 att_gradient_flow_loss(of->flows[i]));
        ok = add_string(out, number) == ATT_OK;
    }
    ok = ok && add_string(out, "],\"layers\":[") == ATT_OK;
    for (size_t i = 0; ok && i < of->curve_count; i++)
        ok = add_string(out, i > 0 ? ",{\"name\":\"" : "{\"name\":\"") == ATT_OK &&
             add_string(out, of->curves[i].name) == ATT_OK &&
             add_string(out, "\",\"norms\":") == ATT_OK &&
             add_numbers(out, of->curves[i].values, att_gradient_flow_count(of->flows[0])) ==
                 ATT_OK &&
             add_string(out, "}") == ATT_OK;
    return ok && add_string(out, "]}\n") == ATT_OK ? ATT_OK : error_memory(err);
}

static att_status make_gradients(unit_output *what, const gradient_flows *of,
                                 const show_settings *set, att_error *err)
{
    const att_render_options options = options_of(set);
    const att_plot plot = { .title = "How far the loss of the last token reaches back",
                            .x_label = "token",
                            .y_label = "norm of the gradient",
                            .count = att_gradient_flow_count(of->flows[0]),
                            .curves = of->curves,
                            .curve_count = of->curve_count };
    att_status status = set->json ? gradient_flows_json(&what->text, of, err)
                                  : att_plot_text(&what->text, &plot, &options, err);
    return status == ATT_OK ? att_plot_svg(&what->svg, &plot, err) : status;
}

att_status show_gradients(const show_settings *set, const decoding *models, const char *input,
                          att_error *err)
{
    att_string text = { 0 };
    gradient_flows of = { 0 };
    unit_output what = { 0 };
    att_status status = read_input(&text, input, err);
    if (status == ATT_OK)
        status = compute_flows(&of, models, &text, err);
    if (status == ATT_OK)
        status = make_gradients(&what, &of, set, err);
    if (status == ATT_OK)
        status = write_files(&what, set, "plot", err);
    unit_output_free(&what);
    gradient_flows_free(&of);
    att_string_free(&text);
    return status;
}
