/* Token ids: the numbers that every vocabulary reserves, and a growing list of ids. */
#ifndef ATT_TEXT_IDS_H
#define ATT_TEXT_IDS_H

#include "attend.h"

/* Ids that every vocabulary has; its own tokens follow. */
enum {
    ATT_ID_PAD = -1,  /* padding: after the end of a sequence in a batch */
    ATT_ID_UNK = 0,   /* unknown: any token that the vocabulary lacks */
    ATT_ID_BOS = 1,   /* beginning of sequence */
    ATT_ID_EOS = 2,   /* end of sequence */
    ATT_ID_FIRST = 3, /* the first token of the vocabulary's own */
};

/* A growing list of token ids; start from {0}. */
typedef struct att_ids {
    int32_t *items; /* [count] */
    size_t count;
    size_t capacity;
} att_ids;

/* Appends an id. ATT_NO_MEMORY leaves the list unchanged. */
att_status att_ids_add(att_ids *ids, int32_t id);
void att_ids_free(att_ids *ids);

#endif
