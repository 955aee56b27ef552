/* Tokens as vectors; see embedding.h. */
#include "nn/embedding.h"

#include "base/error.h"

#include <math.h>

/* Rows of deviation 1 set tokens well apart. A table that is the output layer too has to keep
 * scores of about 1 instead. */
static float row_spread(const att_settings *settings)
{
    return settings->tie ? 1 / sqrtf((float)settings->embed) : 1;
}

void att_embedding_add(att_embedding *embedding, att_builder *builder, int64_t vocabulary,
                       float spread, const char *prefix)
{
    int64_t embed = embedding->embed;
    bool beside = embedding->positions != ATT_POSITIONS_NONE &&
                  embedding->positions != ATT_POSITIONS_ROTARY &&
                  embedding->join == ATT_POSITIONS_CONCAT;
    embedding->width = beside ? 2 * embed : embed;
    if (embedding->table == ATT_NO_PARAM)
        embedding->table = att_build_table(builder, vocabulary, embed, spread, prefix, "embed");
    embedding->places = ATT_NO_PARAM;
    if (embedding->positions == ATT_POSITIONS_LEARNED)
        embedding->places =
            att_build_table(builder, embedding->place_count, embed, spread, prefix, "positions");
}

void att_embedding_build(att_embedding *out, att_builder *builder, const att_settings *settings,
                         int64_t vocabulary, const char *prefix, uint64_t drop_place)
{
    *out = (att_embedding){
        .table = ATT_NO_PARAM,
        .positions = (att_positions)settings->positions,
        .join = (att_positions_join)settings->positions_join,
        .embed = settings->embed,
        .place_count = settings->max_length,
        .scale = 1,
        .dropout = (float)settings->dropout,
        .drop_place = drop_place,
    };
    att_embedding_add(out, builder, vocabulary, row_spread(settings), prefix);
}

/* The vectors of positions, [count,E]. */
static att_node *position_rows(const att_embedding *embedding, att_tape *tape, int64_t first,
                               int64_t count)
{
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL)
        return att_sinusoids(tape, first, count, embedding->embed);
    int32_t *ids = att_tape_take(tape, count, sizeof *ids);
    if (!ids)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        int64_t place = first + i;
        ids[i] = (int32_t)(place < embedding->place_count ? place : embedding->place_count - 1);
    }
    att_node *rows = att_embed(tape, att_tape_param(tape, embedding->places), 1, count, ids);
    return att_reshape(tape, rows, 2, (int64_t[]){ count, embedding->embed });
}

static att_node *with_positions(const att_embedding *embedding, att_tape *tape, att_node *x,
                                int64_t first)
{
    if (embedding->positions == ATT_POSITIONS_NONE || !x)
        return x;
    att_node *rows = position_rows(embedding, tape, first, x->shape[1]);
    if (embedding->join == ATT_POSITIONS_ADD)
        return att_add(tape, x, rows);
    att_node *zeros = att_tape_input(tape, x->rank, x->shape, NULL);
    return att_join(tape, (att_node *[]){ x, att_add(tape, zeros, rows) }, 2);
}

/* Dropout takes the same columns from a token wherever in the batch it stands (Gal and Ghahramani
 * 2016). So they can be taken from the table, and a recurrent layer goes on multiplying the table
 * instead of every token (tape/recur_table.c). A table with more rows than there are tokens is left
 * alone: the tokens' vectors lose the same columns, to the same bits. */
static att_node *token_rows(const att_embedding *embedding, att_tape *tape, int64_t rows,
                            int64_t columns, const int32_t *ids)
{
    float p = embedding->dropout;
    uint64_t place = embedding->drop_place;
    att_node *table = att_tape_param(tape, embedding->table);
    if (table && table->shape[0] <= rows * columns)
        return att_embed(tape, att_dropout(tape, table, p, place), rows, columns, ids);
    return att_dropout_alike(tape, att_embed(tape, table, rows, columns, ids), p, place, ids);
}

att_node *att_embedding_run(const att_embedding *embedding, att_tape *tape, int64_t rows,
                            int64_t columns, const int32_t *ids, int64_t first)
{
    att_node *x = token_rows(embedding, tape, rows, columns, ids);
    return with_positions(embedding, tape, x, first);
}

/* The vectors of positions one by one, [1,count,E]. Sinusoids are worked out once for each. */
static att_node *position_of_each(const att_embedding *embedding, att_tape *tape, int64_t count,
                                  const int32_t *positions)
{
    int32_t *ids = att_tape_take(tape, count, sizeof *ids);
    int32_t first = count > 0 ? positions[0] : 0, last = first;
    if (!ids)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        first = positions[i] < first ? positions[i] : first;
        last = positions[i] > last ? positions[i] : last;
    }
    bool waves = embedding->positions == ATT_POSITIONS_SINUSOIDAL;
    int32_t known = (int32_t)embedding->place_count - 1;
    for (int64_t i = 0; i < count; i++)
        ids[i] = waves ? positions[i] - first : positions[i] < known ? positions[i] : known;
    att_node *table = waves ? att_sinusoids(tape, first, last - first + 1, embedding->embed)
                            : att_tape_param(tape, embedding->places);
    return att_embed(tape, table, 1, count, ids);
}

att_node *att_embedding_run_rows(const att_embedding *embedding, att_tape *tape, int64_t count,
                                 const int32_t *ids, const int32_t *positions)
{
    att_node *x = att_embed(tape, att_tape_param(tape, embedding->table), 1, count, ids);
    if (embedding->scale != 1)
        x = att_scale(tape, x, embedding->scale);
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL ||
        embedding->positions == ATT_POSITIONS_LEARNED) {
        att_node *places = position_of_each(embedding, tape, count, positions);
        x = embedding->join == ATT_POSITIONS_ADD ? att_add(tape, x, places)
                                                 : att_join(tape, (att_node *[]){ x, places }, 2);
    }
    return att_dropout(tape, x, embedding->dropout, embedding->drop_place);
}
