/* Kinds of models, where a verb does not serve all of them alike. A verb has a table of functions
 * by kind; an option says for which kinds it is. */
#ifndef KINDS_H
#define KINDS_H

#include "program.h"

/* "a language model" */
const char *model_type_name(att_model_type kind);

/* Whether the verb serves models of this kind, as `served` says, and every option that was given
 * (that differs from the `usual` settings) is for it. What is not is told on standard error. */
exit_code model_type_check(const struct verb *verb, att_model_type kind, bool served,
                           const void *settings, const void *usual);

#endif
