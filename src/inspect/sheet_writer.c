/* The syntax of worksheets that are written for a model. */
#include "inspect/sheet_writer.h"

#include "base/minmax.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 128 };

void att_sheet_put(att_sheet_writer *w, const char *format, ...)
{
    if (w->status != ATT_OK)
        return;
    va_list args;
    va_start(args, format);
    w->status = att_string_vprintf(w->out, format, args);
    va_end(args);
}

void att_sheet_put_string(att_sheet_writer *w, const char *text)
{
    att_sheet_put(w, "\"");
    for (; *text; text++) {
        if (*text == '\n' || *text == '\t')
            att_sheet_put(w, *text == '\n' ? "\\n" : "\\t");
        else
            att_sheet_put(w, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    att_sheet_put(w, "\"");
}

const char *att_visible_token(const char *token)
{
    static const char *const signs[][2] = { { " ", "␣" }, { "\n", "↵" }, { "\t", "⇥" } };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strcmp(token, signs[i][0]) == 0)
            return signs[i][1];
    return token;
}

void att_sheet_put_load(att_sheet_writer *w, const char *format, ...)
{
    char name[NAME_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    att_sheet_put(w, "(load ");
    att_sheet_put_string(w, w->file);
    att_sheet_put(w, " \"%s\")", name);
}

void att_sheet_put_matrix(att_sheet_writer *w, const float *values, int64_t rows, int64_t columns,
                          int64_t stride)
{
    att_sheet_put(w, "[");
    for (int64_t i = 0; i < rows && w->status == ATT_OK; i++) {
        att_sheet_put(w, i > 0 ? "; " : "");
        for (int64_t j = 0; j < columns; j++)
            att_sheet_put(w, j > 0 ? " %.9g" : "%.9g", (double)values[i * stride + j]);
    }
    att_sheet_put(w, "]");
}

void att_sheet_put_labels(att_sheet_writer *w, const char *name, const att_vocab *vocab,
                          const att_ids *ids)
{
    att_sheet_put(w, "label %s", name);
    for (size_t i = 0; i < ids->count; i++) {
        att_sheet_put(w, " ");
        att_sheet_put_string(w, att_visible_token(att_vocab_token(vocab, ids->items[i])));
    }
    att_sheet_put(w, "\n");
}

void att_sheet_put_rows(att_sheet_writer *w, const int32_t *ids, size_t count)
{
    att_sheet_put(w, "[[");
    for (size_t i = 0; i < count; i++)
        att_sheet_put(w, i > 0 ? " %ld" : "%ld", (long)ids[i] + 1);
    att_sheet_put(w, "], :]");
}

/* ---- embeddings */

static int64_t position_of(const att_sheet_tokens *tokens, size_t i)
{
    return tokens->positions ? tokens->positions[i] : tokens->first + (int64_t)i;
}

/* The sinusoidal positions of tokens whose positions do not rise by one are rows of a table. */
static void put_sinusoidal(att_sheet_writer *w, const att_embedding *embedding,
                           const att_sheet_tokens *tokens)
{
    long long width = (long long)embedding->embedding_size;
    if (!tokens->positions) {
        att_sheet_put(w, "positions = positional(%zu, %lld", tokens->count, width);
        att_sheet_put(w, tokens->first > 0 ? ", start = %lld)\n" : ")\n", (long long)tokens->first);
        return;
    }
    att_sheet_put(w, "positions = positional(%zu, %lld)", tokens->count + 1, width);
    att_sheet_put_rows(w, tokens->positions, tokens->count);
    att_sheet_put(w, "\n");
}

static void put_learned(att_sheet_writer *w, const att_embedding *embedding,
                        const att_sheet_tokens *tokens)
{
    att_sheet_put(w, "positions = ");
    att_sheet_put_load(w, "%s.positions", tokens->side);
    att_sheet_put(w, "[[");
    for (size_t i = 0; i < tokens->count; i++) {
        int64_t row = att_min_i64(position_of(tokens, i), embedding->max_positions - 1);
        att_sheet_put(w, i > 0 ? " %lld" : "%lld", (long long)row + 1);
    }
    att_sheet_put(w, "], :]\n");
}

void att_sheet_put_embeddings(att_sheet_writer *w, const att_embedding *embedding,
                              const att_sheet_tokens *tokens)
{
    bool table = embedding->positions == ATT_POSITIONS_SINUSOIDAL ||
                 embedding->positions == ATT_POSITIONS_LEARNED;
    att_sheet_put(w, "%s = ", table ? "tokens" : tokens->name);
    if (embedding->scale != 1)
        att_sheet_put(w, "%.9g * ", (double)embedding->scale);
    att_sheet_put_load(w, "%s", tokens->table);
    att_sheet_put_rows(w, tokens->ids, tokens->count);
    att_sheet_put(w, "\n");
    if (!table)
        return;
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL)
        put_sinusoidal(w, embedding, tokens);
    else
        put_learned(w, embedding, tokens);
    att_sheet_put(w,
                  embedding->join == ATT_POSITIONS_ADD ? "%s = tokens + positions\n"
                                                       : "%s = [tokens, positions]\n",
                  tokens->name);
}

/* ---- layers and claims */

void att_sheet_put_linear(att_sheet_writer *w, const char *name, const char *from,
                          const char *matrix, bool biased)
{
    att_sheet_put(w, "%s = linear(%s, ", name, from);
    att_sheet_put_load(w, "%s", matrix);
    if (biased) {
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "%s_bias", matrix);
    }
    att_sheet_put(w, ")\n");
}

void att_sheet_put_claim(att_sheet_writer *w, const char *what, const float *values, int64_t rows,
                         int64_t columns, int64_t stride)
{
    double largest = 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            largest = fmax(largest, fabs((double)values[i * stride + j]));
    att_sheet_put(w, "expect %s = ", what);
    att_sheet_put_matrix(w, values, rows, columns, stride);
    att_sheet_put(w, " within %.1g\n", 2e-4 * largest);
}
