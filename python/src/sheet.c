/* Worksheets, maps and plots. */
#include "core.h"

#include <string.h>

#define SHEET "attend.sheet"

static const char *const formats[] = { "text", "markdown", "latex", "html", "json", "svg", NULL };
static const char *const colors[] = { "none", "256", "true", NULL };
static const char *const details[] = { "sheet", "none", "one", "all", NULL };
static const core_option render_table[] = {
    { "format", CORE_CHOICE, offsetof(att_render_options, format), formats },
    { "digits", CORE_INT, offsetof(att_render_options, digits), NULL },
    { "only", CORE_TEXT, offsetof(att_render_options, only), NULL },
    { "row", CORE_INT64, offsetof(att_render_options, row), NULL },
    { "head", CORE_INT64, offsetof(att_render_options, head), NULL },
    { "color", CORE_CHOICE, offsetof(att_render_options, color), colors },
    { "ascii", CORE_BOOL, offsetof(att_render_options, ascii), NULL },
    { "width", CORE_INT, offsetof(att_render_options, width), NULL },
    { "flat", CORE_BOOL, offsetof(att_render_options, flat), NULL },
    { "detail", CORE_CHOICE, offsetof(att_render_options, detail), details },
    { "arcs", CORE_BOOL, offsetof(att_render_options, arcs), NULL },
    { NULL, CORE_BOOL, 0, NULL },
};

bool core_render_options(att_render_options *out, PyObject *dict)
{
    *out = (att_render_options)ATT_INIT(att_render_options);
    return core_options_set(out, render_table, dict);
}

static void free_sheet(void *sheet)
{
    att_sheet_free(sheet);
}

static PyObject *sheet_load(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&:sheet_load", PyUnicode_FSConverter, &path))
        return NULL;
    att_sheet *sheet = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_sheet_load(&sheet, PyBytes_AsString(path), &err);
    bool loaded = core_end(&call, status, &err);
    Py_DECREF(path);
    if (!loaded) {
        att_sheet_free(sheet);
        return NULL;
    }
    return core_capsule(sheet, SHEET, free_sheet);
}

static PyObject *sheet_read(PyObject *module, PyObject *args)
{
    (void)module;
    const char *text, *name;
    PyObject *folder = NULL;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "s#sO&:sheet_read", &text, &length, &name, core_path, &folder))
        return NULL;
    att_sheet *sheet = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_sheet_read(&sheet, text, (size_t)length, name,
                                       folder ? PyBytes_AsString(folder) : NULL, &err);
    bool made = core_end(&call, status, &err);
    Py_XDECREF(folder);
    if (!made) {
        att_sheet_free(sheet);
        return NULL;
    }
    return core_capsule(sheet, SHEET, free_sheet);
}

static PyObject *sheet_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "OO!:sheet_render", &capsule, &PyDict_Type, &dict) ||
        !core_render_options(&options, dict))
        return NULL;
    const att_sheet *sheet = core_pointer(capsule, SHEET);
    if (!sheet)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_sheet_render(&out, sheet, &options, &err);
    return core_end_string(&call, status, &out, &err);
}

/* [(line, column, message, excerpt), …] */
static PyObject *failures(const att_sheet *sheet)
{
    size_t count = att_sheet_failures(sheet);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        att_error failure;
        att_sheet_failure_get(&failure, sheet, i);
        PyObject *row = Py_BuildValue("iiNN", failure.line, failure.column,
                                      core_str(failure.message), core_str(failure.excerpt));
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *byte_string(const uint8_t *bytes, int64_t count)
{
    if (!bytes)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)count);
}

PyObject *core_map_dict(const att_map *map)
{
    PyObject *dict = PyDict_New();
    int64_t shape[3] = { map->panels, map->queries, map->keys };
    int64_t cells = map->panels * map->queries * map->keys;
    if (dict && !(core_put(dict, "title", core_str(map->title)) &&
                  core_put(dict, "weights", core_array_doubles(map->weights, 3, shape)) &&
                  core_put(dict, "allowed", byte_string(map->allowed, cells)) &&
                  core_put(dict, "query_labels", core_str_list(map->query_labels, map->queries)) &&
                  core_put(dict, "key_labels", core_str_list(map->key_labels, map->keys)) &&
                  core_put(dict, "panel_labels", core_str_list(map->panel_labels, map->panels)) &&
                  core_put(dict, "query_name", core_str(map->query_name)) &&
                  core_put(dict, "key_name", core_str(map->key_name)) &&
                  core_put(dict, "marked", byte_string(map->marked, map->queries)) &&
                  core_put(dict, "mark_name", core_str(map->mark_name)) &&
                  core_put(dict, "panel_columns", PyLong_FromLongLong(map->panel_columns))))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *maps(const att_sheet *sheet)
{
    size_t count = att_sheet_map_count(sheet);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *map = core_map_dict(att_sheet_map_get(sheet, i));
        if (!map || PyList_SetItem(list, (Py_ssize_t)i, map) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *files(const att_sheet *sheet)
{
    size_t count = att_sheet_file_count(sheet);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *path = core_str(att_sheet_file_get(sheet, i));
        if (!path || PyList_SetItem(list, (Py_ssize_t)i, path) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *sheet_results(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_sheet *sheet = core_pointer(capsule, SHEET);
    PyObject *dict = sheet ? PyDict_New() : NULL;
    if (dict && !(core_put(dict, "checks", PyLong_FromSize_t(att_sheet_checks(sheet))) &&
                  core_put(dict, "failures", failures(sheet)) &&
                  core_put(dict, "maps", maps(sheet)) && core_put(dict, "files", files(sheet))))
        Py_CLEAR(dict);
    return dict;
}

/* ---- maps, highlighted text, plots, from Python values */

/* A list of `count` labels, or nothing. */
static bool labels(core_lines *out, PyObject *value, const char *name, int64_t count)
{
    *out = (core_lines){ 0 };
    if (value == Py_None)
        return true;
    if (!core_lines_get(out, value, name))
        return false;
    if ((int64_t)out->count == count)
        return true;
    core_bad_input(name, "expected %lld labels, found %zu", (long long)count, out->count);
    return false;
}

static bool flags(const uint8_t **out, PyObject *value, const char *name, int64_t count)
{
    char *bytes;
    Py_ssize_t size;
    *out = NULL;
    if (value == Py_None)
        return true;
    if (PyBytes_AsStringAndSize(value, &bytes, &size) < 0)
        return false;
    *out = (const uint8_t *)bytes;
    if (size == (Py_ssize_t)count)
        return true;
    core_bad_input(name, "expected %lld bytes, found %zd", (long long)count, size);
    return false;
}

static PyObject *render_map(const att_map *map, const att_render_options *options)
{
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_map_render(&out, map, options, &err);
    return core_end_string(&call, status, &out, &err);
}

/* A row-major copy in double; any array of 3 dimensions. */
static bool weights_copy(att_tensor *out, PyObject *weights)
{
    core_input input;
    if (!core_input_get(&input, weights, "weights", CORE_FLOATS))
        return false;
    att_error err = { 0 };
    att_status status = ATT_OK;
    if (input.tensor.rank != 3)
        core_bad_input("weights", "expected [heads, queries, keys], found %d dimensions",
                       input.tensor.rank);
    else if ((status = att_tensor_copy(out, &input.tensor, ATT_F64, &err)))
        core_raise(status, &err);
    core_input_release(&input);
    return !PyErr_Occurred();
}

static PyObject *map_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *weights, *allowed, *names[3], *marked, *dict;
    long long panel_columns;
    att_map map = { 0 };
    att_render_options options;
    if (!PyArg_ParseTuple(args, "OOOOOOO!zzzzL:map_render", &weights, &allowed, &names[0],
                          &names[1], &names[2], &marked, &PyDict_Type, &dict, &map.title,
                          &map.query_name, &map.key_name, &map.mark_name, &panel_columns) ||
        !core_render_options(&options, dict))
        return NULL;
    att_tensor copy;
    if (!weights_copy(&copy, weights))
        return NULL;
    map.panels = copy.shape[0];
    map.queries = copy.shape[1];
    map.keys = copy.shape[2];
    map.weights = copy.data;
    map.panel_columns = panel_columns;
    core_lines query = { 0 }, key = { 0 }, panel = { 0 };
    PyObject *out = NULL;
    if (labels(&query, names[0], "query_labels", map.queries) &&
        labels(&key, names[1], "key_labels", map.keys) &&
        labels(&panel, names[2], "panel_labels", map.panels) &&
        flags(&map.allowed, allowed, "allowed", att_tensor_count(&copy)) &&
        flags(&map.marked, marked, "marked", map.queries)) {
        map.query_labels = query.lines;
        map.key_labels = key.lines;
        map.panel_labels = panel.lines;
        out = render_map(&map, &options);
    }
    core_lines_free(&query);
    core_lines_free(&key);
    core_lines_free(&panel);
    att_tensor_free(&copy);
    return out;
}

static PyObject *highlight_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tokens, *values, *dict;
    const char *title;
    att_render_options options;
    core_lines lines;
    core_input input;
    if (!PyArg_ParseTuple(args, "OOO!z:highlight_render", &tokens, &values, &PyDict_Type, &dict,
                          &title) ||
        !core_render_options(&options, dict) || !core_lines_get(&lines, tokens, "tokens"))
        return NULL;
    PyObject *out = NULL;
    if (core_input_get(&input, values, "values", CORE_FLOATS)) {
        const att_tensor *v = &input.tensor;
        if (v->dtype != ATT_F64 || v->rank != 1 || v->shape[0] != (int64_t)lines.count ||
            v->stride[0] != 1) {
            core_bad_input("values", "expected one float64 per token");
        } else {
            att_highlight highlight = {
                .title = title, .count = v->shape[0], .tokens = lines.lines, .values = v->data
            };
            att_string text = { 0 };
            att_error err = { 0 };
            att_status status = att_highlight_render(&text, &highlight, &options, &err);
            if (status) {
                core_raise(status, &err);
                att_string_free(&text);
            } else {
                out = core_string_take(&text);
            }
        }
        core_input_release(&input);
    }
    core_lines_free(&lines);
    return out;
}

PyMethodDef core_sheet_methods[] = {
    { "sheet_load", sheet_load, METH_VARARGS, NULL },
    { "sheet_read", sheet_read, METH_VARARGS, NULL },
    { "sheet_render", sheet_render, METH_VARARGS, NULL },
    { "sheet_results", sheet_results, METH_O, NULL },
    { "map_render", map_render, METH_VARARGS, NULL },
    { "highlight_render", highlight_render, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
