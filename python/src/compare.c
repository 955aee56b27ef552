/* Comparisons of two systems on the same lines: models, or lines of hypotheses. */
#include "core.h"

/* (lines, [(name, title, lower_is_better, is_rate, baseline, value, baseline_mean, baseline_margin,
 * mean, margin, bootstrap_p, randomization_p), …], notes) */
static PyObject *comparison_tuple(const att_comparison *comparison, att_string *notes)
{
    PyObject *list = PyList_New(0);
    const att_comparison_row *r;
    for (size_t i = 0; list && (r = att_comparison_get(comparison, i)); i++) {
        PyObject *row = Py_BuildValue(
            "ssOOdddddddd", r->name, r->title, r->lower_is_better ? Py_True : Py_False,
            r->is_rate ? Py_True : Py_False, r->baseline, r->value, r->baseline_mean,
            r->baseline_margin, r->mean, r->margin, r->bootstrap_p, r->randomization_p);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    if (!list)
        return NULL;
    return Py_BuildValue("LNN", (long long)att_comparison_lines(comparison), list,
                         core_string_take(notes));
}

static PyObject *run_models(const att_model *model, att_model *const *baseline, size_t count,
                            const char *path, PyObject *iterator, att_eval_options *options)
{
    att_comparison *comparison = NULL;
    att_string notes = { 0 };
    att_error err = { 0 };
    core_call call;
    core_examples examples = { .call = &call, .iterator = iterator };
    if (iterator != Py_None) {
        options->examples = core_examples_next;
        options->examples_context = &examples;
    }
    core_begin(&call);
    att_status status =
        att_models_compare(&comparison, model, baseline, count, path, options, &notes, &err);
    bool done = core_end(&call, status, &err);
    Py_CLEAR(examples.item);
    PyObject *out = done ? comparison_tuple(comparison, &notes) : NULL;
    att_comparison_free(comparison);
    att_string_free(&notes);
    return out;
}

/* models_compare(model, baseline models, path, examples, features, decoding, ensemble, metrics,
 * metric options, recorded_data, format, columns) */
static PyObject *models_compare(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *others, *iterator, *features, *decoding_dict, *models, *names, *metric_dict;
    PyObject *path = NULL;
    int recorded;
    att_eval_options options = ATT_INIT(att_eval_options);
    att_decoding_options decoding;
    att_metric_options metric_options;
    att_model **ensemble, **baseline;
    if (!PyArg_ParseTuple(args, "OO!O&OOO!O!OO!pzz:models_compare", &capsule, &PyTuple_Type,
                          &others, core_path, &path, &iterator, &features, &PyDict_Type,
                          &decoding_dict, &PyTuple_Type, &models, &names, &PyDict_Type,
                          &metric_dict, &recorded, &options.format, &options.columns))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model || !core_metric_options(&metric_options, metric_dict) ||
        !core_decoding_options(&decoding, &ensemble, decoding_dict, models)) {
        Py_XDECREF(path);
        return NULL;
    }
    baseline = core_models_get(others);
    core_lines metrics = { 0 };
    core_input input = { 0 };
    PyObject *out = NULL;
    bool images = features != Py_None;
    if (baseline && core_lines_get(&metrics, names, "metrics") &&
        (!images || core_input_get(&input, features, "features", CORE_F32_ONLY))) {
        options.decoding = &decoding;
        options.metrics = metrics.lines;
        options.metric_count = metrics.count;
        options.metric_options = &metric_options;
        options.recorded_data = recorded;
        options.feature_values = images ? &input.tensor : NULL;
        out = run_models(model, baseline, (size_t)PyTuple_Size(others),
                         path ? PyBytes_AsString(path) : NULL, iterator, &options);
        core_input_release(&input);
    }
    core_lines_free(&metrics);
    PyMem_Free(ensemble);
    PyMem_Free(baseline);
    Py_XDECREF(path);
    return out;
}

/* metrics_compare(metrics, hypotheses, baseline, references, options) */
static PyObject *metrics_compare(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *names, *hypotheses, *baseline, *references, *dict, *out = NULL;
    att_metric_options options;
    if (!PyArg_ParseTuple(args, "OOOO!O!:metrics_compare", &names, &hypotheses, &baseline,
                          &PyTuple_Type, &references, &PyDict_Type, &dict) ||
        !core_metric_options(&options, dict))
        return NULL;
    core_lines metrics = { 0 }, others = { 0 };
    core_texts texts = { 0 };
    if (core_lines_get(&metrics, names, "metrics") &&
        core_lines_get(&others, baseline, "baseline") &&
        core_texts_get(&texts, hypotheses, references)) {
        if (others.count != texts.all.count) {
            core_bad_input("baseline", "expected %zu lines, as hypotheses has, found %zu",
                           texts.all.count, others.count);
        } else {
            att_comparison *comparison = NULL;
            att_string notes = { 0 };
            att_error err = { 0 };
            core_call call;
            core_begin(&call);
            att_status status = att_metrics_compare(&comparison, metrics.lines, metrics.count,
                                                    &texts.all, others.lines, &options, &err);
            if (core_end(&call, status, &err))
                out = comparison_tuple(comparison, &notes);
            att_comparison_free(comparison);
        }
    }
    core_texts_free(&texts);
    core_lines_free(&metrics);
    core_lines_free(&others);
    return out;
}

PyMethodDef core_compare_methods[] = {
    { "models_compare", models_compare, METH_VARARGS, NULL },
    { "metrics_compare", metrics_compare, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
