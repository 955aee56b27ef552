/* The C half of the Python package, attend._core: arrays in and out, and one function per call of
 * attend.h. Objects of the library are capsules; the classes that users see are Python, in
 * python/attend/. Only the limited API of Python 3.11 is used, so one build serves all versions.
 *
 * Each function converts its arguments, releases the GIL around the library's call (core_call), and
 * converts the result. Whatever was converted is released on every path. */
#ifndef ATTEND_PYTHON_CORE_H
#define ATTEND_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "attend.h"

/* ---- calls and errors (call.c) */

/* A call of the library without the GIL. While it runs, the thread's att_callback takes the GIL
 * back to run signal handlers: an exception of theirs cancels the call and stays set. */
typedef struct core_call {
    PyThreadState *saved;
    struct core_call *outer; /* the call whose callback made this one, or NULL */
} core_call;

void core_begin(core_call *call);
/* Takes the GIL back. True if the call succeeded and no exception is set; otherwise an exception is
 * set: that of a callback or a signal handler, or the one that the status stands for. */
bool core_end(core_call *call, att_status status, const att_error *err);
/* For callbacks of the library: take the GIL for Python code, and give it back. */
void core_enter(core_call *call);
void core_leave(core_call *call);

bool core_errors_init(PyObject *module);
/* Sets the exception of a failed call. */
void core_raise(att_status status, const att_error *err);
/* Sets attend.Error (a ValueError) with `place` and a formatted message. */
void core_bad_input(const char *place, const char *format, ...);

/* ---- arguments (arguments.c) */

/* Arguments of a METH_FASTCALL | METH_KEYWORDS function by the names in `names`, NULL-terminated.
 * out[i] is borrowed, or NULL where not given or None. */
bool core_arguments(PyObject **out, const char *function, const char *const *names,
                    size_t positional, size_t required, PyObject *const *args, Py_ssize_t count,
                    PyObject *keywords);

/* Options of attend.h as a table: a dict of Python values sets the fields of a struct. */
typedef enum core_option_type {
    CORE_BOOL,
    CORE_INT64,
    CORE_UINT64,
    CORE_INT,
    CORE_DOUBLE,
    CORE_CHOICE, /* an int-sized enum; its words are in `choices` */
    CORE_TEXT,   /* const char *, borrowed from the dict's value */
} core_option_type;
typedef struct core_option {
    const char *name;
    core_option_type type;
    size_t offset;
    const char *const *choices; /* NULL-terminated */
} core_option;

bool core_options_set(void *options, const core_option *table, PyObject *dict);
/* The index of a word in a NULL-terminated list; -1 with an exception that lists the words. */
int core_choice(PyObject *word, const char *name, const char *const *choices);
bool core_bool(bool *out, PyObject *value, const char *name);
bool core_int64(int64_t *out, PyObject *value, const char *name);
bool core_double(double *out, PyObject *value, const char *name);
/* UTF-8 without a zero byte, borrowed from the str; *length may be NULL. */
const char *core_text(PyObject *value, const char *name, size_t *length);

/* PyUnicode_FSConverter() for PyArg_ParseTuple, where None becomes NULL. */
int core_path(PyObject *value, void *out);

/* A sequence of integers as a new array of *count entries; release with PyMem_Free(). */
int64_t *core_integers(PyObject *value, const char *name, size_t *count);

/* A sequence of str as C strings, which live as long as `owner`. */
typedef struct core_lines {
    PyObject *owner; /* tuple */
    const char **lines;
    size_t count;
} core_lines;

bool core_lines_get(core_lines *out, PyObject *value, const char *name);
/* The same, where None becomes NULL. */
bool core_lines_get_gaps(core_lines *out, PyObject *value, const char *name);
void core_lines_free(core_lines *lines);

/* ---- capsules (arguments.c) */

/* A capsule that owns `pointer` and calls `destroy` on it; takes ownership also on failure. */
PyObject *core_capsule(void *pointer, const char *name, void (*destroy)(void *));
/* The pointer of a capsule of this name; NULL with TypeError. */
void *core_pointer(PyObject *capsule, const char *name);
/* Sets dict[key] and gives away `value`; false where value is NULL or setting fails. */
bool core_put(PyObject *dict, const char *key, PyObject *value);
/* The contents of `text` as str or bytes; frees the string. */
PyObject *core_string_take(att_string *text);
PyObject *core_bytes_take(att_string *text);
/* What a call wrote: a str, or the exception of its status. Frees the string. The second also ends
 * the call. */
PyObject *core_rendered(att_status status, att_string *out, const att_error *err);
PyObject *core_end_string(core_call *call, att_status status, att_string *out,
                          const att_error *err);
/* None for NULL. */
PyObject *core_str(const char *text);
/* A list of str; None for NULL. */
PyObject *core_str_list(const char *const *items, int64_t count);

/* ---- arrays (array.c, input.c) */

extern PyTypeObject *core_array_type;
bool core_array_init(PyObject *module);
/* A new Array that takes the tensor over (also on failure). */
PyObject *core_array_take(att_tensor *tensor, bool read_only);
/* A read-only Array of memory that belongs to `owner`, which it keeps alive. */
PyObject *core_array_view(att_tensor *tensor, PyObject *owner);
/* A new Array with a row-major copy of another's elements. */
PyObject *core_array_copy(PyObject *array);
/* A new Array of zeros, row-major. */
PyObject *core_array_zeros(att_dtype dtype, int rank, const int64_t *shape);
/* A new Array with a copy of numbers; None for NULL. */
PyObject *core_array_doubles(const double *values, int rank, const int64_t *shape);
PyObject *core_array_floats(const float *values, int rank, const int64_t *shape);
att_tensor *core_array_tensor(PyObject *array);
bool core_array_read_only(PyObject *array);
const char *core_dtype_name(att_dtype dtype);

/* Elements that an argument may have. */
enum {
    CORE_FLOATS = 1, /* float32, float64 */
    CORE_HALVES = 2, /* float16, bfloat16 */
    CORE_BYTES = 4,  /* bool, uint8, int8: `tensor` has their strides, its dtype means nothing */
    CORE_WRITABLE = 8,
    CORE_F32_ONLY = 16,
};

/* An argument's memory, through the buffer protocol or DLPack, without a copy. */
typedef struct core_input {
    att_tensor tensor; /* a view */
    Py_buffer view;    /* in use if view.obj is set */
    PyObject *owner;   /* DLPack capsule, or NULL */
} core_input;

/* The memory of `object`; an exception names the argument and what was expected. */
bool core_input_get(core_input *out, PyObject *object, const char *name, unsigned kinds);
void core_input_release(core_input *input);

/* ---- DLPack out (dlpack.c) */
PyObject *core_array_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords);

/* ---- functions of the module, one table per file */
extern PyMethodDef core_attention_methods[], core_product_methods[], core_sheet_methods[],
    core_model_methods[], core_session_methods[], core_training_methods[], core_metric_methods[],
    core_inspect_methods[], core_eval_methods[], core_generate_methods[], core_array_functions[],
    core_compare_methods[], core_search_methods[], core_exercise_methods[], core_image_methods[];

#define CORE_MODEL "attend.model"
/* A capsule that owns the model. */
PyObject *core_model(att_model *model);
/* The models of a tuple of capsules; NULL with an exception. Release with PyMem_Free(). */
att_model **core_models_get(PyObject *tuple);
/* Integers as token ids; NULL with an exception. Release with PyMem_Free(). */
int32_t *core_token_ids(PyObject *value, const char *name, size_t *count);
/* Settings from a tuple of (key, value) pairs of str. */
att_settings *core_settings_new(const char *task, PyObject *pairs);
/* A validation (None for NULL) and an event of training, as dicts. */
PyObject *core_validation(const att_validation *v);
PyObject *core_training_event(const att_training_progress *p);

/* A dataset from a Python iterator, for calls that take an att_example_iterator. */
typedef struct core_examples {
    core_call *call;
    PyObject *iterator;
    PyObject *item; /* whose strings the library has */
} core_examples;

bool core_examples_next(void *context, att_example *out);
/* Decoding options and the ensemble from a dict with the keys of attend.h; *ensemble is released
 * with PyMem_Free(). */
bool core_decoding_options(att_decoding_options *out, att_model ***ensemble, PyObject *dict,
                           PyObject *models);
bool core_metric_options(att_metric_options *out, PyObject *dict);
/* Hypotheses and a tuple of reference sets, each with a line per hypothesis. */
typedef struct core_texts {
    core_lines hypotheses;
    core_lines *references;
    const char *const **lists;
    size_t count;
    att_hypotheses all;
} core_texts;

bool core_texts_get(core_texts *t, PyObject *hypotheses, PyObject *references);
void core_texts_free(core_texts *t);
/* Pixels from an array of bytes [height, width, 3]; image->pixels is freed with PyMem_Free(). */
bool core_overlay_get(att_overlay_image *out, att_image *image, PyObject *pixels, bool crop);
PyObject *core_metric_scores(const att_metric_scores *scores, size_t count);
PyObject *core_map_dict(const att_map *map);
bool core_render_options(att_render_options *out, PyObject *dict);

#define CORE_FAST(function) ((PyCFunction)(void (*)(void))(function))

#endif
