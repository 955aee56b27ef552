/* Where hypotheses came from. Each is a chain of links from its last token to its first, so that
 * those which begin alike share their beginnings, and beams can be dropped, doubled and exchanged
 * without copying. What a row of a step looked at is kept once for all that follow from it. */
#ifndef ATT_DECODE_TRAIL_H
#define ATT_DECODE_TRAIL_H

#include "base/arena.h"
#include "model/model.h"

typedef struct att_link {
    int64_t before; /* the link before; ATT_TRAIL_START: none */
    int64_t look;   /* the row of all rows so far that it was chosen from */
    int32_t token;
    float log_prob;
} att_link;

enum { ATT_TRAIL_START = -1 };

/* Floats in a block that grows. */
typedef struct att_floats {
    float *data;
    size_t capacity;
} att_floats;

/* What is kept of the attention. */
typedef struct att_keep {
    bool look;     /* one row over the source for each token: of `layer` and `head` */
    bool heads;    /* that of every layer and head too */
    int64_t layer; /* from 1; 0: the last */
    int64_t head;  /* from 1; 0: the mean of the layer's */
} att_keep;

typedef struct att_trail {
    att_link *links;
    int64_t count, capacity;
    att_keep keep;
    int64_t source_length; /* S of the batch */
    int64_t rows;          /* looked at so far */
    bool looked;           /* the model has attention */
    int64_t maps, per_layer;
    att_floats looks; /* [rows,S] */
    att_floats heads; /* [rows,maps,S] */
} att_trail;

/* Forgets everything but the memory. */
void att_trail_begin(att_trail *trail, const att_keep *keep, int64_t source_length);
void att_trail_free(att_trail *trail);

/* Keeps what the rows of a step looked at. A layer or head that there is not is ATT_BAD_INPUT. */
att_status att_trail_look(att_trail *trail, const att_decoded *decoded, int64_t rows,
                          att_error *err);

/* Adds a link and gives its number in *out. */
att_status att_trail_add(att_trail *trail, int64_t *out, att_link link, att_error *err);

/* Tokens of the chain that ends in `last`, and a copy of the last `count` of them, in order. */
int64_t att_trail_length(const att_trail *trail, int64_t last);
void att_trail_tokens(const att_trail *trail, int64_t last, int32_t *out, int64_t count);

/* What came out of one source. */
typedef struct att_hypothesis {
    int64_t count;          /* tokens, the end included where it was reached */
    bool cut;               /* the end was not reached */
    double sum;             /* of the log-probabilities */
    double score;           /* what it is ranked by */
    const int32_t *ids;     /* [count] */
    const float *log_probs; /* [count] */
    const float *looks;     /* [count, its source's length]; NULL where not kept, or none */
    const float *heads;     /* [count, maps, its source's length]; likewise */
} att_hypothesis;

/* Copies the chain that ends in `last` out, with the first `length` places of each row looked at;
 * all of it in the arena. */
att_status att_trail_copy(const att_trail *trail, att_hypothesis *out, int64_t last, int64_t length,
                          att_arena *memory, att_error *err);

#endif
