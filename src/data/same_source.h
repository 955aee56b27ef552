/* Pairs of a corpus that have the same source: their targets are references of each other. */
#ifndef ATT_DATA_SAME_SOURCE_H
#define ATT_DATA_SAME_SOURCE_H

#include "data/corpus.h"

/* Fills corpus->same_source and stats.several_targets by the hash of each source's text, hashes
 * [pairs]: the tokens of two sources may be the same, unknown ones, where the text differs. */
att_status att_corpus_link_sources(att_corpus *corpus, const int64_t *hashes, att_error *err);

#endif
