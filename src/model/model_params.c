/* The parameters of a model file: tensors by name, checked and copied into the parameters, as
 * floats or as int8.
 *
 * An int8 parameter is two tensors: integers in its shape, and "<name>.scale" with a float for each
 * output (tape/params.h). Integers come as they are in the file, or floats are quantized; both give
 * the same values, since a quantized file has what quantizing gives. An int8 file of another
 * program may have floats where quantizing would give integers: they stay floats unless the caller
 * asks for int8. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/quote.h"
#include "base/string.h"
#include "model/model_file.h"
#include "tensor/bundle.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 160 }; /* of a tensor with its suffix; parameters have shorter names */

static const char *scale_name(char out[NAME_SIZE], const char *param)
{
    snprintf(out, NAME_SIZE, "%s" ATT_SCALE_SUFFIX, param);
    return out;
}

/* ---- checks */

static bool same_shape(const att_tensor *tensor, const att_param *param)
{
    return tensor->rank == param->rank &&
           memcmp(tensor->shape, param->shape, (size_t)param->rank * sizeof *param->shape) == 0;
}

/* The scales of integers: one for each output. */
static att_status check_scales(const att_bundle *bundle, const att_param *param, const char *name,
                               att_error *err)
{
    char scale[NAME_SIZE], found[ATT_SHAPE_STRING_SIZE];
    if (!att_param_can_be_int8(param))
        return att_fail(err, ATT_BAD_INPUT, name, "the tensor '%s' is int8, expected float32",
                        param->name);
    int64_t outputs = param->shape[!att_param_outputs_are_rows(param)];
    const att_tensor *scales = att_bundle_get(bundle, scale_name(scale, param->name));
    if (!scales)
        return att_fail(err, ATT_BAD_INPUT, name, "the tensor '%s' is missing", scale);
    if (scales->dtype == ATT_F32 && scales->rank == 1 && scales->shape[0] == outputs)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "the tensor '%s': expected float32 of shape [%lld], found %s of shape %s",
                    scale, (long long)outputs, att_dtype_name(scales->dtype),
                    att_shape_to_string(found, scales->rank, scales->shape));
}

static att_status check_tensor(const att_bundle *bundle, const att_param *param, const char *name,
                               att_error *err)
{
    const att_tensor *tensor = att_bundle_get(bundle, param->name);
    if (!tensor)
        return att_fail(err, ATT_BAD_INPUT, name, "the tensor '%s' is missing", param->name);
    if (same_shape(tensor, param))
        return tensor->dtype == ATT_I8 ? check_scales(bundle, param, name, err) : ATT_OK;
    char found[ATT_SHAPE_STRING_SIZE], expected[ATT_SHAPE_STRING_SIZE];
    return att_fail(err, ATT_BAD_INPUT, name,
                    "the tensor '%s': expected shape %s by the settings, found %s", param->name,
                    att_shape_to_string(expected, param->rank, param->shape),
                    att_shape_to_string(found, tensor->rank, tensor->shape));
}

/* Whether a tensor is the scales of integers of the bundle. */
static bool is_scale(const att_bundle *bundle, const char *name)
{
    char integers[NAME_SIZE];
    size_t length = strlen(name), suffix = strlen(ATT_SCALE_SUFFIX);
    if (length <= suffix || length >= NAME_SIZE ||
        strcmp(name + length - suffix, ATT_SCALE_SUFFIX) != 0)
        return false;
    memcpy(integers, name, length - suffix);
    integers[length - suffix] = '\0';
    const att_tensor *tensor = att_bundle_get(bundle, integers);
    return tensor && tensor->dtype == ATT_I8;
}

/* Refuses a bundle that lacks a tensor of the model, or has one that is neither of the model nor of
 * the training loop. */
static att_status check_tensors(const att_bundle *bundle, const att_params *params,
                                const char *name, att_error *err)
{
    for (int i = 0; i < params->count; i++)
        ATT_TRY(check_tensor(bundle, &params->items[i], name, err));
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        const char *tensor = att_bundle_name(bundle, i);
        char quoted[ATT_QUOTED_SIZE];
        if (strncmp(tensor, ATT_TRAINING_PREFIX, strlen(ATT_TRAINING_PREFIX)) != 0 &&
            att_params_find(params, tensor) < 0 && !is_scale(bundle, tensor))
            return att_fail(err, ATT_BAD_INPUT, name,
                            "the tensor '%s' is not a parameter of this model",
                            att_quote(quoted, tensor, strlen(tensor)));
    }
    return ATT_OK;
}

/* Tests the bits of whole tensors without a branch, so that compilers vectorize it. */
static bool all_finite(const float *values, size_t count)
{
    const uint32_t exponent = 0x7F800000;
    uint32_t odd = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        odd |= (bits & exponent) == exponent;
    }
    return odd == 0;
}

/* A NaN in any weight would silently corrupt every output, so refuse the file. */
static att_status check_finite(const float *values, size_t count, const char *tensor,
                               const char *name, att_error *err)
{
    size_t i = 0;
    if (all_finite(values, count))
        return ATT_OK;
    while (isfinite(values[i]))
        i++;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "the tensor '%s' holds %g at index %zu, expected finite numbers", tensor,
                    (double)values[i], i);
}

/* Kernels rely on integers of -127 to 127 (kern/int8.h). */
static att_status check_integers(const int8_t *values, size_t count, const char *tensor,
                                 const char *name, att_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < -ATT_INT8_MAX)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "the tensor '%s' holds %d at index %zu, expected -127 to 127", tensor,
                            values[i], i);
    return ATT_OK;
}

/* ---- values of one parameter */

/* The integers of a parameter and its scales, checked; both are contiguous, as readers make them.
 */
static att_status read_integers(const int8_t **values, const float **scales,
                                const att_bundle *bundle, const att_param *param, const char *name,
                                att_error *err)
{
    char scale[NAME_SIZE];
    *values = att_bundle_get(bundle, param->name)->data;
    *scales = att_bundle_get(bundle, scale_name(scale, param->name))->data;
    ATT_TRY(check_integers(*values, param->count, param->name, name, err));
    return check_finite(*scales, (size_t)param->shape[!att_param_outputs_are_rows(param)], scale,
                        name, err);
}

static att_status load_floats(att_params *params, int index, const att_bundle *bundle,
                              const char *name, att_error *err)
{
    const att_param *param = &params->items[index];
    const att_tensor *tensor = att_bundle_get(bundle, param->name);
    float *to = params->value + param->offset;
    if (tensor->dtype != ATT_I8) {
        att_tensor_copy_to_array(to, ATT_F32, tensor);
        return check_finite(to, param->count, param->name, name, err);
    }
    const int8_t *values;
    const float *scales;
    ATT_TRY(read_integers(&values, &scales, bundle, param, name, err));
    size_t columns = (size_t)param->shape[1];
    bool by_row = att_param_outputs_are_rows(param);
    for (size_t i = 0; i < param->count; i++)
        to[i] = (float)values[i] * scales[by_row ? i / columns : i % columns];
    return check_finite(to, param->count, param->name, name, err);
}

/* Quantizes the floats of a tensor, which may have to be converted to float32 first. */
static att_status quantize_tensor(const att_int8_matrix *to, const att_param *param,
                                  const att_tensor *tensor, const char *name, att_error *err)
{
    att_tensor copy = { 0 };
    const float *values = tensor->data;
    if (tensor->dtype != ATT_F32) {
        ATT_TRY(att_tensor_copy(&copy, tensor, ATT_F32, err));
        values = copy.data;
    }
    att_status status = check_finite(values, param->count, param->name, name, err);
    float *scratch = att_alloc(2 * to->depth, sizeof *scratch);
    if (status == ATT_OK && !scratch)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        att_int8_matrix_quantize(to, values, (size_t)param->shape[1],
                                 att_param_outputs_are_rows(param), scratch);
    att_free(scratch);
    att_tensor_free(&copy);
    return status;
}

static att_status load_int8(att_params *params, int index, const att_bundle *bundle,
                            const char *name, att_error *err)
{
    const att_param *param = &params->items[index];
    const att_int8_matrix *to = att_param_int8(params, index);
    const att_tensor *tensor = att_bundle_get(bundle, param->name);
    if (tensor->dtype != ATT_I8)
        return quantize_tensor(to, param, tensor, name, err);
    const int8_t *values;
    const float *scales;
    ATT_TRY(read_integers(&values, &scales, bundle, param, name, err));
    att_int8_matrix_pack(to, values, (size_t)param->shape[1], att_param_outputs_are_rows(param),
                         scales);
    return ATT_OK;
}

/* ---- all parameters */

static att_status load_values(att_params *params, const att_bundle *bundle, const char *name,
                              att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        ATT_TRY(att_param_int8(params, i) ? load_int8(params, i, bundle, name, err)
                                          : load_floats(params, i, bundle, name, err));
        ATT_TRY(att_progress_check(err));
    }
    att_params_mark_changed(params);
    ATT_TRY(att_params_pack(params, err)); /* inference only reads from here on */
    return att_progress_check(err);
}

att_status att_model_load_values(att_model *model, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    ATT_TRY(check_tensors(bundle, &model->params, name, err));
    return load_values(&model->params, bundle, name, err);
}

/* Shapes are compared before anything of their size is allocated: a file cannot make the library
 * allocate more than a few times its own size. */
att_status att_params_from_bundle(att_params *params, const att_bundle *bundle, att_int8_scope int8,
                                  const char *name, att_error *err)
{
    ATT_TRY(check_tensors(bundle, params, name, err));
    for (int i = 0; int8 == ATT_INT8_STORED && i < params->count; i++)
        if (att_bundle_get(bundle, params->items[i].name)->dtype != ATT_I8)
            params->items[i].float_only = true;
    ATT_TRY(int8 != ATT_INT8_NONE ? att_params_alloc_int8(params, err)
                                  : att_params_alloc(params, err));
    return load_values(params, bundle, name, err);
}

/* Adds the integers of a parameter and their scales. */
static att_status add_int8(att_bundle *bundle, const att_params *params, int index, att_error *err)
{
    const att_param *param = &params->items[index];
    const att_int8_matrix *matrix = att_param_int8(params, index);
    char scale[NAME_SIZE];
    int64_t outputs = (int64_t)matrix->columns;
    att_tensor scales = att_tensor_view(matrix->scales, ATT_F32, 1, &outputs), integers;
    ATT_TRY(att_bundle_add(bundle, scale_name(scale, param->name), &scales, err));
    ATT_TRY(att_tensor_new_uninitialized(&integers, ATT_I8, param->rank, param->shape, err));
    att_param_int8_values(integers.data, params, index);
    att_status status = att_bundle_take(bundle, param->name, &integers, err);
    att_tensor_free(&integers);
    return status;
}

att_status att_param_quantized_to_bundle(att_bundle *bundle, const att_param *param,
                                         const att_tensor *values, att_error *err)
{
    att_params one = { 0 };
    int index;
    att_status status = att_params_add(&one, param, &index, err);
    if (status == ATT_OK)
        status = att_params_alloc_int8(&one, err);
    if (status == ATT_OK)
        status = quantize_tensor(&one.int8[index], param, values, "tensors", err);
    if (status == ATT_OK)
        status = add_int8(bundle, &one, index, err);
    att_params_free(&one);
    return status;
}

att_status att_param_to_bundle(att_bundle *bundle, const att_params *params, int index,
                               att_error *err)
{
    if (att_param_int8(params, index))
        return add_int8(bundle, params, index, err);
    att_tensor view = att_param_view(params, index);
    return att_bundle_add(bundle, params->items[index].name, &view, err);
}

att_status att_params_to_bundle(att_bundle *bundle, const att_params *params, att_error *err)
{
    for (int i = 0; i < params->count; i++)
        ATT_TRY(att_param_to_bundle(bundle, params, i, err));
    return ATT_OK;
}
