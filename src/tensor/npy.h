/* .npy files in memory. */
#ifndef ATT_TENSOR_NPY_H
#define ATT_TENSOR_NPY_H

#include "attend.h"

/* The bytes of a .npy file (version 1.0), added to `out`. */
att_status att_npy_write(att_string *out, const att_tensor *tensor, att_error *err);

#endif
