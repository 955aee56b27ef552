/* Token embeddings: the table, learned or sinusoidal positions, and dropout per token. */
#include "nn/embedding.h"

#include "base/error.h"
#include "base/minmax.h"

#include <math.h>

/* Standard deviation of the initial rows. With 1, tokens are well apart. A CNN classifier takes
 * maxima, so a word that is rare in training and still has its initial vector must not dominate:
 * 0.3. A table that is also the output layer has to yield logits of about 1. */
static float initial_deviation(const att_settings *settings)
{
    if (settings->architecture == ATT_ARCHITECTURE_CNN)
        return 0.3f;
    return settings->tie_embeddings ? 1 / sqrtf((float)settings->embedding_size) : 1;
}

void att_embedding_add_params(att_embedding *embedding, att_param_builder *builder,
                              int64_t vocabulary, float init_std, const char *prefix)
{
    int64_t size = embedding->embedding_size;
    bool concatenated = embedding->positions != ATT_POSITIONS_NONE &&
                        embedding->positions != ATT_POSITIONS_ROTARY &&
                        embedding->join == ATT_POSITIONS_CONCAT;
    embedding->output_size = concatenated ? 2 * size : size;
    if (embedding->table == ATT_NO_PARAM)
        embedding->table =
            att_build_embedding(builder, vocabulary, size, init_std, prefix, "embed");
    embedding->position_table = ATT_NO_PARAM;
    if (embedding->positions == ATT_POSITIONS_LEARNED)
        embedding->position_table = att_build_embedding(builder, embedding->max_positions, size,
                                                        init_std, prefix, "positions");
}

att_status att_embedding_check(const att_settings *settings, att_error *err)
{
    if (settings->positions == ATT_POSITIONS_ROTARY)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "positions rotary needs architecture transformer, because it rotates queries and keys");
    if (settings->positions == ATT_POSITIONS_LEARNED && settings->max_length < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "positions learned needs a max-length: the number of positions to learn");
    return ATT_OK;
}

void att_embedding_build(att_embedding *out, att_param_builder *builder,
                         const att_settings *settings, int64_t vocabulary, const char *prefix,
                         uint64_t dropout_id)
{
    *out = (att_embedding){
        .table = ATT_NO_PARAM,
        .positions = (att_positions)settings->positions,
        .join = (att_positions_join)settings->positions_join,
        .embedding_size = settings->embedding_size,
        .max_positions = settings->max_length,
        .scale = 1,
        .dropout = (float)settings->dropout,
        .dropout_id = dropout_id,
    };
    att_embedding_add_params(out, builder, vocabulary, initial_deviation(settings), prefix);
}

/* The vectors of positions first, first+1, …, [count,E]. */
static att_node *position_rows(const att_embedding *embedding, att_tape *tape, int64_t first,
                               int64_t count)
{
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL)
        return att_sinusoidal_positions(tape, first, count, embedding->embedding_size);
    int32_t *ids = att_tape_alloc(tape, count, sizeof *ids);
    if (!ids)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        ids[i] = (int32_t)att_min_i64(first + i, embedding->max_positions - 1);
    }
    att_node *rows =
        att_embedding_lookup(tape, att_tape_param(tape, embedding->position_table), 1, count, ids);
    return att_reshape(tape, rows, 2, (int64_t[]){ count, embedding->embedding_size });
}

static att_node *add_positions(const att_embedding *embedding, att_tape *tape, att_node *x,
                               int64_t first)
{
    if (embedding->positions == ATT_POSITIONS_NONE || !x)
        return x;
    att_node *rows = position_rows(embedding, tape, first, x->shape[1]);
    if (embedding->join == ATT_POSITIONS_ADD)
        return att_add(tape, x, rows);
    att_node *zeros = att_tape_input(tape, x->rank, x->shape, NULL);
    return att_concat(tape, (att_node *[]){ x, att_add(tape, zeros, rows) }, 2);
}

/* In training, row r of a batch uses copy r mod DROPOUT_GROUPS of the table; each copy has its own
 * dropout. Where the batch has its rows twice, the second of them uses another copy. */
enum { DROPOUT_GROUPS = 8 };

static int64_t dropout_group(const att_tape *tape, int64_t row, int64_t rows)
{
    bool second = att_tape_has_rows_twice(tape) && row >= rows / 2;
    return (second ? row - rows / 2 + DROPOUT_GROUPS / 2 : row) % DROPOUT_GROUPS;
}

/* The row of each token in the stacked copies of the table. */
static int32_t *dropout_group_ids(att_tape *tape, int64_t vocabulary, int64_t rows, int64_t columns,
                                  const int32_t *ids)
{
    int32_t *out = att_tape_alloc(tape, rows * columns, sizeof *out);
    for (int64_t i = 0; out && i < rows * columns; i++) {
        int64_t group = dropout_group(tape, i / columns, rows);
        out[i] = ids[i] < 0 ? ids[i] : (int32_t)(group * vocabulary + ids[i]);
    }
    return out;
}

/* All copies, stacked, with dropout: [DROPOUT_GROUPS V,E]. */
static att_node *dropout_group_tables(const att_embedding *embedding, att_tape *tape,
                                      att_node *table)
{
    int64_t vocabulary = table->shape[0], count = DROPOUT_GROUPS * vocabulary;
    int32_t *each = att_tape_alloc(tape, count, sizeof *each);
    if (!each)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        each[i] = (int32_t)(i % vocabulary);
    att_node *tables = att_embedding_lookup(tape, table, 1, count, each);
    tables = att_reshape(tape, tables, 2, (int64_t[]){ count, embedding->embedding_size });
    return att_dropout(tape, tables, embedding->dropout, embedding->dropout_id);
}

/* Dropout removes the same columns of a token wherever it occurs in a row of the batch (Gal and
 * Ghahramani 2016), and the same in every DROPOUT_GROUPS-th row. So there are at most
 * DROPOUT_GROUPS V different vectors, and an RNN layer multiplies those instead of every token
 * (tape/rnn_input_table.c). Where the batch has fewer tokens than that, dropout is applied to the
 * tokens' vectors, with the same bits. */
static att_node *token_rows(const att_embedding *embedding, att_tape *tape, int64_t rows,
                            int64_t columns, const int32_t *ids)
{
    att_node *table = att_tape_param(tape, embedding->table);
    if (!table || embedding->dropout == 0 || !att_tape_is_training(tape))
        return att_embedding_lookup(tape, table, rows, columns, ids);
    int64_t vocabulary = table->shape[0];
    const int32_t *group_ids = dropout_group_ids(tape, vocabulary, rows, columns, ids);
    if (!group_ids)
        return NULL;
    if (DROPOUT_GROUPS * vocabulary <= rows * columns)
        return att_embedding_lookup(tape, dropout_group_tables(embedding, tape, table), rows,
                                    columns, group_ids);
    return att_dropout_grouped(tape, att_embedding_lookup(tape, table, rows, columns, ids),
                               embedding->dropout, embedding->dropout_id, group_ids);
}

att_node *att_embedding_run(const att_embedding *embedding, att_tape *tape, int64_t rows,
                            int64_t columns, const int32_t *ids, int64_t first)
{
    att_node *x = token_rows(embedding, tape, rows, columns, ids);
    return add_positions(embedding, tape, x, first);
}

/* The vectors of the given positions, [1,count,E]. Sinusoids are computed once per position. */
static att_node *position_rows_at(const att_embedding *embedding, att_tape *tape, int64_t count,
                                  const int32_t *positions)
{
    int32_t *ids = att_tape_alloc(tape, count, sizeof *ids);
    int32_t first = count > 0 ? positions[0] : 0, last = first;
    if (!ids)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        first = (int32_t)att_min_i64(first, positions[i]);
        last = (int32_t)att_max_i64(last, positions[i]);
    }
    bool sinusoidal = embedding->positions == ATT_POSITIONS_SINUSOIDAL;
    for (int64_t i = 0; i < count; i++)
        ids[i] = sinusoidal ? positions[i] - first
                            : (int32_t)att_min_i64(positions[i], embedding->max_positions - 1);
    att_node *table = sinusoidal ? att_sinusoidal_positions(tape, first, last - first + 1,
                                                            embedding->embedding_size)
                                 : att_tape_param(tape, embedding->position_table);
    return att_embedding_lookup(tape, table, 1, count, ids);
}

att_node *att_embedding_run_packed(const att_embedding *embedding, att_tape *tape, int64_t count,
                                   const int32_t *ids, const int32_t *positions)
{
    att_node *x = att_embedding_lookup(tape, att_tape_param(tape, embedding->table), 1, count, ids);
    if (embedding->scale != 1)
        x = att_scale(tape, x, embedding->scale);
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL ||
        embedding->positions == ATT_POSITIONS_LEARNED) {
        att_node *vectors = position_rows_at(embedding, tape, count, positions);
        x = embedding->join == ATT_POSITIONS_ADD
                ? att_add(tape, x, vectors)
                : att_concat(tape, (att_node *[]){ x, vectors }, 2);
    }
    return att_dropout(tape, x, embedding->dropout, embedding->dropout_id);
}
