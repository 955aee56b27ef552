/* The search for settings. */
#include "core.h"

typedef struct search_context {
    core_call *call;
    PyObject *on_event;
    bool stopped;
} search_context;

/* on_event(index, count, round, rounds, event): False stops. */
static bool on_event(void *context, const att_search_progress *p)
{
    search_context *c = context;
    core_enter(c->call);
    PyObject *event = PyErr_Occurred() ? NULL : core_training_event(p->training);
    PyObject *result = event ? PyObject_CallFunction(c->on_event, "LLLLO", (long long)p->index,
                                                     (long long)p->count, (long long)p->round,
                                                     (long long)p->rounds, event)
                             : NULL;
    bool go_on = result && result != Py_False;
    c->stopped = c->stopped || result == Py_False;
    Py_XDECREF(event);
    Py_XDECREF(result);
    core_leave(c->call);
    return go_on;
}

/* ([(options, steps, seconds, best validation or None), …], command, model path) */
static PyObject *search_tuple(const att_search *search)
{
    PyObject *list = PyList_New(0);
    const att_try *one;
    for (size_t i = 0; list && (one = att_search_get(search, i)); i++) {
        PyObject *row = Py_BuildValue("NLdN", core_str(one->options), (long long)one->steps,
                                      one->seconds, core_validation(one->best));
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    if (!list)
        return NULL;
    return Py_BuildValue("NNN", list, core_str(att_search_command(search)),
                         core_str(att_search_model_path(search)));
}

/* search_run(task, settings, on_event or None): a tuple, or None if on_event stopped it. */
static PyObject *search_run(PyObject *module, PyObject *args)
{
    (void)module;
    const char *task;
    PyObject *pairs, *callback;
    if (!PyArg_ParseTuple(args, "sO!O:search_run", &task, &PyTuple_Type, &pairs, &callback))
        return NULL;
    att_settings *settings = core_settings_new(task, pairs);
    if (!settings)
        return NULL;
    core_call call;
    search_context context = { &call, callback, false };
    att_search *search = NULL;
    att_error err = { 0 };
    core_begin(&call);
    att_status status =
        att_search_run(&search, settings, callback == Py_None ? NULL : on_event, &context, &err);
    bool stopped = status == ATT_CANCELLED && context.stopped;
    bool done = core_end(&call, stopped ? ATT_OK : status, &err);
    PyObject *out = !done ? NULL : stopped ? core_str(NULL) : search_tuple(search);
    att_search_free(search);
    att_settings_free(settings);
    return out;
}

PyMethodDef core_search_methods[] = {
    { "search_run", search_run, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
