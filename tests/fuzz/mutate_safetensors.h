/* Structure-aware mutation of .safetensors files (models, checkpoints, image encoders). */
#ifndef TESTS_FUZZ_MUTATE_SAFETENSORS_H
#define TESTS_FUZZ_MUTATE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

/* For LLVMFuzzerCustomMutator: changes fields of the header, vocabularies and settings in it, or
 * values of tensors, and mostly makes offsets and lengths fit again, so that the file is read deep.
 * One time in eight, and where the input is no such file, the bytes are changed without regard to
 * what they are. Returns the new size. */
size_t mutate_safetensors(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#endif
