/* Text metrics. */
#include "core.h"

static const core_option metric_table[] = {
    { "tokenizer", CORE_TEXT, offsetof(att_metric_options, tokenizer), NULL },
    { "lowercase", CORE_BOOL, offsetof(att_metric_options, lowercase), NULL },
    { "resamples", CORE_INT64, offsetof(att_metric_options, resamples), NULL },
    { "seed", CORE_UINT64, offsetof(att_metric_options, seed), NULL },
    { NULL, CORE_BOOL, 0, NULL },
};

bool core_metric_options(att_metric_options *out, PyObject *dict)
{
    *out = (att_metric_options)ATT_INIT(att_metric_options);
    return core_options_set(out, metric_table, dict);
}

/* [(name, title, value, low, high, signature, lower_is_better), …] */
PyObject *core_metric_scores(const att_metric_scores *scores, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        const att_metric_score *score = att_metric_scores_get(scores, i);
        PyObject *row =
            Py_BuildValue("ssdddsO", score->metric->name, score->metric->title, score->value,
                          score->interval.low, score->interval.high, score->signature,
                          score->metric->lower_is_better ? Py_True : Py_False);
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

void core_texts_free(core_texts *t)
{
    core_lines_free(&t->hypotheses);
    for (size_t i = 0; t->references && i < t->count; i++)
        core_lines_free(&t->references[i]);
    PyMem_Free(t->references);
    PyMem_Free((void *)t->lists);
}

bool core_texts_get(core_texts *t, PyObject *hypotheses, PyObject *references)
{
    if (!core_lines_get(&t->hypotheses, hypotheses, "hypotheses"))
        return false;
    t->count = (size_t)PyTuple_Size(references);
    t->references = PyMem_Calloc(t->count + 1, sizeof *t->references);
    t->lists = PyMem_Calloc(t->count + 1, sizeof *t->lists);
    if (!t->references || !t->lists) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < t->count; i++) {
        core_lines *set = &t->references[i];
        if (!core_lines_get_gaps(set, PyTuple_GetItem(references, (Py_ssize_t)i), "references"))
            return false;
        if (set->count != t->hypotheses.count) {
            core_bad_input("references", "expected %zu lines, as hypotheses has, found %zu",
                           t->hypotheses.count, set->count);
            return false;
        }
        t->lists[i] = set->lines;
    }
    t->all = (att_hypotheses){ .hypotheses = t->hypotheses.lines,
                               .references = t->lists,
                               .count = t->hypotheses.count,
                               .reference_count = t->count };
    return true;
}

static PyObject *metrics_score(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *names, *hypotheses, *references, *dict;
    att_metric_options options;
    core_lines metrics;
    if (!PyArg_ParseTuple(args, "OOO!O!:metrics_score", &names, &hypotheses, &PyTuple_Type,
                          &references, &PyDict_Type, &dict) ||
        !core_metric_options(&options, dict) || !core_lines_get(&metrics, names, "metrics"))
        return NULL;
    core_texts t = { 0 };
    PyObject *out = NULL;
    if (core_texts_get(&t, hypotheses, references)) {
        att_metric_scores *scores = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_metrics_score(&scores, metrics.lines, metrics.count, &t.all, &options, &err);
        if (core_end(&call, status, &err))
            out = core_metric_scores(scores, metrics.count);
        att_metric_scores_free(scores);
    }
    core_texts_free(&t);
    core_lines_free(&metrics);
    return out;
}

static PyObject *metric_names(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < att_metric_count(); i++) {
        PyObject *name = core_str(att_metric_get(i)->name);
        if (!name || PyList_Append(list, name) < 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

PyMethodDef core_metric_methods[] = {
    { "metrics_score", metrics_score, METH_VARARGS, NULL },
    { "metric_names", metric_names, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};
