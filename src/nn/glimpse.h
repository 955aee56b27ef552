/* A decoder's look at the source: attention with the parameters of its score, its window or its
 * memory of what was looked at before. */
#ifndef ATT_NN_GLIMPSE_H
#define ATT_NN_GLIMPSE_H

#include "nn/build.h"
#include "nn/seats.h"
#include "settings/settings.h"
#include "tape/ops.h"

typedef struct att_glimpse {
    att_mechanism kind;
    att_normaliser normaliser;
    int64_t width;  /* N, of states, keys and values */
    int key;        /* [N,N] makes keys of values, once; or ATT_NO_PARAM: they are the same */
    int w, u, b, v; /* of the score, where it has them */
    int place_w;    /* [N,N] and */
    int place_v;    /* [N,1]: where the window is, local attention alone */
    int covered;    /* [1] weight of what was attended before, coverage alone */
    float window;   /* deviation of the window, in source tokens */
    int64_t reach;  /* source positions that it knows; 0: any */
    bool teaches;   /* weights are taught: they are nodes of their own */
} att_glimpse;

/* Adds its parameters, named "attention.…". A mechanism without scores has none. */
void att_glimpse_build(att_glimpse *out, att_builder *builder, const att_settings *settings);

/* What is looked at. */
typedef struct att_memory {
    att_node *values;       /* [B,S,N] */
    att_node *keys;         /* [B,S,N] */
    const int64_t *lengths; /* [B] */
    const att_seats *seats; /* which item each row looks at; NULL: row b at item b */
} att_memory;

/* The keys for values. */
att_node *att_glimpse_keys(const att_glimpse *glimpse, att_tape *tape, att_node *values);

/* What a look gives and takes along. */
typedef struct att_look {
    bool want_weights;
    att_node *covered; /* in, out: [rows,S] weights so far; coverage alone, NULL: none */
    att_node *context; /* out: [rows,T,N] */
    att_node
        *weights; /* out: [rows,T,S], with a gradient where they are taught; NULL if unwanted */
} att_look;

/* Looks with queries [rows,T,N], one after the other. Rows that share a memory have one each. */
void att_glimpse_run(const att_glimpse *glimpse, att_tape *tape, const att_memory *memory,
                     att_node *query, att_look *look);

#endif
