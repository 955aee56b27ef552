/* A dataset in memory: pairs of token sequences, and statistics of reading them. */
#ifndef ATT_DATA_CORPUS_H
#define ATT_DATA_CORPUS_H

#include "base/quote.h"
#include "data/copy_ids.h"
#include "data/image_grids.h"
#include "settings/settings.h"
#include "text/lines.h"
#include "text/vocab.h"

/* What the examples of a file are. */
typedef enum att_example_kind {
    ATT_EXAMPLES_PAIRS,     /* source and target */
    ATT_EXAMPLES_SENTENCES, /* a sentence and its label */
    ATT_EXAMPLES_TAGGED,    /* tokens with a label for each */
    ATT_EXAMPLES_CAPTIONS,  /* the number of an image and a caption */
} att_example_kind;

/* How they stand in it; {0}: pairs, in a format to be guessed. */
typedef struct att_example_format {
    att_example_kind kind;
    att_data_format format;
    att_columns columns;
    bool
        sources_only; /* the column of the sources is that of the targets too, which nobody reads */
    bool no_tags;     /* a column of tags is left out, unless it is one of `columns` */
} att_example_format;

enum { ATT_FORMAT_DESCRIPTION_SIZE = 512 }; /* of a line that reports it */
#define ATT_FORMAT_TOKENS_AND_LABELS "lines of tokens and labels"

/* One side of all pairs, end to end: pair p has tokens ids[offsets[p]] … ids[offsets[p + 1] - 1].
 */
typedef struct att_sequences {
    int32_t *ids;
    int64_t *offsets; /* [pairs + 1] */
} att_sequences;

/* Why a pair was skipped. */
typedef enum att_skip_reason {
    ATT_SKIP_BLANK, /* both sides empty */
    ATT_SKIP_EMPTY_SOURCE,
    ATT_SKIP_EMPTY_TARGET,
    ATT_SKIP_LONG_SOURCE, /* more tokens than max-length */
    ATT_SKIP_LONG_TARGET,
} att_skip_reason;

enum { ATT_SKIP_COUNT = ATT_SKIP_LONG_TARGET + 1, ATT_SKIP_MAX_LINES = 5 };

/* Sequence lengths of one side in tokens, and tokens that the vocabulary lacks. */
typedef struct att_sequence_stats {
    int64_t tokens, min_length, max_length;
    int64_t unknown_tokens;
} att_sequence_stats;

typedef struct att_corpus_stats {
    int64_t lines;
    int64_t skipped[ATT_SKIP_COUNT];
    int64_t skipped_lines[ATT_SKIP_COUNT][ATT_SKIP_MAX_LINES]; /* the first of them, from 1 */
    att_sequence_stats source, target;
    int64_t crlf_lines; /* lines that end in CRLF, which is read as LF */
    bool has_bom;       /* a byte order mark at the start, which is ignored */
    int64_t
        characters; /* of a language model's text: grapheme clusters; bytes if it is not UTF-8 */
    /* the first label that the training data lacks, quoted, and its line; target.unknown_tokens has
     * their number */
    char unknown_label[ATT_QUOTED_SIZE];
    int64_t unknown_label_line;
    /* pairs with tags that the training data lack, and the line of the first */
    int64_t unknown_tag_pairs, unknown_tag_line;
    int64_t several_targets; /* sources with more than one target, where sources are linked */
    char format[ATT_FORMAT_DESCRIPTION_SIZE]; /* of the file; "": source<TAB>target lines */
} att_corpus_stats;

/* The text of a language model is one pair without a source, whose target is the whole text. */
typedef struct att_corpus {
    int64_t pairs;
    att_sequences source, target;
    bool has_labels; /* targets are labels without end token: one, or one per source token. A label
                      * that the training data lacks is ATT_ID_UNK */
    int64_t *line_numbers; /* [pairs] the line of each in its file, from 1 */
    int32_t *alignment;   /* beside target.ids: index of the aligned source token, or -1; or NULL */
    int64_t *same_source; /* [pairs] the next pair with the same source text, in a circle: a pair
                           * that is alone is its own next; or NULL */
    char *source_words; /* source tokens as they are written, each ended by a zero byte; or NULL */
    int64_t *source_word_offsets; /* beside source.ids: the start of each in source_words */
    att_copy_ids copy;            /* for models that copy; else all NULL */
    char *target_text; /* targets as they are in the file, each ended by a zero byte; or NULL */
    int64_t *target_text_offsets; /* [pairs] the start of each in target_text */
    att_image_grids
        image_grids; /* of captions, whose sources are image numbers: att_corpus_image() */
    att_corpus_stats stats;
    /* the tokens are in this file (token_corpus.h), and the arrays of tokens, offsets and lines are
     * NULL; `pairs` are those of an epoch. NULL: they are in memory. Owned */
    struct att_token_corpus *stored;
    int64_t *source_hashes; /* [pairs] if keep_source_hashes was set; or NULL */
} att_corpus;

/* The files of pairs: one of `source<TAB>target` lines, or two parallel files; "-" is standard
 * input.
 */
typedef struct att_pair_files {
    const char *tsv;             /* or NULL */
    const char *source, *target; /* if `tsv` is NULL */
    const char *alignment;       /* "0-0 1-2 …" per line (alignment.h); or NULL */
} att_pair_files;

/* Their text in memory, with the name of each for errors. */
typedef struct att_pair_text {
    struct att_text_file {
        const char *name; /* not owned; NULL: there is no such file */
        att_string text;
        bool is_lines;                      /* one example per line: never a CoNLL file */
        int64_t lines_before, bytes_before; /* of a part of a file: what precedes it */
    } tsv, source, target, alignment;
} att_pair_text;

/* Reads whole files. gzip and zstd files are unpacked; UTF-16 is ATT_BAD_INPUT. */
att_status att_pair_text_load(att_pair_text *out, const att_pair_files *files, att_error *err);
void att_pair_text_free(att_pair_text *pairs);

/* Reads one text file the same way ("-": standard input). */
att_status att_text_file_load(struct att_text_file *out, const char *path, att_error *err);

/* Its lines. Of a part of a file, they have the numbers of the file. */
att_line_reader att_text_file_lines(const struct att_text_file *file);

/* Refuses a text that begins as a compressed file or UTF-16 does. */
att_status att_text_format_check(const char *name, const char *bytes, size_t length,
                                 att_error *err);

/* Refuses a line that is not UTF-8 text, naming the byte in the line and in the file. */
att_status att_text_line_check(const struct att_text_file *file, const att_line_view *line,
                               att_error *err);

/* Refuses parallel files with different numbers of lines. */
att_status att_pair_text_check_lines(const att_pair_text *pairs, att_error *err);

/* How pairs are read. */
typedef struct att_pair_read_options {
    const att_vocab *source_vocab, *target_vocab;
    att_vocab *counted_source, *counted_target; /* the same vocabularies while they are being built:
                                                 * tokens are counted and get provisional ids until
                                                 * att_corpus_renumber(); NULL: it is final */
    int64_t max_length;    /* skips pairs with more tokens on a side; 0: no limit */
    double valid_fraction; /* fraction of the pairs to hold out, chosen by their source */
    uint64_t seed;         /* of that choice */
    bool read_valid;       /* read the pairs held out; else the others */
    bool keep_target_text;
    bool link_sources;       /* fill same_source */
    bool keep_words;         /* of the source, for character features */
    bool keep_source_hashes; /* of the text of each source, from which same_source follows */
    bool copies;             /* for a model that copies; the vocabularies must be final */
    att_example_format format;
} att_pair_read_options;

/* Checks the text and encodes its pairs. Pairs with an empty or too long side are skipped and
 * counted. A line that cannot be read (invalid UTF-8, a missing tab, …) is ATT_BAD_INPUT, naming
 * the file, line and byte. */
att_status att_corpus_read(att_corpus *out, const att_pair_text *pairs,
                           const att_pair_read_options *options, att_error *err);

/* Replaces provisional ids by final ones. source_final NULL: the ids of sources are final. */
void att_corpus_renumber(att_corpus *corpus, const int32_t *source_final,
                         const int32_t *target_final);

void att_corpus_free(att_corpus *corpus);

/* The target of a pair as it is in the file, if keep_target_text was set. It belongs to the corpus.
 */
const char *att_corpus_target_text(const att_corpus *corpus, int64_t pair);

/* The number of a caption's image, from 0. */
int64_t att_corpus_image(const att_corpus *corpus, int64_t pair);

/* The tokens of one side of a pair, which belong to the corpus. */
const int32_t *att_sequences_get(const att_sequences *side, int64_t pair, int64_t *length);

/* Their number, which needs only the offsets. */
static inline int64_t att_sequences_length(const att_sequences *side, int64_t pair)
{
    return side->offsets[pair + 1] - side->offsets[pair];
}

#endif
