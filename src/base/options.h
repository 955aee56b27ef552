/* Option structs of callers, which may be compiled against an older or a newer attend.h
 * ("Stability" there). */
#ifndef ATT_BASE_OPTIONS_H
#define ATT_BASE_OPTIONS_H

#include "attend.h"

/* Copies the struct that begins with its size at `options` (NULL: the defaults) into *out, of
 * `size` bytes; fields that the caller's struct lacks become 0. A size that ATT_INIT() did not set,
 * and a field that this library does not know and that is not 0, are ATT_BAD_INPUT; `type` is the
 * name of the struct in the message. */
att_status att_options_copy(void *out, size_t size, const void *options, const char *type,
                            att_error *err);

/* The same for a variable: ATT_TRY(ATT_OPTIONS_COPY(att_metric_options, &mine, theirs, err)). */
#define ATT_OPTIONS_COPY(type, out, options, err)                                                  \
    att_options_copy((type *){ out }, sizeof(type), (const type *){ options }, #type, err)

/* Copies a result of `size` bytes to the caller's struct at `out`, as much as it has room for; its
 * size stays. */
att_status att_result_copy(void *out, const void *result, size_t size, const char *type,
                           att_error *err);
#define ATT_RESULT_COPY(type, out, result, err)                                                    \
    att_result_copy((type *){ out }, (const type *){ result }, sizeof(type), #type, err)

#endif
