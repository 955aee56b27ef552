/* attend show --cell and --gradients: what goes on inside a recurrent model while it reads. */
#include "show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "output.h"
#include "pictures.h"

/* What both make: something for standard output, and files. */
typedef struct shown {
    att_text text;
    att_text svg;
    output_list files;
} shown;

bool show_looks_inside(const show_settings *set)
{
    return set->cell || set->gradients;
}

exit_code show_inside_check(const struct verb *verb, const show_settings *set,
                            const show_settings *usual)
{
    static const char *const of_cell[] = { "cell",  "signal", "json", "svg",    "png",
                                           "pdf",   "scale",  "html", "colour", "color",
                                           "ascii", "quiet",  NULL };
    static const char *const of_gradients[] = { "gradients", "with",  "json",  "svg",
                                                "png",       "pdf",   "scale", "colour",
                                                "color",     "ascii", "quiet", NULL };
    const option *other = options_beyond(verb, set->cell ? of_cell : of_gradients, set, usual);
    if (other)
        return report_usage(verb, "--%s is not for --%s", other->name,
                            set->cell ? "cell" : "gradients");
    return EXIT_DONE;
}

static att_render_options options_of(const show_settings *set)
{
    return (att_render_options){ .ascii = set->ascii,
                                 .colour = output_colour((colour_choice)set->colour),
                                 .width = output_width() };
}

/* The text that is meant: the operand, or what comes in. */
static att_status take_input(att_text *out, const char *input, att_error *err)
{
    if (strcmp(input, "-") == 0)
        return lines_whole(out, "-", err);
    return att_text_add(out, input, strlen(input)) == ATT_OK ? ATT_OK : error_memory(err);
}

/* Pictures of the SVG, then everything to its place. */
static att_status write_out(shown *what, const show_settings *set, const char *name, att_error *err)
{
    static const att_text nothing;
    const picture_files asked = { set->svg, set->png, set->pdf, set->scale };
    att_status status = pictures_of_svg(&what->files, &what->svg, name, &asked, err);
    return status == ATT_OK ? output_all(&what->files, set->quiet ? &nothing : &what->text, err)
                            : status;
}

static void free_shown(shown *what)
{
    att_text_free(&what->text);
    att_text_free(&what->svg);
    output_free(&what->files);
}

/* ---- JSON */

static att_status add_words(att_text *out, const char *words)
{
    return att_text_add(out, words, strlen(words));
}

/* Enough digits for a float, which is what units are. */
static att_status add_numbers(att_text *out, const double *values, int64_t count)
{
    char number[40];
    att_status status = add_words(out, "[");
    for (int64_t i = 0; i < count && status == ATT_OK; i++) {
        snprintf(number, sizeof number, "%s%.9g", i > 0 ? "," : "", values[i]);
        status = add_words(out, number);
    }
    return status == ATT_OK ? add_words(out, "]") : status;
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

static att_status cell_json(att_text *out, const att_coloured *coloured, att_layer_unit unit,
                            att_error *err)
{
    char head[100];
    snprintf(head, sizeof head,
             "{\"layer\":%" PRId64 ",\"unit\":%" PRId64 ",\"values\":", unit.layer, unit.unit);
    bool ok = add_words(out, head) == ATT_OK &&
              add_numbers(out, coloured->values, coloured->count) == ATT_OK &&
              add_words(out, "}\n") == ATT_OK;
    return ok ? ATT_OK : error_memory(err);
}

static att_status make_cell(shown *what, const att_coloured *coloured, att_layer_unit unit,
                            const show_settings *set, att_error *err)
{
    const att_render_options options = options_of(set);
    att_status status = set->json ? cell_json(&what->text, coloured, unit, err)
                                  : att_coloured_text(&what->text, coloured, &options, err);
    if (status == ATT_OK)
        status = att_coloured_svg(&what->svg, coloured, 0, err);
    if (status != ATT_OK || !set->html)
        return status;
    output_file *page = output_add(&what->files, set->html, "page");
    return page ? att_coloured_html(&page->bytes, coloured, err) : error_memory(err);
}

att_status show_cell(const show_settings *set, const decoding *models, const char *input,
                     att_error *err)
{
    att_layer_unit unit;
    att_text text = { 0 };
    att_watched *watched = NULL;
    shown what = { 0 };
    if (!parse_unit(&unit, set->cell))
        return error_set(err, ATT_BAD_INPUT, "--cell", "'%s' is not LAYER:UNIT, two numbers from 1",
                         set->cell);
    att_status status = take_input(&text, input, err);
    if (status == ATT_OK)
        status = att_model_watch(&watched, models->model, text.data, text.length, unit,
                                 (att_signal)set->signal, err);
    if (status == ATT_OK)
        status = make_cell(&what, att_watched_get(watched), unit, set, err);
    if (status == ATT_OK)
        status = write_out(&what, set, "text", err);
    free_shown(&what);
    att_watched_free(watched);
    att_text_free(&text);
    return status;
}

/* ---- gradients */

/* The flows of the model and of those beside it, and their curves as one plot. */
typedef struct flows {
    att_flow **all; /* [count] */
    size_t count;
    att_curve curves[ATT_PLOT_CURVES];
    size_t curve_count;
} flows;

static void free_flows(flows *of)
{
    for (size_t i = 0; i < of->count; i++)
        att_flow_free(of->all[i]);
    free(of->all);
}

static att_status gather(flows *out, const decoding *models, const att_text *text, att_error *err)
{
    size_t count = 1 + models->how.with_count;
    out->all = calloc(count, sizeof *out->all);
    if (!out->all)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        att_model *model = i == 0 ? models->model : models->with[i - 1];
        att_status status = att_model_flow(&out->all[i], model, text->data, text->length, err);
        if (status != ATT_OK)
            return status;
        out->count++;
        if (att_flow_count(out->all[i]) != att_flow_count(out->all[0]))
            return error_set(err, ATT_BAD_INPUT, "--with", "the models split the text differently");
        for (size_t k = 0; k < att_flow_layers(out->all[i]); k++) {
            if (out->curve_count == ATT_PLOT_CURVES)
                return error_set(err, ATT_BAD_INPUT, "--with", "more than %d layers to plot",
                                 ATT_PLOT_CURVES);
            out->curves[out->curve_count++] = att_flow_get(out->all[i], k);
        }
    }
    return ATT_OK;
}

static att_status flows_json(att_text *out, const flows *of, att_error *err)
{
    bool ok = add_words(out, "{\"losses\":[") == ATT_OK;
    for (size_t i = 0; ok && i < of->count; i++) {
        char number[40];
        snprintf(number, sizeof number, "%s%.9g", i > 0 ? "," : "", att_flow_loss(of->all[i]));
        ok = add_words(out, number) == ATT_OK;
    }
    ok = ok && add_words(out, "],\"layers\":[") == ATT_OK;
    for (size_t i = 0; ok && i < of->curve_count; i++)
        ok = add_words(out, i > 0 ? ",{\"name\":\"" : "{\"name\":\"") == ATT_OK &&
             add_words(out, of->curves[i].name) == ATT_OK &&
             add_words(out, "\",\"norms\":") == ATT_OK &&
             add_numbers(out, of->curves[i].values, att_flow_count(of->all[0])) == ATT_OK &&
             add_words(out, "}") == ATT_OK;
    return ok && add_words(out, "]}\n") == ATT_OK ? ATT_OK : error_memory(err);
}

static att_status make_gradients(shown *what, const flows *of, const show_settings *set,
                                 att_error *err)
{
    const att_render_options options = options_of(set);
    const att_plot plot = { .title = "How far the loss of the last token reaches back",
                            .across = "token",
                            .up = "norm of the gradient",
                            .count = att_flow_count(of->all[0]),
                            .curves = of->curves,
                            .curve_count = of->curve_count };
    att_status status = set->json ? flows_json(&what->text, of, err)
                                  : att_plot_text(&what->text, &plot, &options, err);
    return status == ATT_OK ? att_plot_svg(&what->svg, &plot, err) : status;
}

att_status show_gradients(const show_settings *set, const decoding *models, const char *input,
                          att_error *err)
{
    att_text text = { 0 };
    flows of = { 0 };
    shown what = { 0 };
    att_status status = take_input(&text, input, err);
    if (status == ATT_OK)
        status = gather(&of, models, &text, err);
    if (status == ATT_OK)
        status = make_gradients(&what, &of, set, err);
    if (status == ATT_OK)
        status = write_out(&what, set, "plot", err);
    free_shown(&what);
    free_flows(&of);
    att_text_free(&text);
    return status;
}
