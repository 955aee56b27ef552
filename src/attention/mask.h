/* Which keys a query may attend. Masks combine: every mask given must allow a key. A masked key is
 * skipped by everything that follows, so NaN or infinity there cannot leak. */
#ifndef ATT_ATTENTION_MASK_H
#define ATT_ATTENTION_MASK_H

#include "attention/problem.h"

/* The keys that lengths, packing, causality and window leave to one query, and the position of the
 * query. Positions count from the start of the query's sequence. */
typedef struct att_key_range {
    int64_t begin; /* keys begin … end-1; empty where end <= begin */
    int64_t end;
    int64_t key_start;      /* key j has position j - key_start */
    int64_t query_position; /* with the offset added */
} att_key_range;

typedef struct att_mask {
    const att_problem *problem;
    att_block *blocks; /* a copy sorted by query, then key; NULL where there is no block list */
} att_mask;

/* Checks the mask options of a problem whose sizes are known. */
att_status att_mask_check(const att_problem *problem, att_error *err);

/* The number of positions that keys can have: S, or the length of the longest packed sequence. */
int64_t att_mask_positions(const att_problem *problem);

/* Release with att_mask_free(). */
att_status att_mask_new(att_mask *out, const att_problem *problem, att_error *err);
void att_mask_free(att_mask *mask);

att_key_range att_mask_key_range(const att_problem *problem, int64_t b, int64_t i);

/* Writes the keys of `range` that query (b, h, i) may attend, ascending, into keys[S]; returns
 * their number. */
int64_t att_mask_keys(const att_mask *mask, att_key_range range, int64_t b, int64_t h, int64_t i,
                      int64_t *keys);

#endif
