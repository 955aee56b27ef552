/* A workspace of exactly the size that att_attention_workspace() returns for a scene, not aligned,
 * with a fence on both sides. */
#ifndef TESTS_ATTENTION_FENCED_WORKSPACE_H
#define TESTS_ATTENTION_FENCED_WORKSPACE_H

#include "fused_scene.h"

enum { FENCE_BYTE = 0x77, FENCE_AFTER = 64 };

typedef struct fenced_workspace {
    unsigned char *block;
    void *room;
    size_t size;
} fenced_workspace;

/* For the number of threads that is set. */
static inline void workspace_open(fenced_workspace *w, const scene *s, bool backward)
{
    w->size = att_attention_workspace(&s->options, &s->in, backward);
    assert_true(w->size > 0);
    w->block = malloc(w->size + 1 + FENCE_AFTER);
    memset(w->block, FENCE_BYTE, w->size + 1 + FENCE_AFTER);
    w->room = w->block + 1;
}

static inline void workspace_close(fenced_workspace *w)
{
    assert_int_equal(w->block[0], FENCE_BYTE);
    for (size_t n = w->size + 1; n < w->size + 1 + FENCE_AFTER; n++)
        assert_int_equal(w->block[n], FENCE_BYTE);
    free(w->block);
}

#endif
