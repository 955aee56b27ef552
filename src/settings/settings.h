/* Every choice of training, as a plain struct that the library reads. The table in rows.c has one
 * row per member: its key, range, default and help (att_setting in attend.h). The command line, a
 * config file and the metadata of a model all set members through that table, so that they know
 * the same keys and refuse the same values. */
#ifndef ATT_SETTINGS_SETTINGS_H
#define ATT_SETTINGS_SETTINGS_H

#include "attend.h"
#include "base/arena.h"

/* The members of each are in the order of their words in rows.c. */
typedef enum att_task {
    ATT_TASK_PAIRS,     /* from files */
    ATT_TASK_TRANSLATE, /* likewise, with the defaults that suit sentences */
    ATT_TASK_REVERSE,
    ATT_TASK_COPY,
    ATT_TASK_SORT,
    ATT_TASK_CLASSIFY, /* sentences into labels */
    ATT_TASK_LM,       /* a text that goes on */
    ATT_TASK_CAPTION,  /* features of pictures, and captions, from files */
    ATT_TASK_SHAPES,   /* pictures made up */
} att_task;

enum { ATT_TASKS = ATT_TASK_SHAPES + 1 };

/* Those that a text may be split into come first: they keep its spaces and ends of lines. */
typedef enum att_tokens {
    ATT_TOKENS_CHAR,    /* grapheme clusters */
    ATT_TOKENS_WORD,    /* words and punctuation marks */
    ATT_TOKENS_SUBWORD, /* parts of words, learned */
    ATT_TOKENS_BYTE,
    ATT_TOKENS_SPACE, /* whatever stands between spaces */
    ATT_TOKENS_LINE,  /* all of a line, as where it is a label */
} att_tokens;

/* The columns of att_families; its rows are kinds. */
typedef enum att_family_kind {
    ATT_FAMILY_RECURRENT,
    ATT_FAMILY_TRANSFORMER,
    ATT_FAMILY_CONVOLUTION, /* of labels alone */
} att_family_kind;
enum { ATT_FAMILIES = ATT_FAMILY_CONVOLUTION + 1 };

typedef enum att_mechanism {
    ATT_MECHANISM_NONE,  /* the decoder has its start state alone */
    ATT_MECHANISM_FIXED, /* the encoder's last state at every step */
    ATT_MECHANISM_DOT,
    ATT_MECHANISM_SCALED,
    ATT_MECHANISM_GENERAL,
    ATT_MECHANISM_ADDITIVE,
    ATT_MECHANISM_CONCAT,
    ATT_MECHANISM_LOCATION,
    ATT_MECHANISM_LOCAL,    /* a window that the model places itself */
    ATT_MECHANISM_COVERAGE, /* additive, and told what was attended before */
} att_mechanism;

typedef enum att_feed { ATT_FEED_OUTPUT, ATT_FEED_STATE, ATT_FEED_BOTH } att_feed;

typedef enum att_positions {
    ATT_POSITIONS_NONE,
    ATT_POSITIONS_SINUSOIDAL,
    ATT_POSITIONS_LEARNED,
    ATT_POSITIONS_ROTARY, /* turns queries and keys instead of joining embeddings */
} att_positions;

typedef enum att_positions_join { ATT_POSITIONS_ADD, ATT_POSITIONS_CONCAT } att_positions_join;

/* Which layers share the target embedding's table. */
typedef enum att_tie { ATT_TIE_NO, ATT_TIE_OUTPUT, ATT_TIE_ALL } att_tie;

typedef enum att_norm_place { ATT_NORM_BEFORE, ATT_NORM_AFTER, ATT_NORM_NONE } att_norm_place;

typedef enum att_norm_kind { ATT_NORM_LAYER, ATT_NORM_RMS } att_norm_kind;

typedef enum att_between { ATT_BETWEEN_RELU, ATT_BETWEEN_GELU, ATT_BETWEEN_GATED } att_between;

/* What stands for a sentence, and how its tokens are scored where they are attended to. */
typedef enum att_pool_kind {
    ATT_POOL_STOP, /* the vector of a stop token that ends the sentence (handout 004) */
    ATT_POOL_LAST, /* where reading ends */
    ATT_POOL_MEAN,
    ATT_POOL_MAX,
    ATT_POOL_ATTENTION, /* with a learned query */
} att_pool_kind;

typedef enum att_pool_score {
    ATT_POOL_SCORE_DOT,
    ATT_POOL_SCORE_SCALED,
    ATT_POOL_SCORE_ADDITIVE,
} att_pool_score;

typedef enum att_optimiser_kind {
    ATT_OPTIMISER_SGD,
    ATT_OPTIMISER_ADAM,
    ATT_OPTIMISER_ADAMW,
    ATT_OPTIMISER_ADADELTA,
} att_optimiser_kind;

typedef enum att_schedule_kind {
    ATT_SCHEDULE_CONSTANT,
    ATT_SCHEDULE_INVERSE_SQRT,
    ATT_SCHEDULE_COSINE,
    ATT_SCHEDULE_PLATEAU,
} att_schedule_kind;

typedef enum att_best_by {
    ATT_BEST_BY_TOKENS,
    ATT_BEST_BY_LINES,
    ATT_BEST_BY_LOSS,
    ATT_BEST_BY_BLEU, /* measured then alone: it takes the text of the targets */
} att_best_by;

/* Where a value came from; a later one in this list wins over an earlier. */
typedef enum att_origin {
    ATT_FROM_DEFAULT,
    ATT_FROM_MODEL,
    ATT_FROM_CONFIG,
    ATT_FROM_CALLER, /* the command line: att_settings_set() */
} att_origin;

enum { ATT_MOST_SETTINGS = 128 };

/* Members are int64_t (numbers), double (reals), int (words: the enums above), bool (flags) and
 * const char * (texts: NULL where not given). Their help is in rows.c. */
struct att_settings {
    int task;

    /* data from files */
    const char *train, *source, *target;
    const char *valid, *valid_source, *valid_target;
    const char *align;
    double hold_out;

    /* pictures */
    const char *features, *valid_features, *features_scale;
    int64_t picture_rows, picture_columns, picture_depth; /* 0: not known before the data are */
    int64_t picture_size;                                 /* of those made up */
    int64_t convolutions, channels;
    bool picture_positions, picture_start;

    /* data made up */
    const char *alphabet;
    int64_t least_length, most_length;
    int64_t train_count, valid_count;
    int64_t data_seed;

    /* tokens */
    int source_tokens, target_tokens;
    int tokens; /* where there is one text alone */
    int64_t subwords;
    bool joint, lower;
    int64_t min_count;
    int64_t max_length;
    int64_t chunk;

    /* model */
    int family; /* att_family_kind */
    int64_t layers, width;
    int positions, positions_join;
    int tie;
    double start;

    /* the recurrent family */
    int cell; /* att_cell of tape/ops.h */
    int64_t embed;
    bool bidirectional;
    int attention;
    int normaliser; /* att_normaliser */
    int feed;
    double window;

    /* the Transformer */
    int preset; /* changes defaults, nothing else */
    int64_t decoder_layers, heads, key_heads, feed_forward;
    int norm, norm_kind, activation; /* att_norm_place, att_norm_kind, att_between */
    bool residuals, scale, embed_scale, biases;
    double attention_dropout, embed_dropout;

    /* convolution */
    int64_t least_window, most_window;

    /* labels */
    int pool, pool_score; /* att_pool_kind, att_pool_score */
    int64_t pool_heads;

    /* regularisation and teaching */
    double dropout, word_dropout, label_smoothing;
    double own;
    int64_t own_from;
    double align_weight;

    /* optimiser */
    int optimiser;
    double rate, momentum, beta1, beta2, rho, epsilon, decay, clip;

    /* schedule */
    int schedule;
    int64_t warmup;
    double least_rate, plateau_factor;
    int64_t plateau_patience;
    int64_t epochs, steps;
    int64_t batch, accumulate;

    /* the run */
    int64_t validate_every;
    int best_by;
    int64_t patience, average;
    int64_t seed;
    const char *out, *log, *resume;
    double save_every; /* seconds */

    uint8_t origin[ATT_MOST_SETTINGS]; /* att_origin of each row */
    att_arena texts;                   /* holds the texts given */
};

/* The kind of model that the task asks for. */
att_kind att_settings_kind(const att_settings *settings);

/* Whether models of a kind read tokens: whether they have a source vocabulary. */
bool att_kind_reads(att_kind kind);

/* Sets a key as att_settings_set() does, from elsewhere; a value that came from a place further
 * down in att_origin stays. */
att_status att_settings_put(att_settings *settings, const char *key, const char *value,
                            att_origin origin, att_error *err);

/* The same in two steps, for many keys at once: defaults that depend on what was set are given by
 * the second. */
att_status att_settings_put_unsettled(att_settings *settings, const char *key, const char *value,
                                      att_origin origin, att_error *err);
void att_settings_settle(att_settings *settings);

/* Whether the user has set a key, by a config file or as the caller. */
bool att_settings_given(const att_settings *settings, const char *key);

/* Whether the task's pairs come from files, rather than being made up. */
bool att_settings_from_files(const att_settings *settings);

/* The config file `text`; `name` stands for it in errors. */
att_status att_settings_read(att_settings *settings, const char *text, size_t length,
                             const char *name, att_error *err);

/* All settings that belong to the model and how it came to be (not where this run writes), as a
 * JSON object; and back, into settings that keep whatever a config file or the caller has set.
 * `name` stands for the model in errors. Keys that this version does not know are refused. */
att_status att_settings_to_json(att_text *out, const att_settings *settings, att_error *err);
att_status att_settings_from_json(att_settings *settings, const char *json, const char *name,
                                  att_error *err);

#endif
