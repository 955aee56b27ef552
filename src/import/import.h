/* Import of weights of other programs. Each format is a row of the table in import.c, and its
 * reader returns the contents of a model file. A reader refuses anything that it does not know, by
 * name: a model that differs slightly from the one in the file would be worse than an error. */
#ifndef ATT_IMPORT_IMPORT_H
#define ATT_IMPORT_IMPORT_H

#include "attend.h"

typedef struct att_importer {
    att_import_format format;

    /* Reads the file, or the folder, at `path`. On failure *out is NULL. */
    att_status (*read)(att_bundle **out, const char *path, const att_import_options *options,
                       att_error *err);
} att_importer;

att_status att_import_ctranslate2(att_bundle **out, const char *path,
                                  const att_import_options *options, att_error *err);
att_status att_import_llama2c(att_bundle **out, const char *path, const att_import_options *options,
                              att_error *err);
att_status att_import_g2p(att_bundle **out, const char *path, const att_import_options *options,
                          att_error *err);
att_status att_import_squeezenet(att_bundle **out, const char *path,
                                 const att_import_options *options, att_error *err);

#endif
