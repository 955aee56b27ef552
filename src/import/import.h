/* Weights of other programs become models of ours. A format is a row of the table in import.c; its
 * reader gives the contents of a model file. What a reader does not understand it refuses by name:
 * a model that is nearly the one in the file would be worse than none. */
#ifndef ATT_IMPORT_IMPORT_H
#define ATT_IMPORT_IMPORT_H

#include "attend.h"

typedef struct att_importer {
    att_import_format format;

    /* Reads the file, or the folder, at `path`. On failure *out is NULL. */
    att_status (*read)(att_bundle **out, const char *path, const att_import_options *how,
                       att_error *err);
} att_importer;

att_status att_import_ctranslate2(att_bundle **out, const char *path, const att_import_options *how,
                                  att_error *err);
att_status att_import_llama2c(att_bundle **out, const char *path, const att_import_options *how,
                              att_error *err);
att_status att_import_g2p(att_bundle **out, const char *path, const att_import_options *how,
                          att_error *err);
att_status att_import_squeezenet(att_bundle **out, const char *path, const att_import_options *how,
                                 att_error *err);

#endif
