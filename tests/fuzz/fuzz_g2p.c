/* Arrays of any shapes as the model of g2p_en (fuzz_npz.c fuzzes the .npz file). Each of the twelve
 * arrays takes three bytes: the differences of its rank and dimensions from the right ones, which
 * are small so that filling the arrays does not take all the time. One input in 16 that can be
 * converted is also loaded as a model, which is what fuzz_model.c fuzzes. */
#include "fuzz/sampling.h"

#include "import/g2p.h"
#include "import/g2p_arrays.h"
#include "import/model_writer.h"
#include "tensor/bundle.h"

enum { LOADED_OF = 16 };

/* A dimension plus -4 to 3, by a byte. */
static int64_t near(int64_t dimension, uint8_t byte)
{
    int64_t other = dimension + ((byte + 4) & 7) - 4;
    return other > 0 ? other : 0;
}

/* Values do not matter: a view of zeros, not copied. */
static void add_zeros(att_bundle *bundle, att_dtype dtype, const g2p_array *array)
{
    static double zeros[(G2P_PHONEMES + 4) * (G2P_PHONEMES + 4)];
    att_tensor view = att_tensor_view(zeros, dtype, array->rank, array->shape);
    PROMISE(att_bundle_take(bundle, array->name, &view, NULL) == ATT_OK);
}

static att_bundle *make_arrays(const uint8_t *data, size_t size)
{
    att_bundle *bundle;
    if (att_bundle_new(&bundle, NULL) != ATT_OK)
        abort();
    for (int i = 0; i < G2P_ARRAYS && (size_t)i * 3 + 3 <= size; i++) {
        const uint8_t *bytes = data + 3 * i;
        g2p_array array = g2p_arrays[i];
        array.rank = (array.rank + bytes[0]) % 3;
        array.shape[0] = near(array.shape[0], bytes[1]);
        array.shape[1] = near(array.shape[1], bytes[2]);
        if (array.rank > 0)
            add_zeros(bundle, bytes[0] > 127 ? ATT_F64 : ATT_F32, &array);
    }
    return bundle;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_bundle *weights = make_arrays(data, size), *bundle;
    att_status status = att_g2p_convert(&bundle, weights, "input", &err);
    if (status == ATT_OK && one_input_in(LOADED_OF, data, size))
        status = att_imported_model_check(&bundle, "input", &err);
    if (status == ATT_OK)
        for (size_t i = 0; i < att_bundle_count(bundle); i++)
            check_tensor(att_bundle_at(bundle, i));
    else
        check_refusal(status, &err);
    att_bundle_free(bundle);
    att_bundle_free(weights);
    PROMISE(att_alloc_live() == live);
    return 0;
}
