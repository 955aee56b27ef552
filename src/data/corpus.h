/* Pairs of token sequences in memory, and what was found while reading them. */
#ifndef ATT_DATA_CORPUS_H
#define ATT_DATA_CORPUS_H

#include "data/image_grids.h"
#include "text/vocab.h"

/* One side of all pairs, end to end: pair p has tokens ids[at[p]] … ids[at[p + 1] - 1]. */
typedef struct att_sequences {
    int32_t *ids;
    int64_t *offsets; /* [pairs + 1] */
} att_sequences;

/* Why a pair was left out. */
typedef enum att_skip_reason {
    ATT_SKIP_BLANK, /* an empty line */
    ATT_SKIP_EMPTY_SOURCE,
    ATT_SKIP_EMPTY_TARGET,
    ATT_SKIP_LONG_SOURCE, /* more tokens than max-length */
    ATT_SKIP_LONG_TARGET,
    ATT_SKIP_UNKNOWN_LABEL, /* a label that no pair to train on has */
} att_skip_reason;

enum { ATT_SKIP_COUNT = ATT_SKIP_UNKNOWN_LABEL + 1, ATT_SKIP_MAX_LINES = 5 };

/* Lengths of one side in tokens, and tokens that the vocabulary lacks. */
typedef struct att_sequence_stats {
    int64_t tokens, min_length, max_length;
    int64_t unknown_tokens;
} att_sequence_stats;

typedef struct att_corpus_stats {
    int64_t lines;
    int64_t skipped[ATT_SKIP_COUNT];
    int64_t skipped_lines[ATT_SKIP_COUNT][ATT_SKIP_MAX_LINES]; /* the first lines skipped, from 1 */
    att_sequence_stats source, target;
    int64_t crlf_lines; /* lines that end in CRLF, read as LF */
    bool has_bom;       /* a byte order mark at the start, left out */
    int64_t characters; /* of a text: clusters; bytes where it is not UTF-8 */
} att_corpus_stats;

/* A text is one pair without a source, its target the whole of it. */
typedef struct att_corpus {
    int64_t pairs;
    att_sequences source, target;
    bool has_labels;       /* targets are labels, one token each, and no end follows */
    int64_t *line_numbers; /* [pairs] where each was, from 1 */
    int32_t
        *alignment;    /* beside target.ids: the source token each comes from, or -1; may be NULL */
    char *target_text; /* the targets as they stand in the file, each ended by a zero byte, */
    int64_t *target_text_offsets; /* [pairs] and where each begins; NULL: not asked for */
    att_image_grids
        image_grids; /* the pictures, where sources are the numbers of those: att_corpus_image() */
    att_corpus_stats stats;
} att_corpus;

/* Where pairs come from: one file of `source<TAB>target` lines, or two files line by line; "-" is
 * standard input. */
typedef struct att_pair_files {
    const char *tsv;             /* or NULL */
    const char *source, *target; /* where `both` is NULL */
    const char *alignment;       /* "0-0 1-2 …" per line: source-target, from 0; or NULL */
} att_pair_files;

/* Their text in memory, with the name that stands for each in errors. */
typedef struct att_pair_text {
    struct att_text_file {
        const char *name; /* lent; NULL: there is no such file */
        att_string text;
    } tsv, source, target, alignment;
} att_pair_text;

/* Reads the files whole. What is no text (compressed, UTF-16) is ATT_BAD_INPUT. */
att_status att_pair_text_load(att_pair_text *out, const att_pair_files *files, att_error *err);
void att_pair_text_free(att_pair_text *pairs);

/* Reads one file of text the same way ("-": standard input). */
att_status att_text_file_load(struct att_text_file *out, const char *path, att_error *err);

/* Refuses files that belong together and do not have the same number of lines. */
att_status att_pair_text_check_lines(const att_pair_text *pairs, att_error *err);

/* How pairs are read. */
typedef struct att_pair_read_options {
    const att_vocab *source_vocab, *target_vocab;
    att_vocab *counted_source, *counted_target; /* the same vocabularies while they are being built:
                                                 * tokens are counted and get provisional ids until
                                                 * att_corpus_renumber(); NULL: it is final */
    int64_t max_length;    /* leaves out pairs with a side of more tokens; 0: none */
    double valid_fraction; /* part of the pairs to hold out, chosen by their source; 0: none */
    uint64_t seed;         /* of that choice */
    bool read_valid;       /* read those held out; else the others */
    bool keep_target_text; /* of the targets */
    bool is_caption;       /* sources are numbers of pictures */
    bool has_labels; /* targets are labels: one that is not known is refused, or where pairs are
                      * held out, the pair is left out */
} att_pair_read_options;

/* Checks the text and reads its pairs, numbering their tokens. Pairs with a side of no tokens or of
 * too many are left out and counted. A line that cannot be read (bad UTF-8, a missing tab, …) fails
 * with its file, line and byte. */
att_status att_corpus_read(att_corpus *out, const att_pair_text *pairs,
                           const att_pair_read_options *how, att_error *err);

/* Puts final numbers in the place of provisional ones; where there is no source, its are NULL. */
void att_corpus_renumber(att_corpus *corpus, const int32_t *source_final,
                         const int32_t *target_final);

void att_corpus_free(att_corpus *corpus);

/* The target of a pair as it stands in the file, lent, where that was asked for. */
const char *att_corpus_target_text(const att_corpus *corpus, int64_t pair);

/* Which picture a pair's target is about, from 0. */
int64_t att_corpus_image(const att_corpus *corpus, int64_t pair);

/* The tokens of one side of a pair, lent. */
const int32_t *att_sequences_get(const att_sequences *side, int64_t pair, int64_t *length);

#endif
