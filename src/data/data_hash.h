/* The hash by which a resumed run finds that its data have changed. */
#ifndef ATT_DATA_DATA_HASH_H
#define ATT_DATA_DATA_HASH_H

#include "data/data.h"
#include "data/token_corpus.h"

/* A hash of the vocabularies, tokens, alignments and image features. A token file has the hash that
 * its text would have: a run may change from one to the other. */
int64_t att_data_hash(const att_data *data);

/* The same of one corpus, without vocabularies: by which processes that share an evaluation find
 * that their data differ. */
int64_t att_corpus_hash(const att_corpus *corpus);

/* Computes it for a token file that is being written: of the vocabularies of `data` and the
 * sections of `file`, and of the mix where an epoch does not read every file once. */
att_status att_data_hash_file(int64_t *out, const att_data *data, const att_token_file *file,
                              const att_mix *mix, att_error *err);

#endif
