/* Converts the GRU of g2p_en that is in memory to a model file. */
#ifndef ATT_IMPORT_G2P_H
#define ATT_IMPORT_G2P_H

#include "attend.h"

/* On success *out is the contents of a model file, for att_imported_model_check(). `name` is the
 * file named in errors. */
att_status att_g2p_convert(att_bundle **out, const att_bundle *weights, const char *name,
                           att_error *err);

#endif
