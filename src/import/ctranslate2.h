/* CTranslate2's models from memory; see ctranslate2.c. */
#ifndef ATT_IMPORT_CTRANSLATE2_H
#define ATT_IMPORT_CTRANSLATE2_H

#include "import/ctranslate2_file.h"
#include "import/model_writer.h"

/* A vocabulary: a token a line. */
typedef struct att_ct2_vocabulary {
    const char *name; /* stands for the file in errors */
    const char *text;
    size_t length;
} att_ct2_vocabulary;

typedef struct att_ct2_vocabularies {
    att_ct2_vocabulary source, target;
} att_ct2_vocabularies;

/* The contents of a model file. */
att_status att_ct2_convert(att_bundle **out, att_ct2_file *file, const att_ct2_vocabularies *words,
                           att_tokenizer_kind tokens, att_error *err);

#endif
