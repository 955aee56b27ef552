/* Files that an epoch reads in proportions other than their sizes. An epoch is a sequence of
 * examples (pairs, or tokens of a text): the files one after the other, each repeated or shortened
 * by its weight. A weight of 2 reads a file twice in each epoch; a weight of 0.3 reads three tenths
 * of it, and the next epoch continues where the last one ended, so that all of it is read. */
#ifndef ATT_DATA_MIX_H
#define ATT_DATA_MIX_H

#include <stddef.h>
#include <stdint.h>

typedef struct att_mix_file {
    int64_t count; /* examples that it has, at least 1 */
    int64_t read;  /* examples of it that an epoch reads, at least 1 */
} att_mix_file;

typedef struct att_mix {
    att_mix_file *files; /* [file_count]; its examples follow those of the files before it */
    size_t file_count;
} att_mix;

/* How many examples an epoch reads of a file by its weight. */
int64_t att_mix_read_count(int64_t count, double weight);

/* The examples of an epoch. */
int64_t att_mix_total(const att_mix *mix);

/* Example `index` of an epoch, counted through all files. *run is the number of examples from there
 * on that follow each other in the files as in the epoch. */
int64_t att_mix_at(const att_mix *mix, int64_t epoch, int64_t index, int64_t *run);

#endif
