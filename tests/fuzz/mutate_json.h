/* Structure-aware mutation of JSON: changes one value, key, item or member, also inside strings
 * that are JSON themselves, as the metadata of model files are. */
#ifndef TESTS_FUZZ_MUTATE_JSON_H
#define TESTS_FUZZ_MUTATE_JSON_H

#include "attend.h"

/* The next pseudorandom number below `count` (at least 1), by xorshift; *state is not 0. */
size_t mutate_random(uint64_t *state, size_t count);

/* The state for libFuzzer's seed. */
uint64_t mutate_seed(unsigned seed);

/* Appends `text` with one change to *out. False where nothing could be changed: it has no tokens or
 * there is no memory. Text that is not JSON is changed by its tokens all the same. */
bool mutate_json(att_string *out, const char *text, size_t length, uint64_t *random);

#endif
