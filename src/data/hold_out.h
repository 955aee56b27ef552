/* Which sources of the training data are held out for validation. */
#ifndef ATT_DATA_HOLD_OUT_H
#define ATT_DATA_HOLD_OUT_H

#include "data/corpus.h"

/* The place of a source in [0, 1), by its text: it is held out if that is below the fraction. All
 * pairs with the same source are on the same side, so that no validation source occurs in training.
 */
double att_hold_out_place(uint64_t seed, const att_line_view *source);

/* The fraction to hold out: valid-fraction of the settings, or just enough for one source where
 * that would hold out none of at least two sources. */
att_status att_hold_out_fraction(double *out, const att_pair_text *train,
                                 const att_settings *settings, att_error *err);

#endif
