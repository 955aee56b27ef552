/* A model of a test replaced by its int8 version. */
#ifndef TESTS_MODEL_QUANTIZE_HELP_H
#define TESTS_MODEL_QUANTIZE_HELP_H

#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Replaces the model, and its tape by one for inference. */
static inline void quantize_in_place(att_model **model, att_tape **tape)
{
    att_model *small;
    att_error err = { 0 };
    if (att_model_quantize(&small, *model, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    att_tape_free(*tape);
    att_model_free(*model);
    *model = small;
    assert_int_equal(att_model_precision(small), ATT_PRECISION_INT8);
    assert_int_equal(att_tape_new(tape, &small->params, NULL), ATT_OK);
}

#endif
