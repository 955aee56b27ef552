/* Image encoders with random weights, for tests whose result does not depend on the weights. */
#ifndef ATT_TESTS_MODEL_IMAGE_ENCODER_HELP_H
#define ATT_TESTS_MODEL_IMAGE_ENCODER_HELP_H

#include "attend.h"
#include "model/image_encoder.h"
#include "nn/squeezenet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The bundle of an image encoder with initial values and the labels "thing 0", … */
static inline att_bundle *encoder_bundle(int labels)
{
    att_bundle *bundle;
    att_params params = { 0 };
    att_param_builder builder = { .params = &params };
    att_string names = { 0 };
    att_squeezenet_build(&builder);
    assert_int_equal(builder.status, ATT_OK);
    assert_int_equal(att_params_init(&params, 1, NULL), ATT_OK);
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    for (int i = 0; i < params.count; i++) {
        att_tensor view = att_param_view(&params, i);
        assert_int_equal(att_bundle_add(bundle, params.items[i].name, &view, NULL), ATT_OK);
    }
    for (int i = 0; i < labels; i++) {
        char line[32];
        int length = snprintf(line, sizeof line, "thing %d\n", i);
        assert_int_equal(att_string_append(&names, line, (size_t)length), ATT_OK);
    }
    assert_int_equal(att_image_encoder_set_metadata(bundle, names.data, NULL), ATT_OK);
    att_string_free(&names);
    att_params_free(&params);
    return bundle;
}

#endif
