/* CTranslate2's models from memory; see ctranslate2.c. */
#ifndef ATT_IMPORT_CTRANSLATE2_H
#define ATT_IMPORT_CTRANSLATE2_H

#include "import/ct2_file.h"
#include "import/graft.h"

/* A vocabulary: a token a line. */
typedef struct att_ct2_list {
    const char *name; /* stands for the file in errors */
    const char *text;
    size_t length;
} att_ct2_list;

typedef struct att_ct2_words {
    att_ct2_list source, target;
} att_ct2_words;

/* The contents of a model file. */
att_status att_ct2_convert(att_bundle **out, att_ct2_file *file, const att_ct2_words *words,
                           att_tokens tokens, att_error *err);

#endif
