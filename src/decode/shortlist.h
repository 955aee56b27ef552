/* Lexical shortlists (att_shortlist in attend.h): the next tokens that decoding considers for a
 * source. */
#ifndef ATT_DECODE_SHORTLIST_H
#define ATT_DECODE_SHORTLIST_H

#include "data/lexicon.h"
#include "model/model.h"

struct att_shortlist {
    const att_model *model;
    att_lexicon lexicon;
    int64_t frequent;   /* tokens that every source has: the first of the target vocabulary */
    int32_t *same_text; /* [source vocabulary] the target token that is written like it, or -1 */
};

/* Refuses a shortlist for a model with other vocabularies than that it was made for, and for one
 * that copies. */
att_status att_shortlist_check(const att_shortlist *shortlist, const att_model *model,
                               att_error *err);

/* The lexicon of a shortlist's file, with the `best` most probable target tokens of each source
 * token. */
att_status att_shortlist_read(att_lexicon *out, const struct att_text_file *file,
                              const att_vocab *source_vocab, const att_vocab *target_vocab,
                              int64_t best, att_error *err);

/* Tokens of one source while they are collected; start from {0}. */
typedef struct att_token_set {
    bool *has; /* [vocabulary] */
    int64_t vocabulary;
    att_ids ids;
} att_token_set;

/* The number of pairs of tokens in its lexicon. */
int64_t att_shortlist_entries(const att_shortlist *shortlist);

void att_token_set_free(att_token_set *set);

/* Replaces the set by the candidates of a source, rising: the end and unknown tokens, the frequent
 * ones, those of the lexicon, those written like a source token, and `more`. */
att_status att_shortlist_collect(const att_shortlist *shortlist, att_token_set *set,
                                 const int32_t *source, int64_t length, const int32_t *more,
                                 size_t more_count, att_error *err);

#endif
