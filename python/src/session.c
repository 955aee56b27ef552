/* Sessions: decoding step by step. A session is for one thread at a time; a second one is refused
 * rather than waited for, since its steps would mix with those of the first. */
#include "core.h"

#include <string.h>

#define SESSION "attend.session"

typedef struct session_box {
    att_session *session;
    PyObject *models; /* the capsules, which must outlive the session */
    bool busy;
} session_box;

static void free_box(void *pointer)
{
    session_box *box = pointer;
    att_session_free(box->session);
    Py_XDECREF(box->models);
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

/* session_new(models, attention, hidden_states): the first of the models, and its ensemble */
static PyObject *session_new(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsules;
    int attention, hidden;
    if (!PyArg_ParseTuple(args, "O!pp:session_new", &PyTuple_Type, &capsules, &attention, &hidden))
        return NULL;
    att_model **models = core_models_get(capsules);
    session_box *box = models ? PyMem_Calloc(1, sizeof *box) : NULL;
    if (!box) {
        PyMem_Free(models);
        return models ? PyErr_NoMemory() : NULL;
    }
    att_session_options options = ATT_INIT(att_session_options);
    options.attention = attention;
    options.hidden_states = hidden;
    options.ensemble = models + 1;
    options.ensemble_count = (size_t)PyTuple_Size(capsules) - 1;
    att_error err = { 0 };
    att_status status = att_session_new(&box->session, models[0], &options, &err);
    PyMem_Free(models);
    if (status) {
        core_raise(status, &err);
        free_box(box);
        return NULL;
    }
    box->models = capsules;
    Py_INCREF(capsules);
    return core_capsule(box, SESSION, free_box);
}

/* What a session starts from, in one of the four ways. */
typedef struct sources {
    long long rows; /* of a language model, or 0 */
    core_lines lines;
    core_input images;
    int32_t *ids;
    int64_t *lengths;
    size_t count;
} sources;

static void sources_free(sources *s)
{
    core_lines_free(&s->lines);
    core_input_release(&s->images);
    PyMem_Free(s->ids);
    PyMem_Free(s->lengths);
}

/* Sequences of token ids, one after the other, with their lengths. */
static bool id_sources(sources *out, PyObject *tuple)
{
    size_t total = 0, count;
    out->count = (size_t)PyTuple_Size(tuple);
    out->lengths = PyMem_Malloc((out->count + 1) * sizeof *out->lengths);
    if (!out->lengths)
        PyErr_NoMemory();
    for (size_t i = 0; out->lengths && i < out->count; i++) {
        int32_t *ids = core_token_ids(PyTuple_GetItem(tuple, (Py_ssize_t)i), "sources", &count);
        int32_t *grown = ids ? PyMem_Realloc(out->ids, (total + count + 1) * sizeof *grown) : NULL;
        if (grown) {
            out->ids = grown;
            memcpy(grown + total, ids, count * sizeof *ids);
            total += count;
            out->lengths[i] = (int64_t)count;
        } else if (ids) {
            PyErr_NoMemory();
        }
        PyMem_Free(ids);
        if (!grown)
            return false;
    }
    return out->lengths;
}

static bool is_ids(PyObject *tuple)
{
    if (PyTuple_Size(tuple) == 0)
        return false;
    PyObject *first = PyTuple_GetItem(tuple, 0);
    return !PyUnicode_Check(first) && PySequence_Check(first);
}

static bool sources_get(sources *out, PyObject *value)
{
    if (PyLong_Check(value)) {
        out->rows = PyLong_AsLongLong(value);
        if (!PyErr_Occurred() && out->rows < 1)
            core_bad_input("sources", "expected at least 1 row, found %lld", out->rows);
        return !PyErr_Occurred();
    }
    if (PyObject_CheckBuffer(value) || PyObject_HasAttrString(value, "__dlpack__"))
        return core_input_get(&out->images, value, "sources", CORE_F32_ONLY);
    PyObject *tuple = PyUnicode_Check(value) ? NULL : PySequence_Tuple(value);
    bool got = tuple && is_ids(tuple) ? id_sources(out, tuple)
               : tuple                ? core_lines_get(&out->lines, tuple, "sources")
               : PyErr_Occurred()     ? false
                                      : core_lines_get(&out->lines, value, "sources");
    Py_XDECREF(tuple);
    return got;
}

static att_status start(att_session *session, const sources *s, att_error *err)
{
    if (s->rows > 0)
        return att_session_start_text(session, (size_t)s->rows, err);
    if (s->lengths)
        return att_session_start_ids(session, s->ids, s->lengths, s->count, err);
    if (s->lines.lines)
        return att_session_start_lines(session, s->lines.lines, s->lines.count, err);
    return att_session_start_images(session, &s->images.tensor, err);
}

static PyObject *session_start(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *value;
    if (!PyArg_ParseTuple(args, "OO:session_start", &capsule, &value))
        return NULL;
    sources from = { 0 };
    session_box *box = sources_get(&from, value) ? lock(capsule) : NULL;
    bool done = false;
    if (box) {
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = start(box->session, &from, &err);
        done = core_end(&call, status, &err);
        box->busy = false;
    }
    sources_free(&from);
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
    int32_t *tokens = core_token_ids(token_list, "tokens", &count);
    int64_t *order = NULL;
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
    PyMem_Free(tokens);
    PyMem_Free(order);
    return out;
}

/* feed(session, tokens [rows, count] one row after the other, rows) */
static PyObject *session_feed(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *token_list, *out = NULL;
    long long rows;
    if (!PyArg_ParseTuple(args, "OOL:session_feed", &capsule, &token_list, &rows))
        return NULL;
    size_t count = 0;
    int32_t *tokens = core_token_ids(token_list, "tokens", &count);
    if (tokens && (rows < 1 || count % (size_t)rows != 0))
        core_bad_input("tokens", "expected rows of equal lengths");
    session_box *box = tokens && !PyErr_Occurred() ? lock(capsule) : NULL;
    if (box) {
        const att_session_output *result = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_session_feed(box->session, rows, tokens, (int64_t)count / rows, &result, &err);
        if (core_end(&call, status, &err))
            out = step_dict(result);
        box->busy = false;
    }
    PyMem_Free(tokens);
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
    { "session_feed", session_feed, METH_VARARGS, NULL },
    { "session_facts", session_facts, METH_O, NULL },
    { "session_token", session_token, METH_VARARGS, NULL },
    { "session_source", session_source, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
