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

enum { ATT_TASK_COUNT = ATT_TASK_SHAPES + 1 };

/* The columns of att_architectures; its rows are kinds. */
typedef enum att_architecture_kind {
    ATT_ARCHITECTURE_RNN,
    ATT_ARCHITECTURE_TRANSFORMER,
    ATT_ARCHITECTURE_CNN, /* of labels alone */
} att_architecture_kind;
enum { ATT_ARCHITECTURE_COUNT = ATT_ARCHITECTURE_CNN + 1 };

typedef enum att_attention_mechanism {
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
} att_attention_mechanism;

typedef enum att_attention_context {
    ATT_ATTENTION_CONTEXT_OUTPUT,
    ATT_ATTENTION_CONTEXT_STATE,
    ATT_ATTENTION_CONTEXT_BOTH
} att_attention_context;

typedef enum att_positions {
    ATT_POSITIONS_NONE,
    ATT_POSITIONS_SINUSOIDAL,
    ATT_POSITIONS_LEARNED,
    ATT_POSITIONS_ROTARY, /* turns queries and keys instead of joining embeddings */
} att_positions;

typedef enum att_positions_join { ATT_POSITIONS_ADD, ATT_POSITIONS_CONCAT } att_positions_join;

/* Which layers share the target embedding's table. */
typedef enum att_tie_embeddings { ATT_TIE_NO, ATT_TIE_OUTPUT, ATT_TIE_ALL } att_tie_embeddings;

typedef enum att_norm_position { ATT_NORM_PRE, ATT_NORM_POST, ATT_NORM_NONE } att_norm_position;

typedef enum att_norm_kind { ATT_NORM_LAYER, ATT_NORM_RMS } att_norm_kind;

typedef enum att_ffn_activation { ATT_FFN_RELU, ATT_FFN_GELU, ATT_FFN_SWIGLU } att_ffn_activation;

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

typedef enum att_optimizer_kind {
    ATT_OPTIMIZER_SGD,
    ATT_OPTIMIZER_ADAM,
    ATT_OPTIMIZER_ADAMW,
    ATT_OPTIMIZER_ADADELTA,
} att_optimizer_kind;

typedef enum att_schedule_kind {
    ATT_SCHEDULE_CONSTANT,
    ATT_SCHEDULE_INVERSE_SQRT,
    ATT_SCHEDULE_COSINE,
    ATT_SCHEDULE_PLATEAU,
} att_schedule_kind;

typedef enum att_best_metric {
    ATT_BEST_METRIC_TOKENS,
    ATT_BEST_METRIC_LINES,
    ATT_BEST_METRIC_LOSS,
    ATT_BEST_METRIC_BLEU, /* measured then alone: it takes the text of the targets */
} att_best_metric;

/* Where a value came from; a later one in this list wins over an earlier. */
typedef enum att_setting_origin {
    ATT_FROM_DEFAULT,
    ATT_FROM_MODEL,
    ATT_FROM_CONFIG,
    ATT_FROM_CALLER, /* the command line: att_settings_set() */
} att_setting_origin;

enum { ATT_MAX_SETTINGS = 128 };

/* Members are int64_t (numbers), double (reals), int (words: the enums above), bool (flags) and
 * const char * (texts: NULL where not given). Their help is in rows.c. */
struct att_settings {
    int task;

    /* data from files */
    const char *train, *source, *target;
    const char *valid, *valid_source, *valid_target;
    const char *guided_alignment;
    double valid_fraction;

    /* pictures */
    const char *features, *valid_features, *features_scale;
    int64_t image_rows, image_columns, image_depth; /* 0: not known before the data are */
    int64_t image_size;                             /* of those made up */
    int64_t conv_layers, conv_channels;
    bool image_positions, init_from_image;

    /* data made up */
    const char *alphabet;
    int64_t min_string_length, max_string_length;
    int64_t train_count, valid_count;
    int64_t data_seed;

    /* tokens */
    int source_tokens, target_tokens;
    int tokens; /* where there is one text alone */
    int64_t bpe_merges;
    bool joint, lowercase;
    int64_t min_count;
    int64_t max_length;
    int64_t sequence_length;

    /* model */
    int architecture; /* att_architecture_kind */
    int64_t layers, hidden_size;
    int positions, positions_join;
    int tie_embeddings;
    double init_range;

    /* the recurrent family */
    int rnn_cell; /* att_cell of tape/ops.h */
    int64_t embedding_size;
    bool bidirectional;
    int attention;
    int normalizer; /* att_normalizer */
    int attention_context;
    double attention_window;

    /* the Transformer */
    int preset; /* changes defaults, nothing else */
    int64_t decoder_layers, heads, kv_heads, ffn_size;
    int norm, norm_kind, activation; /* att_norm_position, att_norm_kind, att_ffn_activation */
    bool residuals, attention_scale, embedding_scale, biases;
    double attention_dropout, embedding_dropout;

    /* convolution */
    int64_t min_window, max_window;

    /* labels */
    int pool, pool_score; /* att_pool_kind, att_pool_score */
    int64_t pool_heads;

    /* regularisation and teaching */
    double dropout, word_dropout, label_smoothing;
    double scheduled_sampling;
    int64_t scheduled_sampling_start;
    double guided_alignment_weight;

    /* optimiser */
    int optimizer;
    double learning_rate, momentum, beta1, beta2, rho, epsilon, weight_decay, clip_norm;

    /* schedule */
    int schedule;
    int64_t warmup;
    double min_learning_rate, plateau_factor;
    int64_t plateau_patience;
    int64_t epochs, steps;
    int64_t batch_tokens, accumulate;

    /* the run */
    int64_t validate_every;
    int best_metric;
    int64_t patience, average_checkpoints;
    int64_t seed;
    const char *out, *log, *resume;
    double save_every; /* seconds */

    uint8_t origin[ATT_MAX_SETTINGS]; /* att_origin of each row */
    att_arena strings;                /* holds the texts given */
};

/* The kind of model that the task asks for. */
att_model_type att_settings_model_type(const att_settings *settings);

/* Whether models of a kind read tokens: whether they have a source vocabulary. */
bool att_model_type_has_source_vocab(att_model_type kind);

/* Sets a key as att_settings_set() does, from elsewhere; a value that came from a place further
 * down in att_origin stays. */
att_status att_settings_set_from(att_settings *settings, const char *key, const char *value,
                                 att_setting_origin origin, att_error *err);

/* The same in two steps, for many keys at once: defaults that depend on what was set are given by
 * the second. */
att_status att_settings_set_deferred(att_settings *settings, const char *key, const char *value,
                                     att_setting_origin origin, att_error *err);
void att_settings_apply_defaults(att_settings *settings);

/* Whether the user has set a key, by a config file or as the caller. */
bool att_settings_is_given(const att_settings *settings, const char *key);

/* Whether the task's pairs come from files, rather than being made up. */
bool att_settings_uses_files(const att_settings *settings);

/* The config file `text`; `name` stands for it in errors. */
att_status att_settings_parse(att_settings *settings, const char *text, size_t length,
                              const char *name, att_error *err);

/* All settings that belong to the model and how it came to be (not where this run writes), as a
 * JSON object; and back, into settings that keep whatever a config file or the caller has set.
 * `name` stands for the model in errors. Keys that this version does not know are refused. */
att_status att_settings_to_json(att_string *out, const att_settings *settings, att_error *err);
att_status att_settings_from_json(att_settings *settings, const char *json, const char *name,
                                  att_error *err);

#endif
