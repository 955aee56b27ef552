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

/* All layers and heads of a block, as small panels. */
static PyObject *attention_overview(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *block;
    const char *input, *target;
    att_head_selection selection;
    if (!PyArg_ParseTuple(args, "OOsz:attention_overview", &capsule, &block, &input, &target) ||
        !selection_get(&selection, block, 0, 0, input, target))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_attention_map *map = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_attention_overview(&map, model, &selection, &err);
    PyObject *out =
        core_end(&call, status, &err) ? core_map_dict(att_attention_map_get(map)) : NULL;
    att_attention_map_free(map);
    return out;
}

/* model_sheet(model, line, target or None, step, file): the text of a worksheet */
static PyObject *model_sheet(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    const char *file;
    long long step;
    att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
    if (!PyArg_ParseTuple(args, "OszLs:model_sheet", &capsule, &options.input, &options.target,
                          &step, &file))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    options.step = step;
    att_string text = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_sheet(&text, model, file, &options, &err);
    return core_end_string(&call, status, &text, &err);
}

/* [(token or None, probability, rank, [(token, probability), …], source or None), …] */
static PyObject *alternative_rows(const att_alternatives *alternatives)
{
    PyObject *list = PyList_New(0);
    const att_alternative_step *step;
    for (size_t i = 0; list && (step = att_alternatives_get(alternatives, i)); i++) {
        PyObject *tokens = PyList_New((Py_ssize_t)step->count);
        for (int64_t j = 0; tokens && j < step->count; j++) {
            PyObject *one = Py_BuildValue("Nd", core_str(step->tokens[j]), step->probabilities[j]);
            if (!one || PyList_SetItem(tokens, (Py_ssize_t)j, one) < 0)
                Py_CLEAR(tokens);
        }
        PyObject *row = tokens
                            ? Py_BuildValue("NdLNN", core_str(step->token), step->probability,
                                            (long long)step->rank, tokens, core_str(step->source))
                            : NULL;
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* What alternatives() and beam_tree() are given: a model, its input and the search for outputs. */
typedef struct search_request {
    const att_model *model;
    const char *line; /* NULL: an image, for a caption model */
    core_input image;
    att_decoding_options decoding;
    att_model **ensemble;
} search_request;

static void search_request_release(search_request *request)
{
    if (!request->line)
        core_input_release(&request->image);
    PyMem_Free(request->ensemble);
}

/* false with an exception, and nothing to release. */
static bool search_request_get(search_request *out, PyObject *capsule, PyObject *input,
                               PyObject *decoding, PyObject *models)
{
    *out = (search_request){ .model = core_pointer(capsule, CORE_MODEL) };
    if (!out->model)
        return false;
    bool is_line = PyUnicode_Check(input);
    if (is_line)
        out->line = core_text(input, "line", NULL);
    if (is_line ? !out->line : !core_input_get(&out->image, input, "line", CORE_F32_ONLY))
        return false;
    if (core_decoding_options(&out->decoding, &out->ensemble, decoding, models))
        return true;
    search_request_release(out);
    return false;
}

/* The list and its page; NULL with an exception. */
static PyObject *make_alternatives(const search_request *request,
                                   const att_alternatives_options *options)
{
    att_alternatives *found = NULL;
    att_string page = { 0 };
    att_render_options as = ATT_INIT(att_render_options);
    as.format = ATT_FORMAT_HTML;
    att_error err = { 0 };
    PyObject *out = NULL;
    core_call call;
    core_begin(&call);
    att_status status =
        request->line ? att_model_alternatives(&found, request->model, request->line, options, &err)
                      : att_model_caption_alternatives(&found, request->model,
                                                       &request->image.tensor, options, &err);
    if (!status)
        status = att_alternatives_render(&page, found, &as, &err);
    if (core_end(&call, status, &err)) {
        PyObject *rows = alternative_rows(found);
        out = rows ? Py_BuildValue("NN", rows, core_string_take(&page)) : NULL;
    }
    att_string_free(&page);
    att_alternatives_free(found);
    return out;
}

/* alternatives(model, line or image, target or None, count, decoding, ensemble): (rows, page) */
static PyObject *alternatives(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *input, *decoding, *models, *out = NULL;
    att_alternatives_options options = ATT_INIT(att_alternatives_options);
    search_request request;
    long long count;
    if (!PyArg_ParseTuple(args, "OOzLO!O!:alternatives", &capsule, &input, &options.target, &count,
                          &PyDict_Type, &decoding, &PyTuple_Type, &models) ||
        !search_request_get(&request, capsule, input, decoding, models))
        return NULL;
    options.count = count;
    options.decoding = &request.decoding;
    if (count == 0) /* the default of the library, not of Python */
        core_bad_input("count", "expected 1 to 100 alternatives, found 0");
    else
        out = make_alternatives(&request, &options);
    search_request_release(&request);
    return out;
}

/* [(parent, step, token, log_prob, score, normalized_score, fate), …] */
static PyObject *beam_rows(const att_beam_tree *tree)
{
    static const char *const fates[] = { "dropped", "kept", "finished", "best" };
    PyObject *list = PyList_New(0);
    const att_beam_node *node;
    for (size_t i = 0; list && (node = att_beam_tree_get(tree, i)); i++) {
        PyObject *row = Py_BuildValue("LLNddds", (long long)node->parent, (long long)node->step,
                                      core_str(node->token), node->log_prob, node->score,
                                      node->normalized_score, fates[node->fate]);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* The nodes, the SVG and the text of a tree; NULL with an exception. */
static PyObject *make_tree(const search_request *request)
{
    att_beam_tree *tree = NULL;
    att_string svg = { 0 }, text = { 0 };
    att_render_options options = ATT_INIT(att_render_options);
    att_error err = { 0 };
    PyObject *out = NULL;
    core_call call;
    core_begin(&call);
    att_status status =
        request->line
            ? att_model_beam_tree(&tree, request->model, request->line, &request->decoding, &err)
            : att_model_caption_beam_tree(&tree, request->model, &request->image.tensor,
                                          &request->decoding, &err);
    if (!status)
        status = att_beam_tree_render(&text, tree, &options, &err);
    options.format = ATT_FORMAT_SVG;
    if (!status)
        status = att_beam_tree_render(&svg, tree, &options, &err);
    if (core_end(&call, status, &err)) {
        PyObject *rows = beam_rows(tree);
        out = rows ? Py_BuildValue("NNN", rows, core_string_take(&svg), core_string_take(&text))
                   : NULL;
    }
    att_string_free(&svg);
    att_string_free(&text);
    att_beam_tree_free(tree);
    return out;
}

/* beam_tree(model, line or image, decoding, ensemble): (rows, SVG, text) */
static PyObject *beam_tree(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *input, *decoding, *models;
    search_request request;
    if (!PyArg_ParseTuple(args, "OOO!O!:beam_tree", &capsule, &input, &PyDict_Type, &decoding,
                          &PyTuple_Type, &models) ||
        !search_request_get(&request, capsule, input, decoding, models))
        return NULL;
    PyObject *out = make_tree(&request);
    search_request_release(&request);
    return out;
}

/* curves(model, options): the learning curves, as text or SVG */
static PyObject *curves(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "OO!:curves", &capsule, &PyDict_Type, &dict) ||
        !core_render_options(&options, dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    return core_rendered(att_model_curves_render(&out, model, &options, &err), &out, &err);
}

/* (layers of the encoder, of the decoder, of cross attention, heads) */
static PyObject *attention_layers(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    return Py_BuildValue("LLLL", (long long)att_model_attention_layers(model, ATT_BLOCK_ENCODER),
                         (long long)att_model_attention_layers(model, ATT_BLOCK_DECODER),
                         (long long)att_model_attention_layers(model, ATT_BLOCK_CROSS),
                         (long long)att_model_attention_heads(model));
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
    return core_end_string(&call, status, &text, &err);
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

/* cells(model, path or None, text or None, patterns, options) */
static PyObject *cells(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict, *patterns, *path = NULL, *out = NULL;
    const char *text;
    Py_ssize_t length;
    att_cells_options options = ATT_INIT(att_cells_options);
    core_lines names = { 0 };
    if (!PyArg_ParseTuple(args, "OO&z#OO!:cells", &capsule, core_path, &path, &text, &length,
                          &patterns, &PyDict_Type, &dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (model && core_options_set(&options, cells_table, dict) &&
        core_lines_get(&names, patterns, "patterns")) {
        options.text = text;
        options.length = text ? (size_t)length : 0;
        options.patterns = names.lines;
        options.pattern_count = names.count;
        att_cells *found = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_model_cells(&found, model, path ? PyBytes_AsString(path) : NULL, &options, &err);
        if (core_end(&call, status, &err))
            out = core_capsule(found, CELLS, free_cells);
        else
            att_cells_free(found);
    }
    core_lines_free(&names);
    Py_XDECREF(path);
    return out;
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
    return core_rendered(status, &out, &err);
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
    { "attention_overview", attention_overview, METH_VARARGS, NULL },
    { "attention_layers", attention_layers, METH_O, NULL },
    { "model_sheet", model_sheet, METH_VARARGS, NULL },
    { "alternatives", alternatives, METH_VARARGS, NULL },
    { "beam_tree", beam_tree, METH_VARARGS, NULL },
    { "curves", curves, METH_VARARGS, NULL },
    { "head_sheet", head_sheet, METH_VARARGS, NULL },
    { "unit_activations", unit_activations, METH_VARARGS, NULL },
    { "cells", cells, METH_VARARGS, NULL },
    { "cells_render", cells_render, METH_VARARGS, NULL },
    { "gradient_flow", gradient_flow, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
