/* A corpus whose tokens stay in a token file (token_file.h): a part of them is in memory at a time.
 * An epoch is the files that were prepared, mixed by their weights (mix.h); indices are those of
 * the epoch. */
#ifndef ATT_DATA_TOKEN_CORPUS_H
#define ATT_DATA_TOKEN_CORPUS_H

#include "data/mix.h"
#include "data/output_length.h"
#include "data/token_file.h"

typedef struct att_token_corpus {
    att_token_file *file; /* owned */
    att_token_split split;
    att_mix mix;        /* owned */
    int64_t max_length; /* of a side of a pair, without end token */
    int64_t shortest;   /* the least, over pairs, of the longer side, end token included */
    att_output_length output_length;
    int64_t data_hash; /* att_data_hash() of the dataset */
} att_token_corpus;

void att_token_corpus_free(att_token_corpus *stored);

/* Reads `count` tokens of a text from `begin` on. */
att_status att_token_corpus_read(const att_token_corpus *stored, int64_t epoch, int64_t begin,
                                 int64_t count, int32_t *ids, att_error *err);

/* Pairs in memory, with memory that grows as it is needed; start from {0}. */
typedef struct att_loaded_pairs {
    int64_t pairs;
    att_sequences source, target;
    size_t pair_capacity, source_capacity, target_capacity;
} att_loaded_pairs;

void att_loaded_pairs_free(att_loaded_pairs *loaded);

/* Appends pairs [begin, begin + count) of an epoch; or only their offsets, for
 * their lengths. No pair is longer than max_length. */
att_status att_token_corpus_load(const att_token_corpus *stored, int64_t epoch, int64_t begin,
                                 int64_t count, bool with_ids, att_loaded_pairs *to,
                                 att_error *err);

#endif
