/* Word alignments in the format of aligners such as fast_align: "0-0 1-2 …", source-target, from 0.
 */
#ifndef ATT_DATA_ALIGNMENT_H
#define ATT_DATA_ALIGNMENT_H

#include "text/lines.h"
#include "text/vocab.h"

/* Appends to *out, for each of `targets` target tokens, the index of the first source token that
 * the line aligns with it, or -1. An index outside the pair is ATT_BAD_INPUT. */
att_status att_alignment_read(att_ids *out, const att_line_view *line, const char *name,
                              int64_t sources, int64_t targets, att_error *err);

#endif
