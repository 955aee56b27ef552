/* attend show --cell: the activation of one unit while an RNN reads a text; and what it shares with
 * --gradients. */
#include "show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

bool show_inspects_rnn(const show_settings *set)
{
    return set->unit || set->gradients;
}

exit_code show_check_rnn_options(const struct verb *verb, const show_settings *set,
                                 const show_settings *defaults)
{
    static const char *const with_cell[] = { "cell",  "signal", "json",  "svg",   "png",   "pdf",
                                             "scale", "html",   "color", "ascii", "quiet", NULL };
    static const char *const with_gradients[] = { "gradients", "compare", "json",  "svg",
                                                  "png",       "pdf",     "scale", "color",
                                                  "ascii",     "quiet",   NULL };
    const char *other =
        options_first_outside(verb, set->unit ? with_cell : with_gradients, set, defaults);
    if (other)
        return report_usage(verb, "--%s does not apply to --%s", other,
                            set->unit ? "cell" : "gradients");
    return EXIT_DONE;
}

att_status show_read_input(att_string *out, const char *input, att_error *err)
{
    if (strcmp(input, "-") == 0)
        return lines_read_all(out, "-", err);
    return att_string_append(out, input, strlen(input)) == ATT_OK ? ATT_OK : error_memory(err);
}

att_status show_read_line(const char **line, att_string *read, const char *input, att_error *err)
{
    *line = input;
    if (strcmp(input, "-") != 0)
        return ATT_OK;
    att_status status = lines_read_all(read, "-", err);
    if (status != ATT_OK)
        return status;
    while (read->length > 0 && strchr("\r\n", read->data[read->length - 1]))
        read->data[--read->length] = '\0';
    *line = read->data ? read->data : "";
    if (strlen(*line) < read->length)
        return error_set(err, ATT_BAD_INPUT, "<stdin>", "expected text, found a zero byte");
    if (strchr(*line, '\n'))
        return error_set(err, ATT_BAD_INPUT, "<stdin>", "expected one line, found several");
    return ATT_OK;
}

att_status show_write(output_list *files, const att_string *svg, const char *name,
                      const att_string *text, const show_settings *set, att_error *err)
{
    static const att_string nothing;
    const drawing_files asked = show_drawing_files(set);
    att_status status = drawing_files_draw_svg(files, svg, name, &asked, err);
    return status == ATT_OK ? output_all(files, set->quiet ? &nothing : text, err) : status;
}

att_status show_numbers_json(att_string *out, const double *values, int64_t count)
{
    char number[40];
    att_status status = att_string_append(out, "[", 1);
    for (int64_t i = 0; i < count && status == ATT_OK; i++) {
        int length = snprintf(number, sizeof number, "%s%.9g", i > 0 ? "," : "", values[i]);
        status = att_string_append(out, number, (size_t)length);
    }
    return status == ATT_OK ? att_string_append(out, "]", 1) : status;
}

/* "2:17": layer and unit, from 1. */
static bool parse_unit(att_layer_unit *out, const char *text)
{
    char *end;
    out->layer = strtoll(text, &end, 10);
    if (end == text || *end != ':' || !(end[1] >= '0' && end[1] <= '9'))
        return false;
    out->unit = strtoll(end + 1, &end, 10);
    return *end == '\0';
}

static att_status unit_json(att_string *out, const att_highlight *highlight, att_layer_unit unit,
                            att_error *err)
{
    char head[100];
    int length =
        snprintf(head, sizeof head,
                 "{\"layer\":%" PRId64 ",\"unit\":%" PRId64 ",\"values\":", unit.layer, unit.unit);
    bool ok = att_string_append(out, head, (size_t)length) == ATT_OK &&
              show_numbers_json(out, highlight->values, highlight->count) == ATT_OK &&
              att_string_append(out, "}\n", 2) == ATT_OK;
    return ok ? ATT_OK : error_memory(err);
}

/* The activations of the unit as text, as SVG and as a page. */
typedef struct unit_output {
    att_string text;
    att_string svg;
    output_list files;
} unit_output;

static att_status make_unit(unit_output *out, const att_highlight *highlight, att_layer_unit unit,
                            const show_settings *set, att_error *err)
{
    const att_render_options options = output_render_options(set->color, set->ascii),
                             as_svg = output_format(ATT_FORMAT_SVG),
                             as_html = output_format(ATT_FORMAT_HTML);
    att_status status = set->json ? unit_json(&out->text, highlight, unit, err)
                                  : att_highlight_render(&out->text, highlight, &options, err);
    if (status == ATT_OK)
        status = att_highlight_render(&out->svg, highlight, &as_svg, err);
    if (status != ATT_OK || !set->html)
        return status;
    output_file *page = output_add(&out->files, set->html, "page");
    return page ? att_highlight_render(&page->bytes, highlight, &as_html, err) : error_memory(err);
}

att_status show_unit(const void *settings, const decoding *models, const char *input,
                     att_error *err)
{
    const show_settings *set = settings;
    att_layer_unit unit;
    att_string text = { 0 };
    att_unit_activations *activations = NULL;
    unit_output out = { 0 };
    if (!parse_unit(&unit, set->unit))
        return error_set(err, ATT_BAD_INPUT, "--cell",
                         "expects LAYER:UNIT, two numbers from 1, not '%s'", set->unit);
    att_status status = show_read_input(&text, input, err);
    if (status == ATT_OK)
        status = att_model_unit_activations(&activations, models->model, text.data, text.length,
                                            unit, (att_unit_signal)set->signal, err);
    if (status == ATT_OK)
        status = make_unit(&out, att_unit_activations_get(activations), unit, set, err);
    if (status == ATT_OK)
        status = show_write(&out.files, &out.svg, "text", &out.text, set, err);
    att_string_free(&out.text);
    att_string_free(&out.svg);
    output_free(&out.files);
    att_unit_activations_free(activations);
    att_string_free(&text);
    return status;
}
