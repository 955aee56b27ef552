/* The model of g2p_en from memory; see g2p.c. */
#ifndef ATT_IMPORT_G2P_H
#define ATT_IMPORT_G2P_H

#include "attend.h"

/* The contents of a model file; `name` stands for the weights in errors. */
att_status att_g2p_convert(att_bundle **out, const att_bundle *weights, const char *name,
                           att_error *err);

#endif
