/* A batch with each of its pairs twice, for the consistency loss: with other dropout, the same pair
 * has two predictions. */
#ifndef ATT_MODEL_BATCH_TWICE_H
#define ATT_MODEL_BATCH_TWICE_H

#include "data/batch.h"
#include "tape/tape.h"

/* Row B + r is a copy of row r, with a pair index of its own, so that words are dropped anew; the
 * tape, which must have begun, knows of it (att_tape_set_rows_twice). In the memory of the tape;
 * NULL on failure, which the tape keeps. */
const att_batch *att_batch_twice(att_tape *tape, const att_batch *batch);

#endif
