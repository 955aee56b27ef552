/* The lines of pairs as they are in their files, for choosing settings before they are encoded. */
#ifndef ATT_DATA_PAIR_READER_H
#define ATT_DATA_PAIR_READER_H

#include "data/example_reader.h"

typedef struct att_pair_reader {
    att_example_reader examples; /* of one file */
    att_line_reader lines[2];    /* of two parallel files */
    bool is_one_file;
    int64_t left;           /* pairs to read at most */
    att_line_view sides[2]; /* source and target of the current pair */
} att_pair_reader;

/* Starts with the text of pairs, which must outlive the reader. Release with
 * att_pair_reader_free(), also after a failure. */
att_status att_pair_reader_start(att_pair_reader *out, const att_pair_text *text,
                                 const att_settings *settings, int64_t max_pairs, att_error *err);

/* Reads the next pair that is not empty on both sides. false at the end, after max_pairs, and at a
 * pair that cannot be read: reading the data gives the error. */
bool att_pair_reader_next(att_pair_reader *in);
void att_pair_reader_free(att_pair_reader *in);

#endif
