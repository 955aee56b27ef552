/* Models: files, parameters, tokenizer. */
#include "core.h"

#include <string.h>

static void free_model(void *model)
{
    att_model_free(model);
}

PyObject *core_model(att_model *model)
{
    return core_capsule(model, CORE_MODEL, free_model);
}

static const char *const sides[] = { "source", "target", NULL };
static const char *const types[] = { "seq2seq", "lm", "classifier", "caption", "tagger", NULL };

/* In the order of att_precision. */
static const char *const precisions[] = { "stored", "float32", "int8", NULL };

static PyObject *model_load(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path, *word;
    if (!PyArg_ParseTuple(args, "O&O:model_load", PyUnicode_FSConverter, &path, &word))
        return NULL;
    int precision = core_choice(word, "precision", precisions);
    if (precision < 0) {
        Py_DECREF(path);
        return NULL;
    }
    att_model_load_options options = ATT_INIT(att_model_load_options);
    options.precision = (att_precision)precision;
    att_model *model = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_load_with(&model, PyBytes_AsString(path), &options, &err);
    bool loaded = core_end(&call, status, &err);
    Py_DECREF(path);
    if (loaded)
        return core_model(model);
    att_model_free(model);
    return NULL;
}

static PyObject *model_read(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer bytes;
    const char *name;
    if (!PyArg_ParseTuple(args, "y*s:model_read", &bytes, &name))
        return NULL;
    att_model *model = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_read(&model, bytes.buf, (size_t)bytes.len, name, &err);
    bool read = core_end(&call, status, &err);
    PyBuffer_Release(&bytes);
    if (read)
        return core_model(model);
    att_model_free(model);
    return NULL;
}

static PyObject *model_quantize(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_model *small = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_quantize(&small, model, &err);
    return core_end(&call, status, &err) ? core_model(small) : NULL;
}

static PyObject *model_save(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *path;
    if (!PyArg_ParseTuple(args, "OO&:model_save", &capsule, PyUnicode_FSConverter, &path))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    bool saved = false;
    if (model) {
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = att_model_save(model, PyBytes_AsString(path), &err);
        saved = core_end(&call, status, &err);
    }
    Py_DECREF(path);
    if (!saved)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *model_write(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_model_write(&out, model, &err);
    if (core_end(&call, status, &err))
        return core_bytes_take(&out);
    att_string_free(&out);
    return NULL;
}

static PyObject *model_info(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    int json;
    if (!PyArg_ParseTuple(args, "Op:model_info", &capsule, &json))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    att_status status = att_model_info(&out, model, json, &err);
    if (!status)
        return core_string_take(&out);
    att_string_free(&out);
    core_raise(status, &err);
    return NULL;
}

/* (type, has_tags, source vocabulary size, target vocabulary size) */
static PyObject *model_facts(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    return Py_BuildValue(
        "sOii", types[att_model_type_get(model)], att_model_has_tags(model) ? Py_True : Py_False,
        att_model_vocab_size(model, ATT_SIDE_SOURCE), att_model_vocab_size(model, ATT_SIDE_TARGET));
}

static PyObject *model_tensor_names(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    size_t count = att_model_tensor_count(model);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *name = core_str(att_model_tensor_name(model, i));
        if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *model_tensor(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    const char *name;
    if (!PyArg_ParseTuple(args, "Os:model_tensor", &capsule, &name))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_tensor tensor = { 0 };
    att_error err = { 0 };
    bool copies = att_model_precision(model) == ATT_PRECISION_INT8;
    att_status status = copies ? att_model_tensor_get(&tensor, model, name, &err)
                               : att_model_tensor_view(&tensor, model, name, &err);
    if (!status)
        return copies ? core_array_take(&tensor, true) : core_array_view(&tensor, capsule);
    core_raise(status, &err);
    return NULL;
}

static bool add_tensors(att_bundle *bundle, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &key, &value)) {
        const char *name = core_text(key, "tensors", NULL);
        core_input input;
        if (!name || !core_input_get(&input, value, name, CORE_FLOATS))
            return false;
        att_error err = { 0 };
        att_status status = att_bundle_add(bundle, name, &input.tensor, &err);
        core_input_release(&input);
        if (status) {
            core_raise(status, &err);
            return false;
        }
    }
    return true;
}

static PyObject *model_replace_tensors(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict;
    if (!PyArg_ParseTuple(args, "OO!:model_replace_tensors", &capsule, &PyDict_Type, &dict))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_bundle *bundle = NULL;
    att_model *made = NULL;
    att_error err = { 0 };
    att_status status = att_bundle_new(&bundle, &err);
    if (status)
        core_raise(status, &err);
    if (bundle && add_tensors(bundle, dict)) {
        core_call call;
        core_begin(&call);
        status = att_model_replace_tensors(&made, model, bundle, &err);
        if (!core_end(&call, status, &err)) {
            att_model_free(made);
            made = NULL;
        }
    }
    att_bundle_free(bundle);
    return made ? core_model(made) : NULL;
}

static PyObject *model_labels(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    size_t count = att_model_label_count(model);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *label = core_str(att_model_label(model, i));
        if (!label || PyList_SetItem(list, (Py_ssize_t)i, label) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* ---- the tokenizer */

static PyObject *encoded_rows(const att_encoded_text *encoded)
{
    size_t count = att_encoded_text_count(encoded);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        if (i % 65536 == 0 && PyErr_CheckSignals() < 0)
            Py_CLEAR(list);
        if (!list)
            break;
        size_t length = 0, start = 0, end = 0;
        const char *piece = att_encoded_text_piece(encoded, i, &length);
        att_encoded_text_range(encoded, i, &start, &end);
        PyObject *text = PyUnicode_DecodeUTF8(piece, (Py_ssize_t)length, "replace");
        PyObject *row = text ? Py_BuildValue("iNnn", att_encoded_text_ids(encoded)[i], text,
                                             (Py_ssize_t)start, (Py_ssize_t)end)
                             : NULL;
        if (!row || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* [(id, piece, start byte, end byte), …] */
static PyObject *model_encode(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *side_word;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "OOs#:model_encode", &capsule, &side_word, &text, &length))
        return NULL;
    int side = core_choice(side_word, "side", sides);
    const att_model *model = side < 0 ? NULL : core_pointer(capsule, CORE_MODEL);
    if (!model)
        return NULL;
    att_encoded_text *encoded = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status =
        att_model_encode(&encoded, model, (att_side)side, text, (size_t)length, &err);
    PyObject *out = core_end(&call, status, &err) ? encoded_rows(encoded) : NULL;
    att_encoded_text_free(encoded);
    return out;
}

int32_t *core_token_ids(PyObject *value, const char *name, size_t *count)
{
    int64_t *wide = core_integers(value, name, count);
    int32_t *ids = wide ? PyMem_Malloc((*count + 1) * sizeof *ids) : NULL;
    if (wide && !ids)
        PyErr_NoMemory();
    for (size_t i = 0; ids && i < *count; i++) {
        if (wide[i] < INT32_MIN || wide[i] > INT32_MAX) {
            core_bad_input(name, "expected token ids, found %lld", (long long)wide[i]);
            PyMem_Free(ids);
            ids = NULL;
            break;
        }
        ids[i] = (int32_t)wide[i];
    }
    PyMem_Free(wide);
    return ids;
}

static PyObject *model_decode(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *side_word, *values;
    if (!PyArg_ParseTuple(args, "OOO:model_decode", &capsule, &side_word, &values))
        return NULL;
    int side = core_choice(side_word, "side", sides);
    const att_model *model = side < 0 ? NULL : core_pointer(capsule, CORE_MODEL);
    size_t count;
    int32_t *ids = model ? core_token_ids(values, "ids", &count) : NULL;
    if (!ids)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    att_status status = att_model_decode(&out, model, (att_side)side, ids, count, &err);
    PyMem_Free(ids);
    if (!status)
        return core_string_take(&out);
    att_string_free(&out);
    core_raise(status, &err);
    return NULL;
}

static PyObject *model_token(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *side_word;
    int id;
    if (!PyArg_ParseTuple(args, "OOi:model_token", &capsule, &side_word, &id))
        return NULL;
    int side = core_choice(side_word, "side", sides);
    const att_model *model = side < 0 ? NULL : core_pointer(capsule, CORE_MODEL);
    return model ? core_str(att_model_token(model, (att_side)side, id)) : NULL;
}

/* model_images(model, path or None, recorded_data) */
static PyObject *model_images(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *path = NULL;
    int recorded;
    if (!PyArg_ParseTuple(args, "OO&p:model_images", &capsule, core_path, &path, &recorded))
        return NULL;
    const att_model *model = core_pointer(capsule, CORE_MODEL);
    att_tensor images = { 0 };
    bool loaded = false;
    if (model) {
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_model_images(&images, model, path ? PyBytes_AsString(path) : NULL, recorded, &err);
        loaded = core_end(&call, status, &err);
    }
    Py_XDECREF(path);
    if (loaded)
        return core_array_take(&images, false);
    att_tensor_free(&images);
    return NULL;
}

PyMethodDef core_model_methods[] = {
    { "model_load", model_load, METH_VARARGS, NULL },
    { "model_read", model_read, METH_VARARGS, NULL },
    { "model_quantize", model_quantize, METH_O, NULL },
    { "model_save", model_save, METH_VARARGS, NULL },
    { "model_write", model_write, METH_O, NULL },
    { "model_info", model_info, METH_VARARGS, NULL },
    { "model_facts", model_facts, METH_O, NULL },
    { "model_tensor_names", model_tensor_names, METH_O, NULL },
    { "model_tensor", model_tensor, METH_VARARGS, NULL },
    { "model_replace_tensors", model_replace_tensors, METH_VARARGS, NULL },
    { "model_labels", model_labels, METH_O, NULL },
    { "model_encode", model_encode, METH_VARARGS, NULL },
    { "model_decode", model_decode, METH_VARARGS, NULL },
    { "model_token", model_token, METH_VARARGS, NULL },
    { "model_images", model_images, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
