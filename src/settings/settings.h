/* All settings of training, as a plain struct that the library reads. The table in setting_specs.c
 * has one row per member: its key, range, default and help (att_setting in attend.h). The command
 * line, config files and the metadata of a model all set members through that table, so they know
 * the same keys and refuse the same values. */
#ifndef ATT_SETTINGS_SETTINGS_H
#define ATT_SETTINGS_SETTINGS_H

#include "attend.h"
#include "base/arena.h"

/* The values of each enum are in the order of their names in setting_specs.c. */
typedef enum att_task {
    ATT_TASK_PAIRS,     /* sentence pairs from files */
    ATT_TASK_TRANSLATE, /* the same, with defaults for translation */
    ATT_TASK_REVERSE,
    ATT_TASK_COPY,
    ATT_TASK_SORT,
    ATT_TASK_CLASSIFY, /* sentence classification */
    ATT_TASK_TAG,      /* sequence labeling: a label for each token */
    ATT_TASK_LM,       /* language model */
    ATT_TASK_CAPTION,  /* image features and captions from files */
    ATT_TASK_SHAPES,   /* synthetic images with captions */
} att_task;

enum { ATT_TASK_COUNT = ATT_TASK_SHAPES + 1 };

/* How examples stand in a file. */
typedef enum att_data_format {
    ATT_DATA_AUTO, /* guessed from the file */
    ATT_DATA_TSV,
    ATT_DATA_CONLL,
    ATT_DATA_SIGMORPHON, /* source<TAB>target<TAB>tags lines */
    ATT_DATA_SCAN,       /* IN: source OUT: target lines */
    ATT_DATA_CSV,
    ATT_DATA_JSONL,
} att_data_format;

/* The columns of the table att_architectures; its rows are model types. */
typedef enum att_architecture_kind {
    ATT_ARCHITECTURE_RNN,
    ATT_ARCHITECTURE_TRANSFORMER,
    ATT_ARCHITECTURE_CNN, /* classifiers and taggers only */
} att_architecture_kind;
enum { ATT_ARCHITECTURE_COUNT = ATT_ARCHITECTURE_CNN + 1 };

typedef enum att_attention_mechanism {
    ATT_MECHANISM_NONE,  /* the decoder has only its initial state */
    ATT_MECHANISM_FIXED, /* the context is the encoder's last state at every step */
    ATT_MECHANISM_DOT,
    ATT_MECHANISM_SCALED,
    ATT_MECHANISM_GENERAL,
    ATT_MECHANISM_ADDITIVE,
    ATT_MECHANISM_CONCAT,
    ATT_MECHANISM_LOCATION,
    ATT_MECHANISM_LOCAL,    /* a window whose center the model predicts (Luong et al. 2015) */
    ATT_MECHANISM_COVERAGE, /* additive, with the sum of earlier attention weights as an input */
} att_attention_mechanism;

/* The initial state of an RNN decoder, from the final state of the encoder. */
typedef enum att_decoder_init { ATT_DECODER_INIT_COPY, ATT_DECODER_INIT_PROJECT } att_decoder_init;

typedef enum att_attention_context {
    ATT_ATTENTION_CONTEXT_OUTPUT,
    ATT_ATTENTION_CONTEXT_STATE,
    ATT_ATTENTION_CONTEXT_BOTH
} att_attention_context;

typedef enum att_positions {
    ATT_POSITIONS_NONE,
    ATT_POSITIONS_SINUSOIDAL,
    ATT_POSITIONS_LEARNED,
    ATT_POSITIONS_ROTARY, /* RoPE: rotates queries and keys; embeddings are unchanged */
} att_positions;

typedef enum att_positions_join { ATT_POSITIONS_ADD, ATT_POSITIONS_CONCAT } att_positions_join;

/* Which layers share the target embedding table. */
typedef enum att_tie_embeddings { ATT_TIE_NO, ATT_TIE_OUTPUT, ATT_TIE_ALL } att_tie_embeddings;

typedef enum att_norm_position { ATT_NORM_PRE, ATT_NORM_POST, ATT_NORM_NONE } att_norm_position;

typedef enum att_norm_kind { ATT_NORM_LAYER, ATT_NORM_RMS } att_norm_kind;

typedef enum att_ffn_activation { ATT_FFN_RELU, ATT_FFN_GELU, ATT_FFN_SWIGLU } att_ffn_activation;

/* The vector that represents a sentence, and how attention pooling scores its tokens. */
typedef enum att_pool_kind {
    ATT_POOL_STOP, /* the state of a stop token that ends the sentence (handout 004) */
    ATT_POOL_LAST, /* the last state of the encoder */
    ATT_POOL_MEAN,
    ATT_POOL_MAX,
    ATT_POOL_ATTENTION, /* attention pooling with a learned query */
} att_pool_kind;

typedef enum att_pool_score {
    ATT_POOL_SCORE_DOT,
    ATT_POOL_SCORE_SCALED,
    ATT_POOL_SCORE_ADDITIVE,
} att_pool_score;

/* How features of a word are computed from its characters. */
typedef enum att_char_features_kind {
    ATT_CHAR_FEATURES_NONE,
    ATT_CHAR_FEATURES_CNN,
    ATT_CHAR_FEATURES_LSTM,
} att_char_features_kind;

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
    ATT_BEST_METRIC_BLEU, /* only then is BLEU computed: it needs the text of the targets */
    ATT_BEST_METRIC_F1,   /* of the spans of a tagger */
} att_best_metric;

/* The vocabulary of a fine-tuned model. */
typedef enum att_init_vocab { ATT_INIT_VOCAB_KEEP, ATT_INIT_VOCAB_EXTEND } att_init_vocab;

/* Where a value came from. A later origin in this list overrides an earlier one. */
typedef enum att_setting_origin {
    ATT_FROM_DEFAULT,
    ATT_FROM_DATA, /* chosen by the training data: data/data_choices.h */
    ATT_FROM_MODEL,
    ATT_FROM_CONFIG,
    ATT_FROM_CALLER, /* the command line: att_settings_set() */
} att_setting_origin;

enum { ATT_MAX_SETTINGS = 128 };

/* Members are int64_t (integers), double (reals), int (choices: the enums above), bool (flags) and
 * const char * (texts; NULL if not given). Their help is in setting_specs.c. */
struct att_settings {
    int task;

    /* data from files */
    const char *train, *source, *target;
    const char *valid, *valid_source, *valid_target;
    const char *guided_alignment;
    int format;          /* att_data_format */
    const char *columns; /* att_settings_columns() */
    double valid_fraction;

    /* images */
    const char *features, *valid_features, *features_scale;
    int64_t image_rows, image_columns, image_depth; /* 0: set when the data are loaded */
    int64_t image_size;                             /* of synthetic images */
    int64_t conv_layers, conv_channels;
    bool image_positions, init_from_image;

    /* synthetic data */
    const char *alphabet;
    int64_t min_string_length, max_string_length;
    int64_t train_count, valid_count;
    int64_t data_seed;

    /* tokens */
    int source_tokens, target_tokens;
    int tokens; /* of a language model */
    int64_t bpe_merges;
    bool joint, lowercase;
    int64_t min_count;
    int64_t max_length;
    int64_t sequence_length;

    /* model */
    const char *vectors; /* a file of word vectors, for the source embedding */
    bool vectors_tune;
    int architecture; /* att_architecture_kind */
    int64_t layers, hidden_size;
    int positions, positions_join;
    int tie_embeddings;
    double init_range;
    const char *init_from; /* model to fine-tune */
    int init_vocab;        /* att_init_vocab */
    bool copy;             /* pointer-generator */

    /* RNN */
    int rnn_cell; /* att_cell of tape/ops.h */
    int64_t embedding_size;
    bool bidirectional;
    int decoder_init; /* att_decoder_init */
    int attention;
    int normalizer; /* att_normalizer */
    int attention_context;
    double attention_window;

    /* Transformer */
    int preset; /* only changes defaults */
    int64_t decoder_layers, heads, kv_heads, ffn_size;
    int norm, norm_kind, activation; /* att_norm_position, att_norm_kind, att_ffn_activation */
    bool residuals, attention_scale, embedding_scale, biases;
    double attention_dropout, embedding_dropout;

    /* CNN */
    int64_t min_window, max_window;

    /* classifier */
    int pool, pool_score; /* att_pool_kind, att_pool_score */
    int64_t pool_heads;

    /* tagger */
    bool crf;

    /* classifier and tagger */
    int char_features; /* att_char_features_kind */
    int64_t char_embedding_size, char_size;

    /* regularization */
    double dropout, word_dropout, label_smoothing, consistency;
    double state_reset;
    double scheduled_sampling;
    int64_t scheduled_sampling_start;
    double guided_alignment_weight;

    /* optimizer */
    int optimizer;
    double learning_rate, momentum, beta1, beta2, rho, epsilon, weight_decay, clip_norm;

    /* schedule */
    int schedule;
    int64_t warmup;
    double min_learning_rate, plateau_factor;
    int64_t plateau_patience;
    int64_t epochs, steps;
    const char *step_plan; /* changes of `steps` during the run: att_settings_step_plan() */
    int64_t batch_tokens, accumulate;

    /* run and output */
    int64_t validate_every;
    int best_metric;
    int64_t patience, average_checkpoints;
    int64_t seed;
    const char *out, *log, *resume;
    double save_every; /* seconds */

    /* budget */
    const char *time; /* att_settings_seconds() */
    int64_t tries;

    uint8_t origin[ATT_MAX_SETTINGS]; /* att_setting_origin of each row of the table */
    att_arena strings;                /* holds the texts that were given */
};

/* The type of model that the task trains. */
att_model_type att_settings_model_type(const att_settings *settings);

/* Whether its models copy (pointer-generators): the setting `copy` of a seq2seq model. */
bool att_settings_copies(const att_settings *settings);

/* Copying distributes probability by the attention weights of an RNN decoder: refuses settings
 * without such weights, or with weights that do not add up to 1. */
att_status att_settings_check_copying(const att_settings *settings, att_error *err);

/* The consistency loss compares two predictions of a token, which must differ in dropout and in
 * nothing else: refuses settings without dropout, and those that it is not made for. */
att_status att_settings_check_consistency(const att_settings *settings, att_error *err);

/* Whether models of a type encode source tokens, and so have a source vocabulary. */
bool att_model_type_has_source_vocab(att_model_type type);

/* Sets a key as att_settings_set() does, for another origin. A value from a later origin stays. */
att_status att_settings_set_from(att_settings *settings, const char *key, const char *value,
                                 att_setting_origin origin, att_error *err);

/* The same in two steps, for many keys at once: the second call sets the defaults that depend on
 * other settings. */
att_status att_settings_set_deferred(att_settings *settings, const char *key, const char *value,
                                     att_setting_origin origin, att_error *err);
void att_settings_apply_defaults(att_settings *settings);

/* Makes settings of a config file unset that one of the command line leaves without meaning, as
 * --attention none does with attention-context. Call it before att_settings_apply_defaults(). */
void att_settings_drop_overruled(att_settings *settings);

/* Whether the user set a key, in a config file or as the caller. */
bool att_settings_is_given(const att_settings *settings, const char *key);

/* Whether a key still has its default, or what the data chose, so that the data may choose. */
bool att_settings_is_open(const att_settings *settings, const char *key);

/* Whether the task reads `source<TAB>target` or `sentence<TAB>label` files. */
bool att_settings_uses_files(const att_settings *settings);

/* A column of a file: its number, or the name that a header or an object has for it. */
typedef struct att_column {
    int64_t number;   /* from 1; 0: the last column; -1: the column has only a name */
    const char *name; /* [length], as it was written; not terminated */
    size_t length;
} att_column;

enum { ATT_COLUMN_SOURCE, ATT_COLUMN_TARGET, ATT_COLUMN_TAGS, ATT_COLUMN_COUNT };

typedef struct att_columns {
    int count; /* 0: not given; 2: source and target; 3: and tags */
    att_column items[ATT_COLUMN_COUNT];
} att_columns;

/* Parses the setting `columns`. The names belong to the settings. */
att_status att_settings_columns(att_columns *out, const att_settings *settings, att_error *err);

/* Parses the column of inputs, and after a comma that of their tags. The target of *out is the
 * column of the inputs too (ATT_EXAMPLES_INPUTS). */
att_status att_settings_input_columns(att_columns *out, const char *text, att_error *err);

/* Sets the format of files by its name (NULL: leaves it), and checks it and the columns: whether
 * the task reads them. */
att_status att_settings_check_format(att_settings *settings, const char *format, att_error *err);

/* Parses the setting `time`: "90s", "30m", "1h30m". 0 where it is not given. */
att_status att_settings_seconds(double *out, const att_settings *settings, att_error *err);

/* From step `from` on, a run is planned to end after `steps` steps. */
typedef struct att_step_plan_piece {
    int64_t from, steps;
} att_step_plan_piece;

enum { ATT_MAX_STEP_PLAN = 128 };

/* Parses the setting `step-plan`, "0:1000,600:900", into *count pieces (0 where it is not given),
 * the first from step 0. */
att_status att_settings_step_plan(att_step_plan_piece out[ATT_MAX_STEP_PLAN], size_t *count,
                                  const att_settings *settings, att_error *err);

/* All settings except those of the groups ATT_GROUP_OUTPUT and ATT_GROUP_BUDGET, as a JSON object;
 * and back, into settings that keep what a config file or the caller has set. `name` stands for the
 * model in errors. Unknown keys are refused. */
att_status att_settings_to_json(att_string *out, const att_settings *settings, att_error *err);
att_status att_settings_from_json(att_settings *settings, const char *json, const char *name,
                                  att_error *err);

#endif
