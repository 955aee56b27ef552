/* Training runs. A run is for one thread at a time; a second one is refused. */
#include "core.h"

#include <math.h>
#include <string.h>

#define TRAINING "attend.training"

typedef struct training_box {
    att_settings *settings; /* must outlive the run */
    att_training *training;
    bool busy;
} training_box;

static void free_box(void *pointer)
{
    training_box *box = pointer;
    att_training_free(box->training);
    att_settings_free(box->settings);
    PyMem_Free(box);
}

static training_box *lock(PyObject *capsule)
{
    training_box *box = core_pointer(capsule, TRAINING);
    if (box && box->busy) {
        core_bad_input("training", "expected one thread at a time");
        return NULL;
    }
    if (box)
        box->busy = true;
    return box;
}

att_settings *core_settings_new(const char *task, PyObject *pairs)
{
    att_settings *settings = NULL;
    att_error err = { 0 };
    att_status status = att_settings_new(&settings, task, &err);
    for (Py_ssize_t i = 0; !status && i < PyTuple_Size(pairs); i++) {
        const char *key, *value;
        if (!PyArg_ParseTuple(PyTuple_GetItem(pairs, i), "ss", &key, &value)) {
            att_settings_free(settings);
            return NULL;
        }
        status = att_settings_set(settings, key, value, &err);
    }
    if (!status)
        return settings;
    core_raise(status, &err);
    att_settings_free(settings);
    return NULL;
}

typedef struct features {
    core_input train, valid;
} features;

static bool features_get(features *out, PyObject *train, PyObject *valid,
                         att_training_options *options)
{
    if (train != Py_None) {
        if (!core_input_get(&out->train, train, "features", CORE_F32_ONLY))
            return false;
        options->features = &out->train.tensor;
    }
    if (valid != Py_None) {
        if (!core_input_get(&out->valid, valid, "valid_features", CORE_F32_ONLY))
            return false;
        options->valid_features = &out->valid.tensor;
    }
    return true;
}

/* training_new(task, settings, train iterator, valid iterator, features, valid features); None
 * where not given. */
static PyObject *training_new(PyObject *module, PyObject *args)
{
    (void)module;
    const char *task;
    PyObject *pairs, *iterators[2], *arrays[2];
    if (!PyArg_ParseTuple(args, "sO!OOOO:training_new", &task, &PyTuple_Type, &pairs, &iterators[0],
                          &iterators[1], &arrays[0], &arrays[1]))
        return NULL;
    training_box *box = PyMem_Calloc(1, sizeof *box);
    if (!box)
        return PyErr_NoMemory();
    att_training_options options = ATT_INIT(att_training_options);
    core_call call;
    core_examples train = { .call = &call, .iterator = iterators[0] };
    core_examples valid = { .call = &call, .iterator = iterators[1] };
    features images = { 0 };
    bool made = false;
    box->settings = core_settings_new(task, pairs);
    if (box->settings && features_get(&images, arrays[0], arrays[1], &options)) {
        options.train = iterators[0] != Py_None ? core_examples_next : NULL;
        options.train_context = &train;
        options.valid = iterators[1] != Py_None ? core_examples_next : NULL;
        options.valid_context = &valid;
        att_error err = { 0 };
        core_begin(&call);
        att_status status = att_training_new(&box->training, box->settings, &options, &err);
        made = core_end(&call, status, &err);
    }
    core_input_release(&images.train);
    core_input_release(&images.valid);
    Py_CLEAR(train.item);
    Py_CLEAR(valid.item);
    if (made)
        return core_capsule(box, TRAINING, free_box);
    free_box(box);
    return NULL;
}

/* ---- events */

PyObject *core_validation(const att_validation *v)
{
    if (!v)
        Py_RETURN_NONE;
    return Py_BuildValue("{s:L,s:L,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d}", "step",
                         (long long)v->step, "epoch", (long long)v->epoch, "learning_rate",
                         v->learning_rate, "train_loss", v->train_loss, "train_accuracy",
                         v->train_accuracy, "loss", v->loss, "accuracy", v->accuracy, "exact_match",
                         v->exact_match, "token_error_rate", v->token_error_rate, "bleu", v->bleu,
                         "bits_per_character", v->bits_per_character, "perplexity", v->perplexity,
                         "truncated_outputs", v->truncated_outputs, "f1", v->f1);
}

PyObject *core_training_event(const att_training_progress *p)
{
    static const char *const events[] = { "step", "validating", "validated" };
    return Py_BuildValue(
        "{s:s,s:L,s:L,s:L,s:L,s:d,s:d,s:d,s:d,s:d,s:d,s:N,s:N,s:N}", "event", events[p->event],
        "step", (long long)p->step, "steps", (long long)p->steps, "epoch", (long long)p->epoch,
        "epochs", (long long)p->epochs, "loss", p->loss, "learning_rate", p->learning_rate,
        "gradient_norm", p->gradient_norm, "tokens_per_second", p->tokens_per_second, "seconds",
        p->seconds, "seconds_left", p->seconds_left, "last", core_validation(p->last), "best",
        core_validation(p->best), "improved", PyBool_FromLong(p->improved));
}

typedef struct event_context {
    core_call *call;
    PyObject *on_event;
    bool stopped;
} event_context;

/* on_event(dict): False stops; None and everything else go on. */
static bool on_event(void *context, const att_training_progress *progress)
{
    event_context *c = context;
    core_enter(c->call);
    PyObject *event = PyErr_Occurred() ? NULL : core_training_event(progress);
    PyObject *result = event ? PyObject_CallFunctionObjArgs(c->on_event, event, NULL) : NULL;
    bool go_on = result && result != Py_False;
    c->stopped = c->stopped || result == Py_False;
    Py_XDECREF(event);
    Py_XDECREF(result);
    core_leave(c->call);
    return go_on;
}

/* training_run(training, steps, on_event or None): with steps 0 to the end with files, otherwise so
 * many steps without. True if on_event stopped it. */
static PyObject *training_run(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *callback;
    long long steps;
    if (!PyArg_ParseTuple(args, "OLO:training_run", &capsule, &steps, &callback))
        return NULL;
    training_box *box = lock(capsule);
    if (!box)
        return NULL;
    core_call call;
    event_context context = { &call, callback, false };
    att_training_callback *event = callback == Py_None ? NULL : on_event;
    att_error err = { 0 };
    core_begin(&call);
    att_status status = steps > 0
                            ? att_training_advance(box->training, steps, event, &context, &err)
                            : att_training_run(box->training, event, &context, &err);
    bool done = core_end(&call, status, &err);
    box->busy = false;
    return done ? PyBool_FromLong(context.stopped) : NULL;
}

static PyObject *training_model(PyObject *module, PyObject *capsule)
{
    (void)module;
    training_box *box = lock(capsule);
    if (!box)
        return NULL;
    att_model *model = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_training_model(&model, box->training, &err);
    bool made = core_end(&call, status, &err);
    box->busy = false;
    if (made)
        return core_model(model);
    att_model_free(model);
    return NULL;
}

static PyObject *training_save(PyObject *module, PyObject *capsule)
{
    (void)module;
    training_box *box = lock(capsule);
    if (!box)
        return NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_training_save(box->training, &err);
    bool saved = core_end(&call, status, &err);
    box->busy = false;
    if (!saved)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *validations(const att_training *training)
{
    size_t count = att_training_validation_count(training);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *row = core_validation(att_training_validation(training, i));
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *training_text(const att_training *training,
                               att_status (*write)(att_string *, const att_training *, att_error *))
{
    att_string out = { 0 };
    att_error err = { 0 };
    att_status status = write(&out, training, &err);
    if (!status)
        return core_string_take(&out);
    att_string_free(&out);
    core_raise(status, &err);
    return NULL;
}

static PyObject *training_state(PyObject *module, PyObject *capsule)
{
    (void)module;
    training_box *box = lock(capsule);
    if (!box)
        return NULL;
    const att_training *t = box->training;
    PyObject *dict = PyDict_New();
    if (dict && !(core_put(dict, "steps", PyLong_FromLongLong(att_training_steps(t))) &&
                  core_put(dict, "finished", PyBool_FromLong(att_training_finished(t))) &&
                  core_put(dict, "validations", validations(t)) &&
                  core_put(dict, "best", core_validation(att_training_best(t))) &&
                  core_put(dict, "report", training_text(t, att_training_report)) &&
                  core_put(dict, "outlook", training_text(t, att_training_outlook)) &&
                  core_put(dict, "model_path", core_str(att_training_model_path(t))) &&
                  core_put(dict, "checkpoint_path", core_str(att_training_checkpoint_path(t)))))
        Py_CLEAR(dict);
    box->busy = false;
    return dict;
}

/* (lines, images or None) of a synthetic task */
static PyObject *synthetic_data(PyObject *module, PyObject *args)
{
    (void)module;
    const char *task;
    PyObject *pairs;
    int valid;
    if (!PyArg_ParseTuple(args, "sO!p:synthetic_data", &task, &PyTuple_Type, &pairs, &valid))
        return NULL;
    att_settings *settings = core_settings_new(task, pairs);
    if (!settings)
        return NULL;
    att_string lines = { 0 };
    att_tensor images = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_synthetic_data(&lines, &images, settings, valid, &err);
    bool made = core_end(&call, status, &err);
    att_settings_free(settings);
    if (!made) {
        att_string_free(&lines);
        att_tensor_free(&images);
        return NULL;
    }
    PyObject *array = images.data ? core_array_take(&images, false) : core_str(NULL);
    PyObject *text = core_string_take(&lines);
    if (array && text)
        return Py_BuildValue("NN", text, array);
    Py_XDECREF(array);
    Py_XDECREF(text);
    return NULL;
}

static const char *setting_type_name(att_setting_type type)
{
    static const char *const names[] = { "integer", "real", "choice", "text", "flag" };
    return names[type];
}

/* [(key, group, type, help, choices), …] of a task, or of all */
static PyObject *setting_rows(PyObject *module, PyObject *args)
{
    (void)module;
    const char *task;
    if (!PyArg_ParseTuple(args, "z:setting_rows", &task))
        return NULL;
    PyObject *list = PyList_New(0);
    const att_setting *setting;
    for (size_t i = 0; list && (setting = att_setting_get(i)); i++) {
        if (task && !att_setting_applies(setting, task))
            continue;
        int64_t count = 0;
        while (setting->choices && setting->choices[count])
            count++;
        PyObject *row = Py_BuildValue(
            "ssNNN", setting->key, setting->group, core_str(setting_type_name(setting->type)),
            core_str(setting->help), core_str_list(setting->choices, count));
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyMethodDef core_training_methods[] = {
    { "training_new", training_new, METH_VARARGS, NULL },
    { "training_run", training_run, METH_VARARGS, NULL },
    { "training_model", training_model, METH_O, NULL },
    { "training_save", training_save, METH_O, NULL },
    { "training_state", training_state, METH_O, NULL },
    { "synthetic_data", synthetic_data, METH_VARARGS, NULL },
    { "setting_rows", setting_rows, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
