/* Models that sort, asked as any other: a decoder that takes one step, or several that decide
 * together. */
#ifndef ATT_DECODE_JUDGE_H
#define ATT_DECODE_JUDGE_H

#include "decode/ensemble.h"

typedef struct att_judge att_judge;

/* All models are borrowed. One that does not sort is ATT_BAD_INPUT. */
att_status att_judge_new(att_judge **out, att_model *model, att_model *const *with,
                         size_t with_count, att_error *err);
void att_judge_free(att_judge *judge);

/* What was found, lent until the next call. */
typedef struct att_judged_rows {
    int64_t labels;
    const float *log_probs; /* [rows,labels] */
    int64_t heads, length;
    const float *weights; /* [rows,heads,length], or NULL: not asked for, or none */
} att_judged_rows;

att_status att_judge_run(att_judge *judge, const att_sources *sources, bool want_weights,
                         att_judged_rows *out, att_error *err);

#endif
