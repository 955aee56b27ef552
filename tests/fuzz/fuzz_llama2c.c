/* Any bytes as the two files of llama2.c: the first two say how long the tokenizer is, which comes
 * before the weights. */
#include "fuzz/fuzz.h"

#include "import/llama2c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_bundle *bundle;
    if (size < 2)
        return 0;
    size_t length = (size_t)data[0] | (size_t)data[1] << 8;
    length = length > size - 2 ? size - 2 : length;
    const att_llama_bytes tokenizer = { "tokenizer", data + 2, length };
    const att_llama_bytes weights = { "weights", data + 2 + length, size - 2 - length };
    att_status status = att_llama_convert(&bundle, &weights, &tokenizer, &err);
    if (status == ATT_OK)
        for (size_t i = 0; i < att_bundle_count(bundle); i++)
            check_tensor(att_bundle_at(bundle, i));
    else
        check_refusal(status, &err);
    att_bundle_free(bundle);
    PROMISE(att_alloc_live() == live);
    return 0;
}
