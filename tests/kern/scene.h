/* A scene for a kernel to act in: arrays with known contents, fences around them, and a hash of
 * everything afterwards. Two sets that leave the same hash gave the same bits and touched nothing
 * else. */
#ifndef ATT_TESTS_KERN_SCENE_H
#define ATT_TESTS_KERN_SCENE_H

#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SCENE_ARRAYS = 24 };

typedef enum scene_values {
    SCENE_ORDINARY, /* uniform in [-4, 4) */
    SCENE_WILD,     /* one in four is NaN, infinite, huge, denormal or zero */
    SCENE_ZEROS,    /* of both signs */
} scene_values;

typedef struct scene {
    size_t n;      /* the length of a row */
    uint64_t seed; /* of the contents */
    scene_values values;
    bool at_page_end; /* each array ends where the process may not read; else it is misaligned */

    int count;
    struct scene_array {
        char *map;
        size_t map_size;
        size_t map_usable;
        float *data;
        size_t length;
    } array[SCENE_ARRAYS];
} scene;

static inline float scene_value(const scene *s, uint64_t stream, uint64_t index)
{
    static const float wild[] = { NAN,      INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f,
                                  -1e-42f,  0.0f,     -0.0f,     88.7f, -87.4f, 1e-30f,
                                  -103.97f, 1.0f,     -1.0f,     1e20f };
    if (s->values == SCENE_WILD && att_random_bits(s->seed, stream + 1000, index) % 4 == 0)
        return wild[att_random_bits(s->seed, stream + 2000, index) % 16];
    if (s->values == SCENE_ZEROS)
        return att_random_bits(s->seed, stream, index) % 2 ? 0.0f : -0.0f;
    return 8 * att_random_float(s->seed, stream, index) - 4;
}

/* An array of `length` floats with random contents, fenced in on both sides. */
static inline float *scene_take(scene *s, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct scene_array *a = &s->array[s->count];
    a->map_usable = (length * sizeof(float) + 256 + page - 1) / page * page;
    a->map_size = a->map_usable + page;
    a->map = mmap(NULL, a->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->map == MAP_FAILED || mprotect(a->map + a->map_usable, page, PROT_NONE) != 0)
        return NULL;
    memset(a->map, 0x5a, a->map_usable);
    size_t misaligned = 64 + sizeof(float) * (1 + (size_t)s->count * 3 % 16);
    size_t offset = s->at_page_end ? a->map_usable - length * sizeof(float) : misaligned;
    a->data = (float *)(void *)(a->map + offset);
    a->length = length;
    for (size_t i = 0; i < length; i++)
        a->data[i] = scene_value(s, (uint64_t)s->count, i);
    s->count++;
    return a->data;
}

/* True while no fence was overrun. */
static inline bool scene_fences_stand(const scene *s)
{
    for (int k = 0; k < s->count; k++) {
        const struct scene_array *a = &s->array[k];
        const char *end = (const char *)(a->data + a->length);
        for (const char *p = a->map; p < (const char *)a->data; p++)
            if (*p != 0x5a)
                return false;
        for (const char *p = end; p < a->map + a->map_usable; p++)
            if (*p != 0x5a)
                return false;
    }
    return true;
}

/* FNV-1a over all arrays; every NaN counts as the same. */
static inline uint64_t scene_hash(const scene *s)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int k = 0; k < s->count; k++)
        for (size_t i = 0; i < s->array[k].length; i++) {
            float x = s->array[k].data[i];
            uint32_t bits = 0x7fc00000;
            if (!isnan(x))
                memcpy(&bits, &x, sizeof bits);
            hash = (hash ^ bits) * UINT64_C(0x100000001b3);
        }
    return hash;
}

static inline void scene_clear(scene *s)
{
    for (int k = 0; k < s->count; k++)
        munmap(s->array[k].map, s->array[k].map_size);
    s->count = 0;
}

#endif
