/* libFuzzer's hook for targets that read JSON: every second mutation is one of tokens. */
#include "fuzz/mutate_json.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = mutate_seed(seed);
    att_string text = { 0 };
    size_t changed = 0;
    if (mutate_random(&random, 2) == 0 && mutate_json(&text, (const char *)data, size, &random) &&
        text.length <= max_size) {
        memcpy(data, text.data, text.length);
        changed = text.length;
    }
    att_string_free(&text);
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, max_size);
}
