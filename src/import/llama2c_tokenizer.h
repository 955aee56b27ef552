/* The vocabulary of a llama2.c tokenizer file. */
#ifndef ATT_IMPORT_LLAMA2C_TOKENIZER_H
#define ATT_IMPORT_LLAMA2C_TOKENIZER_H

#include "import/llama2c.h"
#include "text/vocab.h"

/* Makes a vocabulary of `vocabulary` tokens, the number of the checkpoint, with the ids of the
 * file. */
att_status att_llama_tokenizer_vocab(att_vocab **out, const att_llama_bytes *from,
                                     int64_t vocabulary, att_error *err);

#endif
