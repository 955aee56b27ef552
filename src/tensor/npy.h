/* Writing .npy files in memory; reading is in attend.h. */
#ifndef ATT_TENSOR_NPY_H
#define ATT_TENSOR_NPY_H

#include "attend.h"

/* Appends the bytes of a .npy file (version 1.0) to `out`. */
att_status att_npy_write(att_string *out, const att_tensor *tensor, att_error *err);

#endif
