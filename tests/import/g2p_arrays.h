/* The arrays of a small g2p_en model: embedding size 3, hidden size 2. */
#ifndef TESTS_IMPORT_G2P_ARRAYS_H
#define TESTS_IMPORT_G2P_ARRAYS_H

#include "attend.h"

#include <stdlib.h>

enum { G2P_LETTERS = 29, G2P_PHONEMES = 74, G2P_EMBED = 3, G2P_WIDTH = 2, G2P_ARRAYS = 12 };

typedef struct g2p_array {
    const char *name;
    int rank;
    int64_t shape[2];
} g2p_array;

static const g2p_array g2p_arrays[G2P_ARRAYS] = {
    { "enc_emb", 2, { G2P_LETTERS, G2P_EMBED } },
    { "enc_w_ih", 2, { 3 * G2P_WIDTH, G2P_EMBED } },
    { "enc_w_hh", 2, { 3 * G2P_WIDTH, G2P_WIDTH } },
    { "enc_b_ih", 1, { 3 * G2P_WIDTH } },
    { "enc_b_hh", 1, { 3 * G2P_WIDTH } },
    { "dec_emb", 2, { G2P_PHONEMES, G2P_EMBED } },
    { "dec_w_ih", 2, { 3 * G2P_WIDTH, G2P_EMBED } },
    { "dec_w_hh", 2, { 3 * G2P_WIDTH, G2P_WIDTH } },
    { "dec_b_ih", 1, { 3 * G2P_WIDTH } },
    { "dec_b_hh", 1, { 3 * G2P_WIDTH } },
    { "fc_w", 2, { G2P_PHONEMES, G2P_WIDTH } },
    { "fc_b", 1, { G2P_PHONEMES } },
};

/* Element `at` of array `which`; all values are distinct. */
static inline double g2p_value(int which, int64_t at)
{
    return (double)(which * 1000 + at) / 4096;
}

static inline void g2p_add(att_bundle *bundle, int which, att_dtype dtype, const g2p_array *array)
{
    att_tensor tensor;
    if (att_tensor_new(&tensor, dtype, array->rank, array->shape, NULL) != ATT_OK)
        abort();
    for (int64_t i = 0; i < att_tensor_count(&tensor); i++) {
        int64_t columns = array->rank > 1 ? array->shape[1] : 1;
        att_tensor_set(&tensor, (const int64_t[]){ i / columns, i % columns }, g2p_value(which, i));
    }
    if (att_bundle_add(bundle, array->name, &tensor, NULL) != ATT_OK)
        abort();
    att_tensor_free(&tensor);
}

#endif
