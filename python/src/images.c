/* Images, image encoders, and weights of other programs. */
#include "core.h"

#include <string.h>

#define ENCODER "attend.image_encoder"

static void free_encoder(void *encoder)
{
    att_image_encoder_free(encoder);
}

static PyObject *made_encoder(core_call *call, att_image_encoder *encoder, att_status status,
                              const att_error *err)
{
    if (core_end(call, status, err))
        return core_capsule(encoder, ENCODER, free_encoder);
    att_image_encoder_free(encoder);
    return NULL;
}

/* (pixels as bytes, height, width); frees the image. */
static PyObject *image_tuple(att_image *image)
{
    PyObject *pixels = PyBytes_FromStringAndSize((const char *)image->pixels,
                                                 (Py_ssize_t)(image->height * image->width * 3));
    long long height = image->height, width = image->width;
    att_image_free(image);
    return pixels ? Py_BuildValue("NLL", pixels, height, width) : NULL;
}

static PyObject *image_load(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&:image_load", PyUnicode_FSConverter, &path))
        return NULL;
    att_image image = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_load(&image, PyBytes_AsString(path), &err);
    bool loaded = core_end(&call, status, &err);
    Py_DECREF(path);
    if (loaded)
        return image_tuple(&image);
    att_image_free(&image);
    return NULL;
}

static PyObject *image_read(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer bytes;
    const char *name;
    if (!PyArg_ParseTuple(args, "y*s:image_read", &bytes, &name))
        return NULL;
    att_image image = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_read(&image, bytes.buf, (size_t)bytes.len, name, &err);
    bool read = core_end(&call, status, &err);
    PyBuffer_Release(&bytes);
    if (read)
        return image_tuple(&image);
    att_image_free(&image);
    return NULL;
}

/* Row-major pixels of any array of bytes [height, width, 3]; freed with PyMem_Free(). */
static bool image_get(att_image *out, PyObject *pixels)
{
    core_input input;
    if (!core_input_get(&input, pixels, "pixels", CORE_BYTES))
        return false;
    const att_tensor *t = &input.tensor;
    bool fits = t->rank == 3 && t->shape[2] == 3 && t->shape[0] > 0 && t->shape[1] > 0 &&
                t->shape[0] <= 65535 && t->shape[1] <= 65535;
    *out = (att_image){ 0 };
    if (!fits) {
        core_bad_input("pixels",
                       "expected uint8 [height, width, 3] of 1 to 65535 pixels on a side");
    } else {
        out->height = t->shape[0];
        out->width = t->shape[1];
        out->pixels = PyMem_Malloc((size_t)(out->height * out->width * 3));
        if (!out->pixels)
            PyErr_NoMemory();
    }
    const uint8_t *from = t->data;
    for (int64_t i = 0, n = 0; out->pixels && i < t->shape[0]; i++)
        for (int64_t j = 0; j < t->shape[1]; j++)
            for (int64_t k = 0; k < 3; k++)
                out->pixels[n++] = from[i * t->stride[0] + j * t->stride[1] + k * t->stride[2]];
    core_input_release(&input);
    return out->pixels;
}

/* image_copy(pixels): pixels of any array of bytes, row-major */
static PyObject *image_copy(PyObject *module, PyObject *pixels)
{
    (void)module;
    att_image image;
    if (!image_get(&image, pixels))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)image.pixels,
                                                (Py_ssize_t)(image.height * image.width * 3));
    PyMem_Free(image.pixels);
    return bytes ? Py_BuildValue("NLL", bytes, (long long)image.height, (long long)image.width)
                 : NULL;
}

/* image_png(pixels): the bytes of a PNG file */
static PyObject *image_png(PyObject *module, PyObject *pixels)
{
    (void)module;
    att_image image;
    if (!image_get(&image, pixels))
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_png(&out, &image, &err);
    bool written = core_end(&call, status, &err);
    PyMem_Free(image.pixels);
    if (written)
        return core_bytes_take(&out);
    att_string_free(&out);
    return NULL;
}

/* image_crop(pixels, size): the center square, scaled */
static PyObject *image_crop(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *pixels;
    long long size;
    att_image image, cropped = { 0 };
    if (!PyArg_ParseTuple(args, "OL:image_crop", &pixels, &size) || !image_get(&image, pixels))
        return NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_center_crop(&cropped, &image, size, &err);
    bool made = core_end(&call, status, &err);
    PyMem_Free(image.pixels);
    if (made)
        return image_tuple(&cropped);
    att_image_free(&cropped);
    return NULL;
}

/* ---- encoders */

static PyObject *encoder_load(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&:encoder_load", PyUnicode_FSConverter, &path))
        return NULL;
    att_image_encoder *encoder = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_encoder_load(&encoder, PyBytes_AsString(path), &err);
    PyObject *out = made_encoder(&call, encoder, status, &err);
    Py_DECREF(path);
    return out;
}

static PyObject *encoder_read(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer bytes;
    const char *name;
    if (!PyArg_ParseTuple(args, "y*s:encoder_read", &bytes, &name))
        return NULL;
    att_image_encoder *encoder = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_encoder_read(&encoder, bytes.buf, (size_t)bytes.len, name, &err);
    PyObject *out = made_encoder(&call, encoder, status, &err);
    PyBuffer_Release(&bytes);
    return out;
}

static PyObject *encoder_save(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *path;
    if (!PyArg_ParseTuple(args, "OO&:encoder_save", &capsule, PyUnicode_FSConverter, &path))
        return NULL;
    const att_image_encoder *encoder = core_pointer(capsule, ENCODER);
    bool saved = false;
    if (encoder) {
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = att_image_encoder_save(encoder, PyBytes_AsString(path), &err);
        saved = core_end(&call, status, &err);
    }
    Py_DECREF(path);
    if (!saved)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *encoder_write(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_image_encoder *encoder = core_pointer(capsule, ENCODER);
    if (!encoder)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_encoder_write(&out, encoder, &err);
    if (core_end(&call, status, &err))
        return core_bytes_take(&out);
    att_string_free(&out);
    return NULL;
}

/* (labels, channels) */
static PyObject *encoder_facts(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_image_encoder *encoder = core_pointer(capsule, ENCODER);
    if (!encoder)
        return NULL;
    size_t count = att_image_encoder_label_count(encoder);
    PyObject *labels = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; labels && i < count; i++) {
        PyObject *label = core_str(att_image_encoder_label(encoder, i));
        if (!label || PyList_SetItem(labels, (Py_ssize_t)i, label) < 0)
            Py_CLEAR(labels);
    }
    if (!labels)
        return NULL;
    return Py_BuildValue("NL", labels, (long long)att_image_encoder_channels(encoder));
}

/* encoder_classify(encoder, pixels): the probabilities of the labels */
static PyObject *encoder_classify(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *pixels;
    att_image image;
    if (!PyArg_ParseTuple(args, "OO:encoder_classify", &capsule, &pixels))
        return NULL;
    const att_image_encoder *encoder = core_pointer(capsule, ENCODER);
    if (!encoder || !image_get(&image, pixels))
        return NULL;
    int64_t count = (int64_t)att_image_encoder_label_count(encoder);
    PyObject *out = core_array_zeros(ATT_F32, 1, &count);
    if (out) {
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status =
            att_image_encoder_classify(core_array_tensor(out)->data, encoder, &image, &err);
        if (!core_end(&call, status, &err))
            Py_CLEAR(out);
    }
    PyMem_Free(image.pixels);
    return out;
}

/* encoder_features(encoder, pixels): [rows, columns, channels] */
static PyObject *encoder_features(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *pixels;
    att_image image;
    if (!PyArg_ParseTuple(args, "OO:encoder_features", &capsule, &pixels))
        return NULL;
    const att_image_encoder *encoder = core_pointer(capsule, ENCODER);
    if (!encoder || !image_get(&image, pixels))
        return NULL;
    att_tensor features = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_image_encoder_features(&features, encoder, &image, &err);
    bool made = core_end(&call, status, &err);
    PyMem_Free(image.pixels);
    if (made)
        return core_array_take(&features, false);
    att_tensor_free(&features);
    return NULL;
}

/* encoder_fit(encoder, features, targets, ridge): (encoder, residual) */
static PyObject *encoder_fit(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *from, *to, *out = NULL;
    double ridge, residual = 0;
    if (!PyArg_ParseTuple(args, "OOOd:encoder_fit", &capsule, &from, &to, &ridge))
        return NULL;
    const att_image_encoder *encoder = core_pointer(capsule, ENCODER);
    core_input features = { 0 }, targets = { 0 };
    if (encoder && core_input_get(&features, from, "features", CORE_F32_ONLY) &&
        core_input_get(&targets, to, "targets", CORE_F32_ONLY)) {
        att_image_encoder *fitted = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = att_image_encoder_fit(&fitted, encoder, &features.tensor,
                                                  &targets.tensor, ridge, &residual, &err);
        out = made_encoder(&call, fitted, status, &err);
    }
    core_input_release(&features);
    core_input_release(&targets);
    return out ? Py_BuildValue("Nd", out, residual) : NULL;
}

/* ---- the image that the attention of a caption is drawn over */

bool core_overlay_get(att_overlay_image *out, att_image *image, PyObject *pixels, bool crop)
{
    *image = (att_image){ 0 };
    *out = (att_overlay_image){ 0 };
    if (!image_get(image, pixels))
        return false;
    *out = (att_overlay_image){
        .pixels = image->pixels, .rows = image->height, .columns = image->width, .crop = crop
    };
    return true;
}

/* ---- importing */

/* [(name, file, help, has_token_kinds, needs_tokenizer), …] */
static PyObject *import_formats(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    const att_import_format *f;
    for (size_t i = 0; list && (f = att_import_format_get(i)); i++) {
        PyObject *row = Py_BuildValue("sssOO", f->name, f->file, f->help,
                                      f->has_token_kinds ? Py_True : Py_False,
                                      f->needs_tokenizer ? Py_True : Py_False);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* import_weights(format, path, tokens, tokenizer, precision): the bytes of a model file */
static PyObject *import_weights(PyObject *module, PyObject *args)
{
    (void)module;
    static const char *const precisions[] = { "stored", "float32", NULL }; /* of att_precision */
    const char *format, *tokens;
    PyObject *path, *tokenizer = NULL, *word;
    if (!PyArg_ParseTuple(args, "sO&zO&O:import_weights", &format, PyUnicode_FSConverter, &path,
                          &tokens, core_path, &tokenizer, &word))
        return NULL;
    int precision = core_choice(word, "precision", precisions);
    if (precision < 0) {
        Py_DECREF(path);
        Py_XDECREF(tokenizer);
        return NULL;
    }
    att_import_options options = ATT_INIT(att_import_options);
    options.precision = (att_precision)precision;
    options.tokens = tokens;
    options.tokenizer = tokenizer ? PyBytes_AsString(tokenizer) : NULL;
    att_bundle *bundle = NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_import(&bundle, format, PyBytes_AsString(path), &options, &err);
    if (status == ATT_OK)
        status = att_safetensors_write(&out, bundle, PyBytes_AsString(path), &err);
    bool done = core_end(&call, status, &err);
    att_bundle_free(bundle);
    Py_DECREF(path);
    Py_XDECREF(tokenizer);
    if (done)
        return core_bytes_take(&out);
    att_string_free(&out);
    return NULL;
}

PyMethodDef core_image_methods[] = {
    { "image_load", image_load, METH_VARARGS, NULL },
    { "image_read", image_read, METH_VARARGS, NULL },
    { "image_copy", image_copy, METH_O, NULL },
    { "image_png", image_png, METH_O, NULL },
    { "image_crop", image_crop, METH_VARARGS, NULL },
    { "encoder_load", encoder_load, METH_VARARGS, NULL },
    { "encoder_read", encoder_read, METH_VARARGS, NULL },
    { "encoder_save", encoder_save, METH_VARARGS, NULL },
    { "encoder_write", encoder_write, METH_O, NULL },
    { "encoder_facts", encoder_facts, METH_O, NULL },
    { "encoder_classify", encoder_classify, METH_VARARGS, NULL },
    { "encoder_features", encoder_features, METH_VARARGS, NULL },
    { "encoder_fit", encoder_fit, METH_VARARGS, NULL },
    { "import_formats", import_formats, METH_NOARGS, NULL },
    { "import_weights", import_weights, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
