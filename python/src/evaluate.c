/* Evaluation, and datasets from Python iterators. */
#include "core.h"

#include <math.h>

/* "target", ("source", "target") or (image number, "caption"). The strings belong to `item`. */
static bool example_parts(PyObject *item, att_example *out)
{
    if (PyUnicode_Check(item)) {
        out->target = core_text(item, "example", NULL);
        return out->target;
    }
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 2) {
        PyErr_Format(PyExc_TypeError,
                     "example: expected a str or a pair (source, target), found %R", item);
        return false;
    }
    PyObject *first = PyTuple_GetItem(item, 0);
    bool image = PyLong_Check(first);
    if (image ? !core_int64(&out->image, first, "example")
              : !(out->source = core_text(first, "example", NULL)))
        return false;
    out->target = core_text(PyTuple_GetItem(item, 1), "example", NULL);
    return out->target;
}

bool core_examples_next(void *context, att_example *out)
{
    core_examples *examples = context;
    core_enter(examples->call);
    Py_CLEAR(examples->item);
    bool found = false;
    if (!PyErr_Occurred()) {
        PyObject *item = PyIter_Next(examples->iterator);
        if (item && PyList_Check(item)) {
            examples->item = PyList_AsTuple(item);
            Py_DECREF(item);
        } else {
            examples->item = item;
        }
        found = examples->item && example_parts(examples->item, out);
    }
    core_leave(examples->call);
    return found;
}

static PyObject *interval(att_interval i)
{
    if (isnan(i.low))
        Py_RETURN_NONE;
    return Py_BuildValue("dd", i.low, i.high);
}

static PyObject *seq2seq_dict(const att_seq2seq_eval *e)
{
    return Py_BuildValue("{s:L,s:L,s:d,s:d,s:d,s:d,s:d,s:N,s:N,s:N,s:N,s:N,s:L,s:L}", "lines",
                         (long long)e->lines, "tokens", (long long)e->tokens, "exact_match",
                         e->exact_match, "token_accuracy", e->token_accuracy, "token_error_rate",
                         e->token_error_rate, "word_error_rate", e->word_error_rate, "perplexity",
                         e->perplexity, "exact_match_interval", interval(e->exact_match_interval),
                         "token_accuracy_interval", interval(e->token_accuracy_interval),
                         "token_error_rate_interval", interval(e->token_error_rate_interval),
                         "word_error_rate_interval", interval(e->word_error_rate_interval),
                         "perplexity_interval", interval(e->perplexity_interval),
                         "truncated_outputs", (long long)e->truncated_outputs, "several_targets",
                         (long long)e->several_targets);
}

static PyObject *lm_dict(const att_lm_eval *e)
{
    return Py_BuildValue("{s:L,s:L,s:L,s:d,s:d,s:d,s:d}", "tokens", (long long)e->tokens,
                         "characters", (long long)e->characters, "unknown_tokens",
                         (long long)e->unknown_tokens, "loss", e->loss, "bits_per_character",
                         e->bits_per_character, "perplexity", e->perplexity, "accuracy",
                         e->accuracy);
}

/* What an evaluation of any type returns. */
typedef struct evaluation {
    att_seq2seq_eval seq2seq;
    att_metric_scores *scores;
    att_lm_eval lm;
    att_classifier_eval *classifier;
    att_tagger_eval *tagger;
} evaluation;

static att_status run(evaluation *out, const att_model *model, const char *path,
                      const att_eval_options *options, att_string *notes, att_error *err)
{
    switch (att_model_type_get(model)) {
    case ATT_MODEL_LM:
        return att_model_evaluate_lm(&out->lm, model, path, options, notes, err);
    case ATT_MODEL_CLASSIFIER:
        return att_model_evaluate_classifier(&out->classifier, model, path, options, notes, err);
    case ATT_MODEL_TAGGER:
        return att_model_evaluate_tagger(&out->tagger, model, path, options, notes, err);
    default:
        return att_model_evaluate_seq2seq(&out->seq2seq, &out->scores, model, path, options, notes,
                                          err);
    }
}

/* (results: dict or JSON, text metrics or None, notes) */
static PyObject *evaluation_tuple(const evaluation *e, const att_model *model, size_t metrics,
                                  att_string *notes)
{
    att_model_type type = att_model_type_get(model);
    PyObject *scores = Py_None, *result = NULL;
    if (e->scores)
        scores = core_metric_scores(e->scores, metrics);
    else
        Py_INCREF(scores);
    att_string json = { 0 };
    att_error err = { 0 };
    att_status status = ATT_OK;
    if (type == ATT_MODEL_LM) {
        result = lm_dict(&e->lm);
    } else if (type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER) {
        status = type == ATT_MODEL_TAGGER
                     ? att_tagger_eval_json(&json, e->tagger, &err)
                     : att_classifier_eval_json(&json, e->classifier, model, &err);
        if (status)
            core_raise(status, &err);
        else
            result = core_string_take(&json);
    } else {
        result = seq2seq_dict(&e->seq2seq);
    }
    att_string_free(&json);
    if (result && scores)
        return Py_BuildValue("NNN", result, scores, core_string_take(notes));
    Py_XDECREF(result);
    Py_XDECREF(scores);
    return NULL;
}

static PyObject *evaluate_with(const att_model *model, const char *path, PyObject *iterator,
                               att_eval_options *options)
{
    evaluation e = { .seq2seq = ATT_INIT(att_seq2seq_eval), .lm = ATT_INIT(att_lm_eval) };
    att_string notes = { 0 };
    att_error err = { 0 };
    core_call call;
    core_examples examples = { .call = &call, .iterator = iterator };
    if (iterator != Py_None) {
        options->examples = core_examples_next;
        options->examples_context = &examples;
    }
    core_begin(&call);
    att_status status = run(&e, model, path, options, &notes, &err);
    bool done = core_end(&call, status, &err);
    Py_CLEAR(examples.item);
    PyObject *out = done ? evaluation_tuple(&e, model, options->metric_count, &notes) : NULL;
    att_metric_scores_free(e.scores);
    att_classifier_eval_free(e.classifier);
    att_tagger_eval_free(e.tagger);
    att_string_free(&notes);
    return out;
}

static PyObject *evaluate(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *iterator, *features, *decoding_dict, *models, *names, *metric_dict;
    PyObject *path = NULL;
    int recorded;
    att_eval_options options = ATT_INIT(att_eval_options);
    att_decoding_options decoding;
    att_metric_options metric_options;
    att_model **ensemble;
    long long stride;
    if (!PyArg_ParseTuple(args, "OO&OOO!O!OO!pzzL:evaluate", &capsule, core_path, &path, &iterator,
                          &features, &PyDict_Type, &decoding_dict, &PyTuple_Type, &models, &names,
                          &PyDict_Type, &metric_dict, &recorded, &options.format, &options.columns,
                          &stride))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model || !core_metric_options(&metric_options, metric_dict) ||
        !core_decoding_options(&decoding, &ensemble, decoding_dict, models)) {
        Py_XDECREF(path);
        return NULL;
    }
    core_lines metrics = { 0 };
    core_input input = { 0 };
    PyObject *out = NULL;
    bool images = features != Py_None;
    if (core_lines_get(&metrics, names, "metrics") &&
        (!images || core_input_get(&input, features, "features", CORE_F32_ONLY))) {
        options.decoding = &decoding;
        options.metrics = metrics.lines;
        options.metric_count = metrics.count;
        options.metric_options = &metric_options;
        options.recorded_data = recorded;
        options.stride = stride;
        options.feature_values = images ? &input.tensor : NULL;
        out = evaluate_with(model, path ? PyBytes_AsString(path) : NULL, iterator, &options);
        core_input_release(&input);
    }
    core_lines_free(&metrics);
    PyMem_Free(ensemble);
    Py_XDECREF(path);
    return out;
}

PyMethodDef core_eval_methods[] = {
    { "evaluate", evaluate, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
