/* Python arguments as C values, and capsules. Every exception names the argument. */
#include "core.h"

#include <string.h>

/* The index of a keyword in `names`; -1: there is none. " " is the name of no argument. */
static int keyword_index(PyObject *keyword, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (names[i][0] != ' ' && PyUnicode_CompareWithASCIIString(keyword, names[i]) == 0)
            return i;
    return -1;
}

static bool unknown_keyword(const char *function, PyObject *keyword, const char *const *names)
{
    size_t count = 0;
    while (names[count])
        count++;
    const char *word = PyUnicode_AsUTF8AndSize(keyword, NULL);
    if (!word)
        return false;
    const char *near = att_suggest(word, names, count);
    if (near)
        PyErr_Format(PyExc_TypeError, "%s() has no argument '%s'; did you mean '%s'?", function,
                     word, near);
    else
        PyErr_Format(PyExc_TypeError, "%s() has no argument '%s'", function, word);
    return false;
}

bool core_arguments(PyObject **out, const char *function, const char *const *names,
                    size_t positional, size_t required, PyObject *const *args, Py_ssize_t count,
                    PyObject *keywords)
{
    if ((size_t)count > positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu positional arguments, %zd were given",
                     function, positional, count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        out[i] = args[i];
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *keyword = PyTuple_GetItem(keywords, i);
        int index = keyword_index(keyword, names);
        if (index < 0)
            return unknown_keyword(function, keyword, names);
        if (out[index]) {
            PyErr_Format(PyExc_TypeError, "%s() got two values of '%s'", function, names[index]);
            return false;
        }
        out[index] = args[count + i];
    }
    for (size_t i = 0; names[i]; i++) {
        if (out[i] == Py_None && i >= required)
            out[i] = NULL;
        if (i < required && !out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() lacks its argument '%s'", function, names[i]);
            return false;
        }
    }
    return true;
}

bool core_bool(bool *out, PyObject *value, const char *name)
{
    (void)name;
    int truth = PyObject_IsTrue(value);
    *out = truth > 0;
    return truth >= 0;
}

/* Prefixes the exception that is set with the name of the argument, keeping its type. */
static void name_exception(const char *name)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyErr_Format(type, "%s: %S", name, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

bool core_int64(int64_t *out, PyObject *value, const char *name)
{
    PyObject *index = PyNumber_Index(value);
    *out = index ? PyLong_AsLongLong(index) : -1;
    Py_XDECREF(index);
    if (!PyErr_Occurred())
        return true;
    name_exception(name);
    return false;
}

bool core_double(double *out, PyObject *value, const char *name)
{
    *out = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
        return true;
    name_exception(name);
    return false;
}

const char *core_text(PyObject *value, const char *name, size_t *length)
{
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a str, found %R", name, Py_TYPE(value));
        return NULL;
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text && strlen(text) != (size_t)size) {
        core_bad_input(name, "expected text without a zero character");
        return NULL;
    }
    if (length)
        *length = (size_t)size;
    return text;
}

int core_path(PyObject *value, void *out)
{
    if (value && value != Py_None)
        return PyUnicode_FSConverter(value, out);
    if (!value)
        Py_CLEAR(*(PyObject **)out); /* an argument after this one was wrong */
    else
        *(PyObject **)out = NULL;
    return value ? Py_CLEANUP_SUPPORTED : 1;
}

int core_choice(PyObject *word, const char *name, const char *const *choices)
{
    const char *text = core_text(word, name, NULL);
    if (!text)
        return -1;
    char known[400] = "";
    for (int i = 0; choices[i]; i++) {
        if (strcmp(text, choices[i]) == 0)
            return i;
        size_t used = strlen(known);
        PyOS_snprintf(known + used, sizeof known - used, "%s\"%s\"", used ? ", " : "", choices[i]);
    }
    core_bad_input(name, "expected one of %s, found \"%.60s\"", known, text);
    return -1;
}

static bool set_option(char *field, const core_option *option, PyObject *value)
{
    int64_t integer = 0;
    switch (option->type) {
    case CORE_BOOL:
        return core_bool((bool *)(void *)field, value, option->name);
    case CORE_INT64:
        return core_int64((int64_t *)(void *)field, value, option->name);
    case CORE_INT:
        if (!core_int64(&integer, value, option->name))
            return false;
        if (integer < -1000000 || integer > 1000000) {
            core_bad_input(option->name, "expected at most a million, found %lld",
                           (long long)integer);
            return false;
        }
        *(int *)(void *)field = (int)integer;
        return true;
    case CORE_UINT64:
        *(uint64_t *)(void *)field = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred())
            name_exception(option->name);
        return !PyErr_Occurred();
    case CORE_DOUBLE:
        return core_double((double *)(void *)field, value, option->name);
    case CORE_CHOICE:
        *(int *)(void *)field = core_choice(value, option->name, option->choices);
        return *(int *)(void *)field >= 0;
    case CORE_TEXT:
        *(const char **)(void *)field = core_text(value, option->name, NULL);
        return *(const char **)(void *)field;
    }
    return false;
}

static bool unknown_option(PyObject *key, const core_option *table)
{
    const char *known[64], *word = PyUnicode_AsUTF8AndSize(key, NULL);
    size_t count = 0;
    for (; table[count].name && count < 64; count++)
        known[count] = table[count].name;
    const char *near = word ? att_suggest(word, known, count) : NULL;
    if (near)
        PyErr_Format(PyExc_TypeError, "unknown option '%U'; did you mean '%s'?", key, near);
    else if (word)
        PyErr_Format(PyExc_TypeError, "unknown option '%U'", key);
    return false;
}

bool core_options_set(void *options, const core_option *table, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        if (value == Py_None)
            continue;
        const core_option *option = table;
        while (option->name && PyUnicode_CompareWithASCIIString(key, option->name) != 0)
            option++;
        if (!option->name)
            return unknown_option(key, table);
        if (!set_option((char *)options + option->offset, option, value))
            return false;
    }
    return true;
}

int64_t *core_integers(PyObject *value, const char *name, size_t *count)
{
    PyObject *items = PySequence_Tuple(value);
    if (!items) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: expected a sequence of integers, found %R", name,
                         Py_TYPE(value));
        return NULL;
    }
    Py_ssize_t size = PyTuple_Size(items);
    int64_t *out = PyMem_Malloc((size_t)(size ? size : 1) * sizeof *out);
    if (!out)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; out && i < size; i++)
        if (!core_int64(&out[i], PyTuple_GetItem(items, i), name)) {
            PyMem_Free(out);
            out = NULL;
        }
    Py_DECREF(items);
    *count = (size_t)size;
    return out;
}

static bool lines_get(core_lines *out, PyObject *value, const char *name, bool gaps)
{
    *out = (core_lines){ 0 };
    if (PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a sequence of str, found one str", name);
        return false;
    }
    out->owner = PySequence_Tuple(value);
    if (!out->owner)
        return false;
    out->count = (size_t)PyTuple_Size(out->owner);
    out->lines = PyMem_Malloc((out->count + 1) * sizeof *out->lines);
    if (!out->lines)
        PyErr_NoMemory();
    for (size_t i = 0; out->lines && i < out->count; i++) {
        PyObject *item = PyTuple_GetItem(out->owner, (Py_ssize_t)i);
        bool gap = gaps && item == Py_None;
        out->lines[i] = gap ? NULL : core_text(item, name, NULL);
        if (!out->lines[i] && !gap) {
            core_lines_free(out);
            return false;
        }
    }
    if (!out->lines)
        core_lines_free(out);
    return out->lines;
}

bool core_lines_get(core_lines *out, PyObject *value, const char *name)
{
    return lines_get(out, value, name, false);
}

bool core_lines_get_gaps(core_lines *out, PyObject *value, const char *name)
{
    return lines_get(out, value, name, true);
}

void core_lines_free(core_lines *lines)
{
    PyMem_Free((void *)lines->lines);
    Py_CLEAR(lines->owner);
    *lines = (core_lines){ 0 };
}

static void destroy_capsule(PyObject *capsule)
{
    void *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    void *context = PyCapsule_GetContext(capsule);
    void (*destroy)(void *);
    memcpy(&destroy, &context, sizeof destroy);
    destroy(pointer);
}

PyObject *core_capsule(void *pointer, const char *name, void (*destroy)(void *))
{
    PyObject *capsule = PyCapsule_New(pointer, name, NULL);
    void *context;
    memcpy(&context, &destroy, sizeof context);
    if (!capsule || PyCapsule_SetContext(capsule, context) < 0 ||
        PyCapsule_SetDestructor(capsule, destroy_capsule) < 0) {
        destroy(pointer);
        Py_CLEAR(capsule);
    }
    return capsule;
}

void *core_pointer(PyObject *capsule, const char *name)
{
    if (PyCapsule_IsValid(capsule, name))
        return PyCapsule_GetPointer(capsule, name);
    PyErr_Format(PyExc_TypeError, "expected a capsule of %s, found %R", name, Py_TYPE(capsule));
    return NULL;
}

bool core_put(PyObject *dict, const char *key, PyObject *value)
{
    bool set = value && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return set;
}

PyObject *core_string_take(att_string *text)
{
    PyObject *out =
        PyUnicode_DecodeUTF8(text->data ? text->data : "", (Py_ssize_t)text->length, "replace");
    att_string_free(text);
    return out;
}

PyObject *core_bytes_take(att_string *text)
{
    PyObject *out = PyBytes_FromStringAndSize(text->data, (Py_ssize_t)text->length);
    att_string_free(text);
    return out;
}

PyObject *core_rendered(att_status status, att_string *out, const att_error *err)
{
    if (!status)
        return core_string_take(out);
    att_string_free(out);
    core_raise(status, err);
    return NULL;
}

PyObject *core_end_string(core_call *call, att_status status, att_string *out, const att_error *err)
{
    if (core_end(call, status, err))
        return core_string_take(out);
    att_string_free(out);
    return NULL;
}

PyObject *core_str(const char *text)
{
    if (!text)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *core_str_list(const char *const *items, int64_t count)
{
    if (!items)
        Py_RETURN_NONE;
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; list && i < count; i++) {
        PyObject *item = core_str(items[i]);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}
