/* Inference: outputs, predictions, tags, completions. */
#include "core.h"

#include <string.h>

#define OUTPUTS "attend.outputs"

static const char *const length_norms[] = { "mean", "gnmt", "none", NULL };
static const char *const beam_stops[] = { "heuristic", "exact", NULL };
static const char *const overflows[] = { "refuse", "truncate", NULL };

static const core_option decoding_table[] = {
    { "beam", CORE_INT64, offsetof(att_decoding_options, beam), NULL },
    { "n_best", CORE_INT64, offsetof(att_decoding_options, n_best), NULL },
    { "length_norm", CORE_CHOICE, offsetof(att_decoding_options, length_norm), length_norms },
    { "length_penalty", CORE_DOUBLE, offsetof(att_decoding_options, length_penalty), NULL },
    { "coverage_penalty", CORE_DOUBLE, offsetof(att_decoding_options, coverage_penalty), NULL },
    { "no_repeat_ngram", CORE_INT64, offsetof(att_decoding_options, no_repeat_ngram), NULL },
    { "min_output_length", CORE_INT64, offsetof(att_decoding_options, min_output_length), NULL },
    { "max_output_length", CORE_INT64, offsetof(att_decoding_options, max_output_length), NULL },
    { "min_length_ratio", CORE_DOUBLE, offsetof(att_decoding_options, min_length_ratio), NULL },
    { "max_length_ratio", CORE_DOUBLE, offsetof(att_decoding_options, max_length_ratio), NULL },
    { "sample", CORE_BOOL, offsetof(att_decoding_options, sample), NULL },
    { "temperature", CORE_DOUBLE, offsetof(att_decoding_options, temperature), NULL },
    { "top_k", CORE_INT64, offsetof(att_decoding_options, top_k), NULL },
    { "top_p", CORE_DOUBLE, offsetof(att_decoding_options, top_p), NULL },
    { "seed", CORE_UINT64, offsetof(att_decoding_options, seed), NULL },
    { "beam_stop", CORE_CHOICE, offsetof(att_decoding_options, beam_stop), beam_stops },
    { NULL, CORE_BOOL, 0, NULL },
};

static const core_option generate_table[] = {
    { "attention", CORE_BOOL, offsetof(att_generate_options, attention), NULL },
    { "all_heads", CORE_BOOL, offsetof(att_generate_options, all_heads), NULL },
    { "layer", CORE_INT64, offsetof(att_generate_options, layer), NULL },
    { "head", CORE_INT64, offsetof(att_generate_options, head), NULL },
    { "replace_unknown", CORE_BOOL, offsetof(att_generate_options, replace_unknown), NULL },
    { "max_input_length", CORE_INT64, offsetof(att_generate_options, max_input_length), NULL },
    { "input_overflow", CORE_CHOICE, offsetof(att_generate_options, input_overflow), overflows },
    { "batch_size", CORE_INT64, offsetof(att_generate_options, batch_size), NULL },
    { "first_line", CORE_UINT64, offsetof(att_generate_options, first_line), NULL },
    { NULL, CORE_BOOL, 0, NULL },
};

static const core_option classify_table[] = {
    { "attention", CORE_BOOL, offsetof(att_classify_options, attention), NULL },
    { "max_input_length", CORE_INT64, offsetof(att_classify_options, max_input_length), NULL },
    { "input_overflow", CORE_CHOICE, offsetof(att_classify_options, input_overflow), overflows },
    { "batch_size", CORE_INT64, offsetof(att_classify_options, batch_size), NULL },
    { NULL, CORE_BOOL, 0, NULL },
};

static const core_option tag_table[] = {
    { "max_input_length", CORE_INT64, offsetof(att_tag_options, max_input_length), NULL },
    { "input_overflow", CORE_CHOICE, offsetof(att_tag_options, input_overflow), overflows },
    { "batch_size", CORE_INT64, offsetof(att_tag_options, batch_size), NULL },
    { NULL, CORE_BOOL, 0, NULL },
};

att_model **core_models_get(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    att_model **models = PyMem_Malloc((size_t)(count + 1) * sizeof *models);
    if (!models)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; models && i < count; i++) {
        models[i] = core_pointer(PyTuple_GetItem(tuple, i), CORE_MODEL);
        if (!models[i]) {
            PyMem_Free(models);
            models = NULL;
        }
    }
    return models;
}

bool core_decoding_options(att_decoding_options *out, att_model ***ensemble, PyObject *dict,
                           PyObject *models)
{
    *out = (att_decoding_options)ATT_INIT(att_decoding_options);
    *ensemble = core_models_get(models);
    if (!*ensemble)
        return false;
    out->ensemble = *ensemble;
    out->ensemble_count = (size_t)PyTuple_Size(models);
    if (core_options_set(out, decoding_table, dict))
        return true;
    PyMem_Free(*ensemble);
    *ensemble = NULL;
    return false;
}

/* ---- generate and caption */

static void free_outputs(void *outputs)
{
    att_outputs_free(outputs);
}

static bool optional_lines(core_lines *out, PyObject *value, const char *name, size_t count)
{
    *out = (core_lines){ 0 };
    if (value == Py_None)
        return true;
    if (!core_lines_get(out, value, name))
        return false;
    if (out->count == count)
        return true;
    core_bad_input(name, "expected %zu lines, found %zu", count, out->count);
    return false;
}

static PyObject *generate(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *texts, *dict, *decoding_dict, *models, *targets, *prefixes;
    att_generate_options options = ATT_INIT(att_generate_options);
    att_decoding_options decoding;
    att_model **ensemble;
    if (!PyArg_ParseTuple(args, "OOO!O!O!OO:generate", &capsule, &texts, &PyDict_Type, &dict,
                          &PyDict_Type, &decoding_dict, &PyTuple_Type, &models, &targets,
                          &prefixes) ||
        !core_options_set(&options, generate_table, dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model || !core_decoding_options(&decoding, &ensemble, decoding_dict, models))
        return NULL;
    core_lines lines = { 0 }, forced = { 0 }, prefix = { 0 };
    att_outputs *outputs = NULL;
    bool made = false;
    if (core_lines_get(&lines, texts, "lines") &&
        optional_lines(&forced, targets, "targets", lines.count) &&
        optional_lines(&prefix, prefixes, "prefixes", lines.count)) {
        options.decoding = &decoding;
        options.targets = forced.lines;
        options.prefixes = prefix.lines;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_model_generate(&outputs, model, lines.lines, lines.count, &options, &err);
        made = core_end(&call, status, &err);
    }
    PyMem_Free(ensemble);
    core_lines_free(&lines);
    core_lines_free(&forced);
    core_lines_free(&prefix);
    if (made)
        return core_capsule(outputs, OUTPUTS, free_outputs);
    att_outputs_free(outputs);
    return NULL;
}

static PyObject *caption(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *images, *dict, *decoding_dict, *models;
    att_generate_options options = ATT_INIT(att_generate_options);
    att_decoding_options decoding;
    att_model **ensemble;
    core_input input;
    if (!PyArg_ParseTuple(args, "OOO!O!O!:caption", &capsule, &images, &PyDict_Type, &dict,
                          &PyDict_Type, &decoding_dict, &PyTuple_Type, &models) ||
        !core_options_set(&options, generate_table, dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model || !core_input_get(&input, images, "images", CORE_F32_ONLY))
        return NULL;
    att_outputs *outputs = NULL;
    bool made = false;
    if (core_decoding_options(&decoding, &ensemble, decoding_dict, models)) {
        options.decoding = &decoding;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = att_model_caption(&outputs, model, &input.tensor, &options, &err);
        made = core_end(&call, status, &err);
        PyMem_Free(ensemble);
    }
    core_input_release(&input);
    if (made)
        return core_capsule(outputs, OUTPUTS, free_outputs);
    att_outputs_free(outputs);
    return NULL;
}

/* Output `line`, or alternative `index - 1` of it. */
static const att_output *find_output(PyObject *args, const char *format, int *extra)
{
    PyObject *capsule;
    Py_ssize_t line, index;
    int unused = 0;
    if (!PyArg_ParseTuple(args, format, &capsule, &line, &index, extra ? extra : &unused))
        return NULL;
    const att_outputs *outputs = core_pointer(capsule, OUTPUTS);
    const att_output *output = outputs && line >= 0 ? att_outputs_get(outputs, (size_t)line) : NULL;
    if (output && index > 0)
        output = index <= output->alternative_count ? output->alternatives[index - 1] : NULL;
    if (!output && !PyErr_Occurred())
        PyErr_SetString(PyExc_IndexError, "there is no such output");
    return output;
}

static PyObject *output_dict(PyObject *module, PyObject *args)
{
    (void)module;
    const att_output *o = find_output(args, "Onn:output_dict", NULL);
    PyObject *dict = o ? PyDict_New() : NULL;
    if (!dict)
        return NULL;
    int64_t tokens[1] = { o->target_count }, map[2] = { o->target_count, o->source_count };
    int64_t heads[4] = { o->layers, o->heads, o->target_count, o->source_count };
    if (!(core_put(dict, "text", core_str(o->text)) &&
          core_put(dict, "score", PyFloat_FromDouble(o->score)) &&
          core_put(dict, "normalized_score", PyFloat_FromDouble(o->normalized_score)) &&
          core_put(dict, "truncated", PyBool_FromLong(o->truncated)) &&
          core_put(dict, "unknown_tokens", PyLong_FromLongLong(o->unknown_tokens)) &&
          core_put(dict, "unknown_tags", PyLong_FromLongLong(o->unknown_tags)) &&
          core_put(dict, "truncated_input_tokens",
                   PyLong_FromLongLong(o->truncated_input_tokens)) &&
          core_put(dict, "grid",
                   o->grid_rows
                       ? Py_BuildValue("LL", (long long)o->grid_rows, (long long)o->grid_columns)
                       : core_str(NULL)) &&
          core_put(dict, "source_tokens", core_str_list(o->source_tokens, o->source_count)) &&
          core_put(dict, "target_tokens", core_str_list(o->target_tokens, o->target_count)) &&
          core_put(dict, "token_scores", core_array_doubles(o->token_scores, 1, tokens)) &&
          core_put(dict, "copy_probs", core_array_doubles(o->copy_probs, 1, tokens)) &&
          core_put(dict, "weights", core_array_doubles(o->weights, 2, map)) &&
          core_put(dict, "head_weights", core_array_doubles(o->head_weights, 4, heads)) &&
          core_put(dict, "alternative_count", PyLong_FromLongLong(o->alternative_count))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *outputs_count(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_outputs *outputs = core_pointer(capsule, OUTPUTS);
    return outputs ? PyLong_FromSize_t(att_outputs_count(outputs)) : NULL;
}

/* The map of an output; of one layer with all its heads for layer >= 0; None where there is none.
 */
static PyObject *output_map(PyObject *module, PyObject *args)
{
    (void)module;
    int layer = -1;
    const att_output *output = find_output(args, "Onni:output_map", &layer);
    if (!output)
        return NULL;
    att_map map = { 0 };
    bool found =
        layer < 0 ? att_output_map(&map, output) : att_output_layer_map(&map, output, layer);
    if (!found)
        Py_RETURN_NONE;
    return core_map_dict(&map);
}

static PyObject *output_json(PyObject *module, PyObject *args)
{
    (void)module;
    const att_output *output = find_output(args, "Onn:output_json", NULL);
    att_string out = { 0 };
    att_error err = { 0 };
    return output ? core_rendered(att_output_json(&out, output, &err), &out, &err) : NULL;
}

static PyObject *output_alignment(PyObject *module, PyObject *args)
{
    (void)module;
    const att_output *output = find_output(args, "Onn:output_alignment", NULL);
    att_string out = { 0 };
    att_error err = { 0 };
    return output ? core_rendered(att_output_alignment(&out, output, &err), &out, &err) : NULL;
}

static PyObject *output_html(PyObject *module, PyObject *args)
{
    (void)module;
    const att_output *output = find_output(args, "Onn:output_html", NULL);
    att_string out = { 0 };
    att_error err = { 0 };
    att_map map = { 0 };
    if (!output)
        return NULL;
    if (!att_output_map(&map, output)) {
        core_bad_input("output", "expected an output with attention weights: attention=True");
        return NULL;
    }
    return core_rendered(att_output_html(&out, output, &map, &err), &out, &err);
}

/* output_overlay(outputs, line, alternative, crop, pixels or None, options) */
static PyObject *output_overlay(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *pixels, *dict, *place;
    int crop;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "O!pOO!:output_overlay", &PyTuple_Type, &place, &crop, &pixels,
                          &PyDict_Type, &dict) ||
        !core_render_options(&options, dict))
        return NULL;
    const att_output *output = find_output(place, "Onn:output_overlay", NULL);
    att_overlay_image overlay;
    att_image image = { 0 };
    if (!output || (pixels != Py_None && !core_overlay_get(&overlay, &image, pixels, crop)))
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_output_overlay_render(&out, output, pixels == Py_None ? NULL : &overlay,
                                                  &options, &err);
    PyObject *text = core_end_string(&call, status, &out, &err);
    PyMem_Free(image.pixels);
    return text;
}

/* ---- classifiers and taggers */

static PyObject *prediction_dict(const att_prediction *p)
{
    PyObject *dict = PyDict_New();
    int64_t labels[1] = { p->label_count }, tokens[1] = { p->token_count };
    int64_t heads[2] = { p->heads, p->token_count };
    if (dict &&
        !(core_put(dict, "label", core_str(p->label_text)) &&
          core_put(dict, "index", PyLong_FromLongLong(p->label)) &&
          core_put(dict, "probabilities", core_array_doubles(p->probabilities, 1, labels)) &&
          core_put(dict, "unknown_tokens", PyLong_FromLongLong(p->unknown_tokens)) &&
          core_put(dict, "truncated_input_tokens",
                   PyLong_FromLongLong(p->truncated_input_tokens)) &&
          core_put(dict, "tokens", core_str_list(p->tokens, p->token_count)) &&
          core_put(dict, "weights", core_array_doubles(p->weights, 1, tokens)) &&
          core_put(dict, "head_weights", core_array_doubles(p->head_weights, 2, heads))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *prediction_list(const att_predictions *predictions)
{
    size_t count = att_predictions_count(predictions);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *row = prediction_dict(att_predictions_get(predictions, i));
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *classify(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *texts, *dict, *models;
    att_classify_options options = ATT_INIT(att_classify_options);
    if (!PyArg_ParseTuple(args, "OOO!O!:classify", &capsule, &texts, &PyDict_Type, &dict,
                          &PyTuple_Type, &models) ||
        !core_options_set(&options, classify_table, dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    att_model **ensemble = model ? core_models_get(models) : NULL;
    core_lines lines;
    PyObject *out = NULL;
    if (ensemble && core_lines_get(&lines, texts, "lines")) {
        options.ensemble = ensemble;
        options.ensemble_count = (size_t)PyTuple_Size(models);
        att_predictions *predictions = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_model_classify(&predictions, model, lines.lines, lines.count, &options, &err);
        out = core_end(&call, status, &err) ? prediction_list(predictions) : NULL;
        att_predictions_free(predictions);
        core_lines_free(&lines);
    }
    PyMem_Free(ensemble);
    return out;
}

static PyObject *tagging_list(const att_taggings *taggings)
{
    size_t count = att_taggings_count(taggings);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        const att_tagging *t = att_taggings_get(taggings, i);
        int64_t shape[2] = { t->token_count, t->label_count };
        PyObject *dict = PyDict_New();
        if (!dict ||
            !(core_put(dict, "tokens", core_str_list(t->tokens, t->token_count)) &&
              core_put(dict, "labels", core_str_list(t->labels, t->token_count)) &&
              core_put(dict, "probabilities", core_array_doubles(t->probabilities, 2, shape)) &&
              core_put(dict, "unknown_tokens", PyLong_FromLongLong(t->unknown_tokens)) &&
              core_put(dict, "truncated_input_tokens",
                       PyLong_FromLongLong(t->truncated_input_tokens)))) {
            Py_XDECREF(dict);
            Py_CLEAR(list);
        } else if (PyList_SetItem(list, (Py_ssize_t)i, dict) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *tag(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *texts, *dict, *models;
    att_tag_options options = ATT_INIT(att_tag_options);
    if (!PyArg_ParseTuple(args, "OOO!O!:tag", &capsule, &texts, &PyDict_Type, &dict, &PyTuple_Type,
                          &models) ||
        !core_options_set(&options, tag_table, dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    att_model **ensemble = model ? core_models_get(models) : NULL;
    core_lines lines;
    PyObject *out = NULL;
    if (ensemble && core_lines_get(&lines, texts, "lines")) {
        options.ensemble = ensemble;
        options.ensemble_count = (size_t)PyTuple_Size(models);
        att_taggings *taggings = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_model_tag(&taggings, model, lines.lines, lines.count, &options, &err);
        out = core_end(&call, status, &err) ? tagging_list(taggings) : NULL;
        att_taggings_free(taggings);
        core_lines_free(&lines);
    }
    PyMem_Free(ensemble);
    return out;
}

/* tag_conll(model, path, column, options, ensemble): the text of the file with its labels */
static PyObject *tag_conll(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *path, *dict, *models;
    long long column;
    att_tag_options options = ATT_INIT(att_tag_options);
    if (!PyArg_ParseTuple(args, "OO&LO!O!:tag_conll", &capsule, PyUnicode_FSConverter, &path,
                          &column, &PyDict_Type, &dict, &PyTuple_Type, &models))
        return NULL;
    const att_model *model =
        core_options_set(&options, tag_table, dict) ? core_pointer(capsule, CORE_MODEL) : NULL;
    att_model **ensemble = model ? core_models_get(models) : NULL;
    PyObject *out = NULL;
    if (ensemble) {
        options.ensemble = ensemble;
        options.ensemble_count = (size_t)PyTuple_Size(models);
        att_string text = { 0 };
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_model_tag_conll(&text, model, PyBytes_AsString(path), column, &options, &err);
        out = core_end_string(&call, status, &text, &err);
    }
    PyMem_Free(ensemble);
    Py_DECREF(path);
    return out;
}

/* ---- language models */

typedef struct token_context {
    core_call *call;
    PyObject *on_token;
} token_context;

/* on_token(bytes, log-probability): a true result goes on. */
static bool on_token(void *context, const char *text, size_t length, double score)
{
    token_context *c = context;
    core_enter(c->call);
    bool go_on = false;
    if (!PyErr_Occurred()) {
        PyObject *result =
            PyObject_CallFunction(c->on_token, "y#d", text, (Py_ssize_t)length, score);
        go_on = result && PyObject_IsTrue(result) > 0;
        Py_XDECREF(result);
    }
    core_leave(c->call);
    return go_on;
}

static PyObject *completion_dict(const att_completion *c)
{
    return Py_BuildValue("{s:L,s:L,s:L,s:d,s:d}", "prompt_tokens", (long long)c->prompt_tokens,
                         "unknown_tokens", (long long)c->unknown_tokens, "tokens",
                         (long long)c->tokens, "score", c->score, "perplexity", c->perplexity);
}

static PyObject *complete(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *decoding_dict, *models, *callback;
    const char *prompt;
    Py_ssize_t length;
    long long max_new_tokens;
    if (!PyArg_ParseTuple(args, "Os#O!O!LO:complete", &capsule, &prompt, &length, &PyDict_Type,
                          &decoding_dict, &PyTuple_Type, &models, &max_new_tokens, &callback))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    att_decoding_options decoding;
    att_model **ensemble;
    if (!model || !core_decoding_options(&decoding, &ensemble, decoding_dict, models))
        return NULL;
    att_complete_options options = ATT_INIT(att_complete_options);
    options.decoding = &decoding;
    options.max_new_tokens = max_new_tokens;
    att_completion result = ATT_INIT(att_completion);
    att_error err = { 0 };
    core_call call;
    token_context context = { &call, callback };
    core_begin(&call);
    att_status status = att_model_complete(&result, model, prompt, (size_t)length, &options,
                                           on_token, &context, &err);
    bool done = core_end(&call, status, &err);
    PyMem_Free(ensemble);
    return done ? completion_dict(&result) : NULL;
}

static PyObject *score_text(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *models, *callback;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "Os#O!O:score_text", &capsule, &text, &length, &PyTuple_Type,
                          &models, &callback))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    att_model **ensemble = model ? core_models_get(models) : NULL;
    if (!ensemble)
        return NULL;
    att_score_options options = ATT_INIT(att_score_options);
    options.ensemble = ensemble;
    options.ensemble_count = (size_t)PyTuple_Size(models);
    att_completion result = ATT_INIT(att_completion);
    att_error err = { 0 };
    core_call call;
    token_context context = { &call, callback };
    core_begin(&call);
    att_status status = att_model_score_text(&result, model, text, (size_t)length, &options,
                                             on_token, &context, &err);
    bool done = core_end(&call, status, &err);
    PyMem_Free(ensemble);
    return done ? completion_dict(&result) : NULL;
}

PyMethodDef core_generate_methods[] = {
    { "generate", generate, METH_VARARGS, NULL },
    { "caption", caption, METH_VARARGS, NULL },
    { "outputs_count", outputs_count, METH_O, NULL },
    { "output_dict", output_dict, METH_VARARGS, NULL },
    { "output_map", output_map, METH_VARARGS, NULL },
    { "output_json", output_json, METH_VARARGS, NULL },
    { "output_html", output_html, METH_VARARGS, NULL },
    { "output_overlay", output_overlay, METH_VARARGS, NULL },
    { "output_alignment", output_alignment, METH_VARARGS, NULL },
    { "classify", classify, METH_VARARGS, NULL },
    { "tag", tag, METH_VARARGS, NULL },
    { "tag_conll", tag_conll, METH_VARARGS, NULL },
    { "complete", complete, METH_VARARGS, NULL },
    { "score_text", score_text, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
