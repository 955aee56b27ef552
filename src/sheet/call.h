/* Functions by name, and calling them. */
#ifndef ATT_SHEET_CALL_H
#define ATT_SHEET_CALL_H

#include "sheet/function.h"

/* NULL where there is none of that name. */
const att_function *att_function_find(const char *name);
const att_option_spec *att_option_find(const att_function *function, const char *name);

/* True where `word` is one of the words that the option takes; where it takes nothing but words. */
bool att_option_accepts_word(const att_option_spec *row, const char *word);
bool att_option_accepts_only_words(const att_option_spec *row);

#endif
