/* What making a shortlist from a file and from pairs share. */
#ifndef ATT_DECODE_SHORTLIST_OPTIONS_H
#define ATT_DECODE_SHORTLIST_OPTIONS_H

#include "attend.h"

/* Copies the caller's options with the defaults filled in, and checks them. */
att_status att_shortlist_options_resolve(att_shortlist_options *out,
                                         const att_shortlist_options *options, att_error *err);

/* A shortlist without a lexicon. */
att_status att_shortlist_new(att_shortlist **out, const att_model *model, int64_t frequent,
                             att_error *err);

#endif
