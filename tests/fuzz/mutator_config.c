/* libFuzzer's hook for config files: every second mutation removes a line, or adds one with a key
 * of the table and a value of the kind that it asks for. */
#include "fuzz/mutate_json.h"

#include <stdio.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static const char *pick_value(const att_setting *row, uint64_t *random)
{
    static const char *const numbers[] = {
        "0", "1", "2", "3", "0.5", "1e-3", "64", "1000000", "-1"
    };
    static const char *const texts[] = { "a", "\"a # b\"", "-", "abc", "x.npy", "\"\"" };
    size_t choices = 0;
    while (row->choices && row->choices[choices])
        choices++;
    if (choices > 0)
        return row->choices[mutate_random(random, choices)];
    if (row->type == ATT_SETTING_FLAG)
        return mutate_random(random, 2) ? "yes" : "no";
    if (row->type == ATT_SETTING_TEXT)
        return texts[mutate_random(random, sizeof texts / sizeof *texts)];
    return numbers[mutate_random(random, sizeof numbers / sizeof *numbers)];
}

/* The start of the line after position `at`, or `size`. */
static size_t next_line(const uint8_t *data, size_t size, size_t at)
{
    const uint8_t *end = at < size ? memchr(data + at, '\n', size - at) : NULL;
    return end ? (size_t)(end - data) + 1 : size;
}

static size_t change_line(uint8_t *data, size_t size, size_t max_size, uint64_t *random)
{
    char line[256] = "";
    size_t at = size > 0 ? next_line(data, size, mutate_random(random, size)) : 0;
    size_t end = mutate_random(random, 2) ? next_line(data, size, at) : at, length = 0;
    if (at == end || mutate_random(random, 2)) {
        const att_setting *row = att_setting_get(mutate_random(random, att_setting_count()));
        snprintf(line, sizeof line, "%s%s = %s\n", at > 0 && data[at - 1] != '\n' ? "\n" : "",
                 row->key, pick_value(row, random));
        length = strlen(line);
    }
    if (size - (end - at) + length > max_size)
        return 0;
    memmove(data + at + length, data + end, size - end);
    memcpy(data + at, line, length);
    return size - (end - at) + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = mutate_seed(seed);
    size_t changed = 0;
    if (mutate_random(&random, 2) == 0)
        changed = change_line(data, size, max_size, &random);
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, max_size);
}
