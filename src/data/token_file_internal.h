/* Making the object of a token file without opening one: for the writer, which reads back what it
 * has written before there is a header. */
#ifndef ATT_DATA_TOKEN_FILE_INTERNAL_H
#define ATT_DATA_TOKEN_FILE_INTERNAL_H

#include "data/token_file.h"

/* An object without a file; `path` is its name in errors. */
att_status att_token_file_new(att_token_file **out, const char *path, att_error *err);

#endif
