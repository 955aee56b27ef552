/* Sequences of different lengths packed for step-by-step work, as in PyTorch's PackedSequence.
 *
 * The sequences of a batch are ranked by length, longest first. Step 0 of all sequences comes
 * first, then step 1 of those that have one, and so on. So a step is a block of rows without gaps,
 * padding is never computed, and a product over all steps is one matrix product. Reading in reverse
 * only changes which row a step is copied from and to. */
#ifndef ATT_TAPE_PACKED_SEQUENCE_H
#define ATT_TAPE_PACKED_SEQUENCE_H

#include "tape/op_util.h"

typedef struct att_packed_sequence {
    int64_t batch, max_time; /* B and T of the padded batch [B,T,…] */
    int64_t steps;           /* length of the longest sequence */
    int64_t *batch_row;      /* [batch] by rank: row of the batch */
    int64_t *length;         /* [batch] by rank: descending */
    int64_t *step_offset;    /* [steps + 1] packed row of rank 0 at each step; the last entry is the
                                number of packed rows */
    bool reverse;
} att_packed_sequence;

/* Ranks the rows of x [B,T,…]. lengths [B], or NULL: all T. False on failure. */
bool att_packed_sequence_make(att_tape *tape, att_packed_sequence *sequence, const att_node *x,
                              const int64_t *lengths, bool reverse);

/* The number of sequences that have step s. */
static inline int64_t att_packed_sequence_batch_size(const att_packed_sequence *sequence, int64_t s)
{
    return s < sequence->steps ? sequence->step_offset[s + 1] - sequence->step_offset[s] : 0;
}

/* The number of packed rows. */
static inline int64_t att_packed_sequence_total(const att_packed_sequence *sequence)
{
    return sequence->step_offset[sequence->steps];
}

/* The row of the padded batch [B T] that step s of a rank stands for. */
static inline int64_t att_packed_sequence_index(const att_packed_sequence *sequence, int64_t s,
                                                int64_t rank)
{
    int64_t t = sequence->reverse ? sequence->length[rank] - 1 - s : s;
    return sequence->batch_row[rank] * sequence->max_time + t;
}

/* Calls body(context, first, past) in parallel for ranges of ranks that have about the same number
 * of steps each. `work_per_step` is in multiply-adds; little work stays on one thread. */
bool att_packed_sequence_parallel_for(att_tape *tape, const att_packed_sequence *sequence,
                                      double work_per_step,
                                      void (*body)(void *context, int64_t first, int64_t past),
                                      void *context);

/* Rows of the padded x [B,T,width] in packed order. */
void att_packed_sequence_gather(const att_packed_sequence *sequence, float *packed, const float *x,
                                int64_t width);

/* The reverse: adds to x where `add`; else overwrites x and sets padding to zero. */
void att_packed_sequence_scatter(const att_packed_sequence *sequence, float *x, const float *packed,
                                 int64_t width, bool add);

#endif
