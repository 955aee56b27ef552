/* The lattice of a linear-chain CRF: forward-backward and the best path, for the operation of the
 * tape and for decoding. reference/crf.h has the formula.
 *
 * Probabilities are computed in double precision, scaled to a sum of 1 at each step (Rabiner 1989):
 * a step is a matrix product with exp(transitions), without logarithms. Sums run in the order of
 * the labels, so the bits depend on nothing else. */
#ifndef ATT_TAPE_CRF_H
#define ATT_TAPE_CRF_H

#include "tape/tape.h"

typedef struct att_crf_scores {
    int64_t labels;           /* L */
    const float *emissions;   /* [rows,L] */
    const float *transitions; /* [L,L] from the row's label to the column's */
    const float *start, *end; /* [L] */
} att_crf_scores;

typedef struct att_crf_lattice {
    att_crf_scores scores;
    double *transitions, *start, *end;         /* exp(score - largest), in the shapes above */
    double max_transition, max_start, max_end; /* the largest */
    double *emissions;                         /* [rows,L] exp(score - largest of the row) */
    double *forward;                           /* [rows,L] probabilities, scaled */
    double *backward;                          /* [rows,L] likewise; forward * backward is the
                                                  probability of a label */
    double *scale;                             /* [rows] sum of a step before scaling */
} att_crf_lattice;

/* Allocates in the memory of the tape. False on failure, which the tape keeps. */
bool att_crf_lattice_init(att_crf_lattice *out, att_tape *tape, const att_crf_scores *scores,
                          int64_t rows);

/* Runs the forward recursion over rows first … first + length - 1 (at least 1) and returns the
 * logarithm of the partition function; and the backward recursion, which needs the forward one. */
double att_crf_lattice_forward(att_crf_lattice *lattice, int64_t first, int64_t length);
void att_crf_lattice_backward(att_crf_lattice *lattice, int64_t first, int64_t length);

/* The score of a path of labels. */
double att_crf_path_score(const att_crf_scores *scores, int64_t first, int64_t length,
                          const int32_t *path);

/* The path with the largest score (Viterbi), the first of equals at each step. `best` [2,L] and
 * `from` [length,L] are working memory. */
void att_crf_best_path(int32_t *path, const att_crf_scores *scores, int64_t first, int64_t length,
                       double *best, int32_t *from);

#endif
