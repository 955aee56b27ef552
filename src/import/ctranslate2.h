/* Converts a CTranslate2 Transformer that is in memory to a model file. */
#ifndef ATT_IMPORT_CTRANSLATE2_H
#define ATT_IMPORT_CTRANSLATE2_H

#include "import/ctranslate2_file.h"
#include "import/model_writer.h"

/* A vocabulary file: one token per line. */
typedef struct att_ct2_vocabulary {
    const char *name; /* the file, in errors */
    const char *text;
    size_t length;
} att_ct2_vocabulary;

typedef struct att_ct2_vocabularies {
    att_ct2_vocabulary source, target;
} att_ct2_vocabularies;

/* On success *out is the contents of a model file, for att_imported_model_check(). `tokens` is how
 * input lines are split. */
att_status att_ct2_convert(att_bundle **out, att_ct2_file *file,
                           const att_ct2_vocabularies *vocabularies, att_tokenizer_kind tokens,
                           att_error *err);

#endif
