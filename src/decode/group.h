/* The hypotheses of one source: those that go on, those that have ended, and how one step turns the
 * former into the latter. */
#ifndef ATT_DECODE_GROUP_H
#define ATT_DECODE_GROUP_H

#include "decode/rank.h"
#include "decode/search.h"
#include "decode/top.h"

/* One that goes on. */
typedef struct att_live {
    int64_t link; /* its last */
    int64_t row;  /* of the step before (of the start: the source) that it goes on from */
    int32_t token;
    int32_t sample; /* which of several draws it is */
    double sum;
} att_live;

/* One that has ended; it never changes. */
typedef struct att_ended {
    int64_t link;
    double sum, score;
    bool cut;
} att_ended;

typedef struct att_group {
    int64_t source;  /* row of the batch */
    int64_t length;  /* its tokens */
    uint64_t number; /* under which draws are made */
    att_forced forced;
    int32_t after;       /* the token that it begins after */
    int64_t least, most; /* tokens before the end, and with it */
    int64_t first;       /* row of its first hypothesis in the step */

    int64_t rows;          /* hypotheses that go on */
    att_live *live;        /* [width] */
    att_live *next;        /* [width] those of the step after */
    int64_t ended_count;   /* the best of all that ended, in order */
    att_ended *ended;      /* [best] */
    int64_t ended_ever;    /* all that ended */
    att_top top;           /* the memory to look for candidates in */
    att_candidate *drawn;  /* [width] where tokens are drawn */
    att_candidate *chosen; /* [chosen_count] candidates for the next tokens, the best first */
    int64_t chosen_count;
    int32_t *path; /* tokens of one hypothesis, and then of what it may not repeat */
} att_group;

/* What all groups of a search share during a step. */
typedef struct att_stage {
    const att_decoding *how;
    att_trail *trail;
    int64_t width; /* hypotheses of a source at a time */
    int64_t best;  /* kept of those that end */
    int64_t position;
    const float *log_probs; /* [rows,V] */
    int64_t vocabulary;
    int64_t look;   /* the trail's number of row 0 */
    int32_t end;    /* the token that ends a hypothesis */
    bool known;     /* an unknown token never follows */
    float *weights; /* [rows,V] scratch, where tokens are drawn */
} att_stage;

/* Sets limits and the hypotheses to begin with; memory and `source`, `length`, `number` and
 * `forced` are set. */
void att_group_begin(att_group *group, const att_stage *stage);

/* Finds the candidates for the next tokens: reads what groups share, writes what is the group's. */
void att_group_choose(att_group *group, const att_stage *stage);

/* Lets the best of them go on or end. */
att_status att_group_settle(att_group *group, const att_stage *stage, att_error *err);

#endif
