/* Shape rules as text. A rule such as "H|1,A,Kq" is matched against a tensor; the first tensor that
 * uses a letter defines its size, every later one must agree. Error messages quote the rule. */
#ifndef ATT_ATTENTION_SHAPE_H
#define ATT_ATTENTION_SHAPE_H

#include "attend.h"

typedef enum att_dim {
    ATT_DIM_B,  /* batch */
    ATT_DIM_T,  /* queries */
    ATT_DIM_S,  /* keys */
    ATT_DIM_H,  /* query heads */
    ATT_DIM_G,  /* key/value heads */
    ATT_DIM_KQ, /* width of a query */
    ATT_DIM_KK, /* width of a key */
    ATT_DIM_M,  /* width of a value */
    ATT_DIM_A,  /* hidden width of the additive score */
    ATT_DIM_C,  /* Kq + Kk */
    ATT_DIM_P,  /* positions a key can have: S, or the length of the longest packed sequence */
    ATT_DIM_R,  /* width of the relative table, 2R+1 */
    ATT_DIM_COUNT
} att_dim;

/* The sizes known so far, and for messages the tensor that defined each. */
typedef struct att_shape_bindings {
    struct {
        bool known;
        int64_t size;
        const char *name; /* of the tensor */
        const att_tensor *tensor;
    } dim[ATT_DIM_COUNT];
} att_shape_bindings;

/* Matches `tensor` against `rule`: letters separated by commas; "X|1" also accepts 1, ">=X" accepts
 * larger sizes. `score` is the name of the score, for messages. */
att_status att_shape_match(att_shape_bindings *shapes, const char *name, const att_tensor *tensor,
                           const char *rule, const char *score, att_error *err);

/* Defines the size of a letter; messages name `tensor` as its source. */
void att_shape_set(att_shape_bindings *shapes, att_dim dim, int64_t size, const char *name,
                   const att_tensor *tensor);

/* The dtype must be float32 or float64, with `half` also float16 or bfloat16. */
att_status att_shape_check_dtype(const char *name, const att_tensor *tensor, bool half,
                                 att_error *err);

/* A tensor that results are written to must not be a broadcast view. */
att_status att_shape_writable(const char *name, const att_tensor *tensor, att_error *err);

/* Two tensors that results are written to must not share memory. Refuses those that certainly do;
 * views with gaps may be interleaved, as those of the parts of one array. */
att_status att_shape_disjoint(const char *name, const att_tensor *tensor, const char *other_name,
                              const att_tensor *other, att_error *err);

/* `tensor` must have exactly the shape of `like`. */
att_status att_shape_same(const char *name, const att_tensor *tensor, const char *like_name,
                          const att_tensor *like, att_error *err);

#endif
