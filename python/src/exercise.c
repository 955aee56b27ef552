/* Exercises and graded answers. */
#include "core.h"

#define EXERCISE "attend.exercise"
#define GRADING  "attend.grading"

static const char *const details[] = { "explain", "check", "reveal", NULL };

static void free_exercise(void *exercise)
{
    att_exercise_free(exercise);
}

static void free_grading(void *grading)
{
    att_grading_free(grading);
}

static PyObject *made_exercise(core_call *call, att_exercise *exercise, att_status status,
                               const att_error *err)
{
    if (core_end(call, status, err))
        return core_capsule(exercise, EXERCISE, free_exercise);
    att_exercise_free(exercise);
    return NULL;
}

static PyObject *exercise_load(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&:exercise_load", PyUnicode_FSConverter, &path))
        return NULL;
    att_exercise *exercise = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_exercise_load(&exercise, PyBytes_AsString(path), &err);
    PyObject *out = made_exercise(&call, exercise, status, &err);
    Py_DECREF(path);
    return out;
}

static PyObject *exercise_read(PyObject *module, PyObject *args)
{
    (void)module;
    const char *text, *name;
    PyObject *folder = NULL;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "s#sO&:exercise_read", &text, &length, &name, core_path, &folder))
        return NULL;
    att_exercise *exercise = NULL;
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_exercise_read(&exercise, text, (size_t)length, name,
                                          folder ? PyBytes_AsString(folder) : NULL, &err);
    PyObject *out = made_exercise(&call, exercise, status, &err);
    Py_XDECREF(folder);
    return out;
}

/* exercise_render(exercise, variant, solution, options) */
static PyObject *exercise_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *dict;
    const char *variant;
    int solution;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "OspO!:exercise_render", &capsule, &variant, &solution,
                          &PyDict_Type, &dict) ||
        !core_render_options(&options, dict))
        return NULL;
    const att_exercise *exercise = core_pointer(capsule, EXERCISE);
    if (!exercise)
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = att_exercise_render(&out, exercise, variant, solution, &options, &err);
    return core_end_string(&call, status, &out, &err);
}

static PyObject *made_grading(core_call *call, att_grading *grading, att_status status,
                              const att_error *err)
{
    if (core_end(call, status, err))
        return core_capsule(grading, GRADING, free_grading);
    att_grading_free(grading);
    return NULL;
}

/* exercise_grade(exercise, student, variant, answers, name) */
static PyObject *exercise_grade(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule;
    const char *student, *variant, *name;
    Py_buffer answers;
    if (!PyArg_ParseTuple(args, "Ossy*s:exercise_grade", &capsule, &student, &variant, &answers,
                          &name))
        return NULL;
    const att_exercise *exercise = core_pointer(capsule, EXERCISE);
    PyObject *out = NULL;
    if (exercise) {
        att_grading *grading = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = att_exercise_grade(&grading, exercise, student, variant, answers.buf,
                                               (size_t)answers.len, name, &err);
        out = made_grading(&call, grading, status, &err);
    }
    PyBuffer_Release(&answers);
    return out;
}

static PyObject *exercise_grade_file(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *path;
    const char *student, *variant;
    if (!PyArg_ParseTuple(args, "OssO&:exercise_grade_file", &capsule, &student, &variant,
                          PyUnicode_FSConverter, &path))
        return NULL;
    const att_exercise *exercise = core_pointer(capsule, EXERCISE);
    PyObject *out = NULL;
    if (exercise) {
        att_grading *grading = NULL;
        att_error err = { 0 };
        core_call call;
        core_begin(&call);
        att_status status = att_exercise_grade_file(&grading, exercise, student, variant,
                                                    PyBytes_AsString(path), &err);
        out = made_grading(&call, grading, status, &err);
    }
    Py_DECREF(path);
    return out;
}

/* (points, maximum, problem or None) */
static PyObject *grading_facts(PyObject *module, PyObject *capsule)
{
    (void)module;
    const att_grading *grading = core_pointer(capsule, GRADING);
    if (!grading)
        return NULL;
    double most = 0, points = att_grading_points(grading, &most);
    return Py_BuildValue("ddN", points, most, core_str(att_grading_problem(grading)));
}

/* grading_render(grading, detail, options): the page of a student; options None: Gradescope. */
static PyObject *grading_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *capsule, *word, *dict;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "OOO:grading_render", &capsule, &word, &dict))
        return NULL;
    int detail = core_choice(word, "detail", details);
    const att_grading *grading = detail < 0 ? NULL : core_pointer(capsule, GRADING);
    if (!grading || (dict != Py_None && !core_render_options(&options, dict)))
        return NULL;
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status =
        dict == Py_None
            ? att_grading_gradescope(&out, grading, (att_grade_detail)detail, &err)
            : att_grading_render(&out, grading, (att_grade_detail)detail, &options, &err);
    return core_end_string(&call, status, &out, &err);
}

/* gradings_render(gradings, options): the table of a class; options None: CSV. */
static PyObject *gradings_render(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *tuple, *dict;
    att_render_options options;
    if (!PyArg_ParseTuple(args, "O!O:gradings_render", &PyTuple_Type, &tuple, &dict) ||
        (dict != Py_None && !core_render_options(&options, dict)))
        return NULL;
    size_t count = (size_t)PyTuple_Size(tuple);
    const att_grading **gradings = PyMem_Malloc((count + 1) * sizeof *gradings);
    if (!gradings)
        return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++) {
        gradings[i] = core_pointer(PyTuple_GetItem(tuple, (Py_ssize_t)i), GRADING);
        if (!gradings[i]) {
            PyMem_Free((void *)gradings);
            return NULL;
        }
    }
    att_string out = { 0 };
    att_error err = { 0 };
    core_call call;
    core_begin(&call);
    att_status status = dict == Py_None
                            ? att_gradings_csv(&out, gradings, count, &err)
                            : att_gradings_render(&out, gradings, count, &options, &err);
    PyObject *text = core_end_string(&call, status, &out, &err);
    PyMem_Free((void *)gradings);
    return text;
}

PyMethodDef core_exercise_methods[] = {
    { "exercise_load", exercise_load, METH_VARARGS, NULL },
    { "exercise_read", exercise_read, METH_VARARGS, NULL },
    { "exercise_render", exercise_render, METH_VARARGS, NULL },
    { "exercise_grade", exercise_grade, METH_VARARGS, NULL },
    { "exercise_grade_file", exercise_grade_file, METH_VARARGS, NULL },
    { "grading_facts", grading_facts, METH_O, NULL },
    { "grading_render", grading_render, METH_VARARGS, NULL },
    { "gradings_render", gradings_render, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};
