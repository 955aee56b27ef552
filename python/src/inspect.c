/* Inside a model: attention maps, heads as worksheets, units, gradient flow. */
#include "core.h"

#include <string.h>

#define CELLS "attend.cells"

static const char *const blocks[] = { "encoder", "decoder", "cross", NULL };
static const char *const signals[] = { "default", "hidden", "cell", NULL };

static bool selection_get(att_head_selection *out, PyObject *block, long long layer, long long head,
                          const char *input, const char *target)
{
    int word = core_choice(block, "block", blocks);
    if (word < 0)
        return false;
    *out = (att_head_selection){ .block = (att_attention_block)word,
                                 .layer = layer,
                                 .head = head,
                                 .input = input,
                                 .target = target };
    return true;
}

static PyObject *attention_map(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *block;
    long long layer, head;
    const char *input, *target;
    int every_head;
    att_head_selection selection;
    if (!PyArg_ParseTuple(args, "OOLLszp:attention_map", &capsule, &block, &layer, &head, &input,
                          &target, &every_head) ||
        !selection_get(&selection, block, layer, head, input, target))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_attention_map *map = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_attention_map(&map, model, &selection, every_head, &err);
    PyObject *out =
        core_end(&call, status, &err) ? core_map_dict(att_attention_map_get(map)) : NULL;
    att_attention_map_free(map);
    return out;
}

static PyObject *head_sheet(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *block;
    long long layer, head;
    const char *input, *target, *file;
    att_head_selection selection;
    if (!PyArg_ParseTuple(args, "OOLLszs:head_sheet", &capsule, &block, &layer, &head, &input,
                          &target, &file) ||
        !selection_get(&selection, block, layer, head, input, target))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_string text = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_head_sheet(&text, model, file, &selection, &err);
    if (core_end(&call, status, &err))
        return core_string_take(&text);
    att_string_free(&text);
    return NULL;
}

/* (title, tokens, values) */
static PyObject *unit_activations(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *signal_word;
    const char *text;
    Py_ssize_t length;
    long long layer, unit;
    if (!PyArg_ParseTuple(args, "Os#LLO:unit_activations", &capsule, &text, &length, &layer, &unit,
                          &signal_word))
        return NULL;
    int signal = core_choice(signal_word, "signal", signals);
    const att_model *model = signal < 0 ? NULL : core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_unit_activations *activations = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_unit_activations(&activations, model, text, (size_t)length,
                                                   (att_layer_unit){ .layer = layer, .unit = unit },
                                                   (att_unit_signal)signal, &err);
    PyObject *out = NULL;
    if (core_end(&call, status, &err)) {
        const att_highlight *h = att_unit_activations_get(activations);
        out = Py_BuildValue("NNN", core_str(h->title), core_str_list(h->tokens, h->count),
                            core_array_doubles(h->values, 1, &h->count));
    }
    att_unit_activations_free(activations);
    return out;
}

static const core_option cells_table[] = {
    { "signal", CORE_CHOICE, offsetof(att_cells_options, signal), signals },
    { "held_out", CORE_DOUBLE, offsetof(att_cells_options, held_out), NULL },
    { "max_tokens", CORE_INT64, offsetof(att_cells_options, max_tokens), NULL },
    { "n_best", CORE_INT64, offsetof(att_cells_options, n_best), NULL },
    { NULL, CORE_BOOL, 0, NULL },
};

static void free_cells(void *cells)
{
    att_cells_free(cells);
}

static PyObject *cells(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict;
    const char *path, *text;
    Py_ssize_t length;
    att_cells_options options = ATT_INIT(att_cells_options);
    if (!PyArg_ParseTuple(args, "Ozz#O!:cells", &capsule, &path, &text, &length, &PyDict_Type,
                          &dict) ||
        !core_options_set(&options, cells_table, dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    options.text = text;
    options.length = text ? (size_t)length : 0;
    att_cells *found = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_cells(&found, model, path, &options, &err);
    if (core_end(&call, status, &err))
        return core_capsule(found, CELLS, free_cells);
    att_cells_free(found);
    return NULL;
}

static PyObject *cells_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "OO!:cells_render", &capsule, &PyDict_Type, &dict) ||
        !core_render_options(&options, dict))
        return NULL;
    const att_cells *found = core_pointer(capsule, CELLS);
    if (!found)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    att_status status = att_cells_render(&out, found, &options, &err);
    if (!status)
        return core_string_take(&out);
    att_string_free(&out);
    core_raise(status, &err);
    return NULL;
}

/* (loss, [(name, values), …], SVG) */
static PyObject *flow_tuple(const att_gradient_flow *flow)
{
    int64_t count = att_gradient_flow_count(flow);
    size_t layers = att_gradient_flow_layers(flow);
    att_curve curves[ATT_PLOT_CURVES];
    PyObject *list = PyList_New((Py_ssize_t)layers);
    for (size_t i = 0; list && i < layers; i++) {
        const att_curve *curve = att_gradient_flow_get(flow, i);
        if (i < ATT_PLOT_CURVES)
            curves[i] = *curve;
        PyObject *row = Py_BuildValue("NN", core_str(curve->name),
                                      core_array_doubles(curve->values, 1, &count));
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    if (!list)
        return NULL;
    att_plot plot = { .title = "Gradient flow",
                      .x_label = "token",
                      .y_label = "gradient norm",
                      .count = count,
                      .curves = curves,
                      .curve_count = layers < ATT_PLOT_CURVES ? layers : ATT_PLOT_CURVES };
    att_render_options options = ATT_INIT(att_render_options);
    options.format = ATT_FORMAT_SVG;
    att_string svg = { 0 };
    att_error err = { 0 };
    att_status status = att_plot_render(&svg, &plot, &options, &err);
    if (status) {
        core_raise(status, &err);
        att_string_free(&svg);
        Py_DECREF(list);
        return NULL;
    }
    return Py_BuildValue("dNN", att_gradient_flow_loss(flow), list, core_string_take(&svg));
}

static PyObject *gradient_flow(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "Os#:gradient_flow", &capsule, &text, &length))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_gradient_flow *flow = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_gradient_flow(&flow, model, text, (size_t)length, &err);
    PyObject *out = core_end(&call, status, &err) ? flow_tuple(flow) : NULL;
    att_gradient_flow_free(flow);
    return out;
}

PyMethodDef core_inspect_methods[] = {
    { "attention_map", attention_map, METH_VARARGS, NULL },
    { "head_sheet", head_sheet, METH_VARARGS, NULL },
    { "unit_activations", unit_activations, METH_VARARGS, NULL },
    { "cells", cells, METH_VARARGS, NULL },
    { "cells_render", cells_render, METH_VARARGS, NULL },
    { "gradient_flow", gradient_flow, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
