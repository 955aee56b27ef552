/* The search that completes a prompt with a language model: its parts, which att_model_complete()
 * and the inspection of beam searches share. */
#ifndef ATT_DECODE_COMPLETE_H
#define ATT_DECODE_COMPLETE_H

#include "decode/beam_search.h"

/* Appends the tokens of a prompt; of one without tokens, the token that texts start with. */
att_status att_prompt_encode(att_ids *ids, const att_model *model, const char *text, size_t length,
                             att_error *err);

/* The options of a search for `new_tokens` tokens after `ids`. Length limits count the forced
 * tokens of the prompt; only texts that start with BOS have an end. */
att_decoding_options att_completion_decoding(const att_decoding_options *options,
                                             const att_vocab *vocab, const att_ids *ids,
                                             int64_t new_tokens);

/* Feeds the first token; the others are forced. */
typedef struct att_completion_batch {
    att_sources nothing;
    att_forced_tokens forced;
    att_search_batch batch;
} att_completion_batch;

/* Fills *out, which has pointers into itself. The vocabulary and the ids must outlive it. */
void att_completion_batch_fill(att_completion_batch *out, const att_vocab *vocab,
                               const att_ids *ids);

#endif
