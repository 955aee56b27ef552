/* How many validation pairs have a source that is also trained on. Sources are compared by the hash
 * of their text (att_corpus.source_hashes): unknown tokens make different texts the same ids. A
 * collision, one in 2^64 pairs, would hardly change the report. */
#ifndef ATT_DATA_KNOWN_SOURCES_H
#define ATT_DATA_KNOWN_SOURCES_H

#include "attend.h"

typedef struct att_known_source {
    int64_t hash;
    int64_t pairs; /* of validation */
    bool found;    /* in the training data */
} att_known_source;

typedef struct att_known_sources {
    att_known_source *items; /* sorted by hash as soon as training sources are looked for */
    size_t count, capacity;
    bool is_sorted;
} att_known_sources;

/* Adds the sources of validation pairs; all of them before the first training source. */
att_status att_known_sources_add(att_known_sources *all, const int64_t *hashes, int64_t count,
                                 att_error *err);

/* Looks for training sources among them. */
void att_known_sources_find(att_known_sources *all, const int64_t *hashes, int64_t count);

/* The number of validation pairs whose source was found. */
int64_t att_known_sources_found(const att_known_sources *all);
void att_known_sources_free(att_known_sources *all);

#endif
