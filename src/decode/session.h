/* Sessions: step-wise decoding with one model or an ensemble (att_session in attend.h). Beam
 * search, classification and teacher-forced evaluation run on the calls declared here, which trust
 * their arguments; session_api.c checks those of a user.
 *
 * In an ensemble the probability of a token is the mean over the models. */
#ifndef ATT_DECODE_SESSION_H
#define ATT_DECODE_SESSION_H

#include "model/model.h"

struct att_session {
    const att_model *model;      /* the first */
    size_t count;                /* models */
    int64_t vocab_size;          /* of the log-probabilities: for models that copy, since the start
                                    the extended vocabulary of the sources */
    att_decoder **decoders;      /* [count] */
    att_decoder_output *outputs; /* [count] */
    float *averaged;             /* [rows,V], for several models */
    float *copied;               /* [rows,S], for several models that copy */
    size_t averaged_capacity, copied_capacity; /* floats in them */

    /* For session_api.c: to check arguments and to describe the sources. */
    bool want_attention, want_hidden;
    int32_t start_token;
    int64_t max_source_length; /* 0: no limit */
    int64_t rows;              /* of the step before; at the start, the sources; 0: not started */
    int64_t sources, source_length;
    int32_t *source_ids;     /* [sources,source_length]; NULL where sources are not tokens */
    int64_t *source_lengths; /* [sources] */
    att_ids copy_ids;        /* [sources,source_length] for models that copy; else none */
    att_string copy_words;   /* the tokens that sources add, each ended by a zero byte */
    att_ids copy_counts;     /* [sources] their number */
    att_tokenizer_state tokenizer;
    att_session_output output;
};

/* Whether models can decode together: ATT_BAD_INPUT where types or vocabularies differ, or only
 * some of them copy. */
att_status att_ensemble_check(const att_model *model, att_model *const *ensemble, size_t count,
                              att_error *err);

/* Whether one of them has character features, so that the data must keep the words of sources. */
bool att_ensemble_reads_words(const att_model *model, att_model *const *ensemble, size_t count);

/* Names model `index`, from 0, in an error of one model of an ensemble. */
att_status att_ensemble_error(att_status status, size_t index, att_error *err);

/* As att_session_new(), for a model of any type, classifiers included. */
att_status att_session_open(att_session **out, const att_model *model, att_model *const *ensemble,
                            size_t ensemble_count, att_error *err);

/* Encodes sources, which are needed during the call only; see att_decoder_start(). */
att_status att_session_start(att_session *session, const att_sources *sources, bool want_attention,
                             att_error *err);

/* One step of all models; see att_decoder_step(). Attention is that of the first model that has
 * any, hidden states are those of the first model. */
att_status att_session_advance(att_session *session, int64_t rows, const int32_t *tokens,
                               const int64_t *order, att_decoder_output *out, att_error *err);

/* The size of the extended vocabulary of one source: its ids are below. */
int64_t att_session_extended_size(const att_session *session, int64_t source);

/* The part of copying, from 0 to 1, in the probability of a token that row `row` of a step of the
 * source chose. */
float att_session_copied(const att_session *session, const att_decoder_output *out, int64_t row,
                         int64_t source, int32_t token);

/* The token after which a language model starts a text without a prompt. */
att_status att_lm_start_token(int32_t *out, const att_vocab *vocab, att_error *err);

#endif
