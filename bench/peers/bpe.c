/* Times the training of a BPE tokenizer on a file and the encoding of the file; run by
 * bench/peers/bpe. */
#include "base/file.h"
#include "text/lines.h"
#include "text/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 3 };

/* Processor time, so that other processes do not count. */
static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void need(att_status status, const att_error *err)
{
    if (status == ATT_OK)
        return;
    fprintf(stderr, "bpe: %s\n", err->message);
    exit(1);
}

static att_vocab *train(const att_string *text, int64_t merges)
{
    att_vocab *vocab;
    att_error err = { 0 };
    att_ids ids = { 0 };
    att_line_reader lines = att_line_reader_start(text->data, text->length);
    att_line_view line;
    need(att_vocab_new(&vocab, ATT_TOKENIZER_BPE, false, &err), &err);
    while (att_line_reader_next(&lines, &line)) {
        need(att_vocab_count_line(vocab, &ids, line.text, line.length, &err), &err);
        ids.count = 0;
    }
    need(att_vocab_train_bpe(vocab, merges, 1, &err), &err);
    att_ids_free(&ids);
    return vocab;
}

/* Returns the number of tokens. */
static size_t encode(const att_string *text, const att_vocab *vocab)
{
    att_error err = { 0 };
    att_ids ids = { 0 };
    size_t tokens = 0;
    att_line_reader lines = att_line_reader_start(text->data, text->length);
    att_line_view line;
    while (att_line_reader_next(&lines, &line)) {
        need(att_vocab_encode(vocab, &ids, line.text, line.length, &err), &err);
        tokens += ids.count;
        ids.count = 0;
    }
    att_ids_free(&ids);
    return tokens;
}

int main(int count, char **args)
{
    att_string text = { 0 };
    att_error err = { 0 };
    if (count != 3)
        return 2;
    need(att_file_read(&text, args[1], (size_t)4 << 30, &err), &err);
    double learning = 1e300, applying = 1e300;
    size_t tokens = 0;
    int32_t size = 0;
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        att_vocab *vocab = train(&text, atoll(args[2]));
        double learned = now();
        tokens = encode(&text, vocab);
        double applied = now();
        size = att_vocab_size(vocab);
        learning = learned - start < learning ? learned - start : learning;
        applying = applied - learned < applying ? applied - learned : applying;
        att_vocab_free(vocab);
    }
    double lines = (double)att_line_reader_count(text.data, text.length);
    printf("%-14s trained on %.0f lines in %.2f s (%.0f lines/s), encoded in %.2f s "
           "(%.0f lines/s): %zu tokens, vocabulary %d\n",
           "attend", lines, learning, lines / learning, applying, lines / applying, tokens, size);
    att_string_free(&text);
}
