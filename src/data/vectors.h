/* Word vectors that were trained elsewhere: text files of word2vec (with a first line "N D"), GloVe
 * (without) and fastText (.vec). A line is a word and its D numbers, separated by spaces. */
#ifndef ATT_DATA_VECTORS_H
#define ATT_DATA_VECTORS_H

#include "base/string_set.h"
#include "text/vocab.h"

/* The vectors of a vocabulary's words. */
typedef struct att_word_vectors {
    int64_t size;      /* D; 0: there are none */
    float *values;     /* [vocabulary size, D]; zeros where a word has no vector */
    uint8_t *is_found; /* [vocabulary size] */
    int64_t words;     /* tokens of the vocabulary, without the reserved ones */
    int64_t found;
} att_word_vectors;

void att_word_vectors_free(att_word_vectors *vectors);

/* Reads a file of vectors in pieces, so that a file larger than the memory can be read: only the
 * vectors of the vocabulary's words are kept. A word that the file lacks takes the vector of its
 * lowercase form. Of several vectors of a word the first counts. Numbers are parsed only for
 * words that are kept. */
typedef struct att_vectors_reader {
    const char *name;
    const att_vocab *vocab;
    att_word_vectors out;
    att_string line, scratch; /* a line that began in an earlier piece; one number */
    int64_t line_number;      /* lines read */
    int64_t width_line;       /* where the width was first seen */
    double header_count;      /* the vectors that the header states; 0: there is no header */
    int64_t count;            /* the vectors read */
    att_string_set lower;     /* lowercase forms of the words */
    int32_t *first, *next;    /* words by lowercase form, as chains of ids; 0 ends one */
    uint8_t *match;           /* [vocabulary size] 0: none, 1: of the lowercase form, 2: exact */
} att_vectors_reader;

/* Prepares the look-up of words. Release with att_vectors_free(), also after a failure. */
att_status att_vectors_start(att_vectors_reader *out, const att_vocab *vocab, const char *name,
                             att_error *err);

/* Reads a piece of the file. ATT_BAD_INPUT, naming the line: another width than before, something
 * that is not a finite number. */
att_status att_vectors_feed(att_vectors_reader *in, const char *bytes, size_t count,
                            att_error *err);

/* Reads what is left, and moves the vectors to *out. ATT_BAD_INPUT if the file has none, other than
 * its header states, as a truncated download has, or none of a word of the vocabulary. */
att_status att_vectors_finish(att_vectors_reader *in, att_word_vectors *out, att_error *err);
void att_vectors_free(att_vectors_reader *in);

/* Reads a whole file; "-" is standard input. */
att_status att_word_vectors_load(att_word_vectors *out, const att_vocab *vocab, const char *path,
                                 att_error *err);

#endif
