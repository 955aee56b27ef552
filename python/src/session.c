/* Sessions: decoding step by step. A session is for one thread at a time; a second one is refused
 * rather than waited for, since its steps would mix with those of the first. */
#include "core.h"

#define SESSION "attend.session"

typedef struct session_box {
    att_session *session;
    PyObject *model; /* the capsule, which must outlive the session */
    bool busy;
} session_box;

static void free_box(void *pointer)
{
    session_box *box = pointer;
    att_session_free(box->session);
    Py_XDECREF(box->model);
    PyMem_Free(box);
}

/* The session of a capsule, locked until box->busy is cleared; NULL with an exception. */
static session_box *lock(PyObject *capsule)
{
    session_box *box = core_pointer(capsule, SESSION);
    if (box && box->busy) {
        core_bad_input("session", "expected one thread at a time");
        return NULL;
    }
    if (box)
        box->busy = true;
    return box;
}

static PyObject *session_new(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    int attention, hidden;
    if (!PyArg_ParseTuple(args, "Opp:session_new", &capsule, &attention, &hidden))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    session_box *box = model ? PyMem_Calloc(1, sizeof *box) : NULL;
    if (!box)
        return model ? PyErr_NoMemory() : NULL;
    att_session_options options = ATT_INIT(att_session_options);
    options.attention = attention;
    options.hidden_states = hidden;
    att_error err = { 0 };
    att_status status = att_session_new(&box->session, model, &options, &err);
    if (status) {
        core_raise(status, &err);
        free_box(box);
        return NULL;
    }
    box->model = capsule;
    Py_INCREF(capsule);
    return core_capsule(box, SESSION, free_box);
}

static PyObject *session_start(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *sources;
    if (!PyArg_ParseTuple(args, "OO:session_start", &capsule, &sources))
        return NULL;
    core_lines lines = { 0 };
    core_input images = { 0 };
    long rows = PyLong_Check(sources) ? PyLong_AsLong(sources) : 0;
    bool is_rows = PyLong_Check(sources);
    bool is_images = !is_rows && (PyObject_CheckBuffer(sources) ||
                                  PyObject_HasAttrString(sources, "__dlpack__"));
    if (PyErr_Occurred() || (is_rows && rows < 1)) {
        if (!PyErr_Occurred())
            core_bad_input("sources", "expected at least 1 row, found %ld", rows);
        return NULL;
    }
    if (is_images ? !core_input_get(&images, sources, "sources", CORE_F32_ONLY)
                  : !is_rows && !core_lines_get(&lines, sources, "sources"))
        return NULL;
    session_box *box = lock(capsule);
    bool done = false;
    if (box) {
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            is_rows     ? att_session_start_text(box->session, (size_t)rows, &err)
            : is_images ? att_session_start_images(box->session, &images.tensor, &err)
                        : att_session_start_lines(box->session, lines.lines, lines.count, &err);
        done = core_end(&call, status, &err);
        box->busy = false;
    }
    core_input_release(&images);
    core_lines_free(&lines);
    if (!done)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *step_dict(const att_session_output *o)
{
    PyObject *dict = PyDict_New();
    int64_t logs[2] = { o->rows, o->vocab_size }, hidden[2] = { o->rows, o->hidden_size };
    int64_t attention[4] = { o->rows, o->layers, o->heads, o->source_length };
    if (dict && !(core_put(dict, "log_probs", core_array_floats(o->log_probs, 2, logs)) &&
                  core_put(dict, "attention", core_array_floats(o->attention, 4, attention)) &&
                  core_put(dict, "hidden", core_array_floats(o->hidden, 2, hidden))))
        Py_CLEAR(dict);
    return dict;
}

/* step(session, tokens [rows], order [rows] or None) */
static PyObject *session_step(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *token_list, *order_list, *out = NULL;
    if (!PyArg_ParseTuple(args, "OOO:session_step", &capsule, &token_list, &order_list))
        return NULL;
    size_t count = 0, order_count = 0;
    int64_t *wide = core_integers(token_list, "tokens", &count), *order = NULL;
    int32_t *tokens = wide ? PyMem_Malloc((count + 1) * sizeof *tokens) : NULL;
    for (size_t i = 0; tokens && i < count; i++)
        tokens[i] = wide[i] < 0 || wide[i] > INT32_MAX ? -1 : (int32_t)wide[i];
    if (tokens && order_list != Py_None) {
        order = core_integers(order_list, "order", &order_count);
        if (order && order_count != count)
            core_bad_input("order", "expected %zu rows, as tokens has, found %zu", count,
                           order_count);
    }
    session_box *box = tokens && !PyErr_Occurred() ? lock(capsule) : NULL;
    if (box) {
        const att_session_output *result = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_session_step(box->session, (int64_t)count, tokens, order, &result, &err);
        if (core_end(&call, status, &err))
            out = step_dict(result);
        box->busy = false;
    }
    PyMem_Free(wide);
    PyMem_Free(tokens);
    PyMem_Free(order);
    return out;
}

/* (start token, end token, vocabulary size, number of sources) */
static PyObject *session_facts(PyObject *module, PyObject *capsule)
{
    (void)module;
    session_box *box = lock(capsule);
    if (!box)
        return NULL;
    box->busy = false;
    return Py_BuildValue("iiiL", att_session_start_token(box->session),
                         att_session_end_token(box->session), att_session_vocab_size(box->session),
                         (long long)att_session_source_count(box->session));
}

static PyObject *session_token(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    long long source;
    int token;
    if (!PyArg_ParseTuple(args, "OLi:session_token", &capsule, &source, &token))
        return NULL;
    session_box *box = lock(capsule);
    if (!box)
        return NULL;
    box->busy = false;
    return core_str(att_session_token(box->session, source, token));
}

static PyObject *session_source(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    long long source;
    if (!PyArg_ParseTuple(args, "OL:session_source", &capsule, &source))
        return NULL;
    session_box *box = lock(capsule);
    if (!box)
        return NULL;
    box->busy = false;
    if (source < 0 || source >= att_session_source_count(box->session)) {
        PyErr_SetString(PyExc_IndexError, "there is no such source");
        return NULL;
    }
    int64_t length = att_session_source_length(box->session, source);
    PyObject *list = PyList_New((Py_ssize_t)length);
    for (int64_t i = 0; list && i < length; i++) {
        PyObject *token = core_str(att_session_source_token(box->session, source, i));
        if (!token || PyList_SetItem(list, (Py_ssize_t)i, token) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyMethodDef core_session_methods[] = {
    { "session_new", session_new, METH_VARARGS, NULL },
    { "session_start", session_start, METH_VARARGS, NULL },
    { "session_step", session_step, METH_VARARGS, NULL },
    { "session_facts", session_facts, METH_O, NULL },
    { "session_token", session_token, METH_VARARGS, NULL },
    { "session_source", session_source, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
