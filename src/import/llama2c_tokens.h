/* The tokeniser of llama2.c; see llama2c_tokens.c. */
#ifndef ATT_IMPORT_LLAMA2C_TOKENS_H
#define ATT_IMPORT_LLAMA2C_TOKENS_H

#include "import/llama2c.h"
#include "text/vocab.h"

/* A vocabulary of as many tokens as the checkpoint has, numbered as there. */
att_status att_llama_tokenizer_vocab(att_vocab **out, const att_llama_bytes *from,
                                     int64_t vocabulary, att_error *err);

#endif
