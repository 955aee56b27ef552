/* The module attend._core: the tables of its functions put together. */
#include "core.h"

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "attend._core",
    .m_doc = "The library behind the package attend.",
    .m_size = -1, /* exception classes and the Array type are static */
};

PyMODINIT_FUNC PyInit__core(void); /* Python looks it up by name */

PyMODINIT_FUNC PyInit__core(void)
{
    PyMethodDef *tables[] = { core_attention_methods, core_product_methods,  core_sheet_methods,
                              core_model_methods,     core_generate_methods, core_session_methods,
                              core_training_methods,  core_metric_methods,   core_inspect_methods,
                              core_eval_methods,      core_array_functions,  core_compare_methods,
                              core_search_methods,    core_exercise_methods, core_image_methods };
    PyObject *module = PyModule_Create(&definition);
    bool made = module && core_errors_init(module) && core_array_init(module) &&
                PyModule_AddStringConstant(module, "version", att_version()) == 0;
    for (size_t i = 0; made && i < sizeof tables / sizeof *tables; i++)
        made = PyModule_AddFunctions(module, tables[i]) == 0;
    if (!made)
        Py_CLEAR(module);
    return module;
}
