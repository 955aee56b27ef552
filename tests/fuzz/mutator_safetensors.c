/* libFuzzer's hook for targets that read .safetensors files. */
#include "fuzz/mutate_safetensors.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_safetensors(data, size, max_size, seed);
}
