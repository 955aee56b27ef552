/* Greedy decoding; see greedy.h. */
#include "decode/greedy.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* The search over one batch. Rows that have ended stay in the decoder's batch, and are ignored,
 * until half of it has ended: leaving rows out means moving those that stay. */
typedef struct search {
    const att_sources *sources;
    const att_greedy_how *how;
    att_output *outputs;
    int64_t vocabulary;
    int64_t live;    /* rows of the decoder's batch */
    int64_t ended;   /* of which have ended */
    int64_t *row_of; /* [live] which source; -1: ended */
    int64_t *order;  /* [live] for the next step */
    int32_t *tokens; /* [live] for the next step */
    bool moved;      /* the order is not the plain one */
} search;

void att_output_free(att_output *output)
{
    att_free(output->ids);
    att_free(output->log_probs);
    att_free(output->weights);
    *output = (att_output){ 0 };
}

/* Room for one more token, and `width` weights with it. */
static bool output_reserve(att_output *output, int64_t width)
{
    if (output->count < output->capacity)
        return true;
    size_t used = (size_t)output->count, more = 2 * used + 16, columns = (size_t)width;
    int32_t *ids = att_realloc(output->ids, used * sizeof *ids, more, sizeof *ids);
    if (ids)
        output->ids = ids;
    float *log_probs =
        att_realloc(output->log_probs, used * sizeof *log_probs, more, sizeof *log_probs);
    if (log_probs)
        output->log_probs = log_probs;
    float *weights = NULL;
    if (columns > 0) {
        weights = att_realloc(output->weights, used * columns * sizeof *weights, more,
                              columns * sizeof *weights);
        if (weights)
            output->weights = weights;
    }
    if (!ids || !log_probs || (columns > 0 && !weights))
        return false;
    output->capacity = (int64_t)more;
    return true;
}

/* The most probable token. No target begins anew: the start is never chosen. */
static int32_t choose(const float *log_probs, int64_t vocabulary)
{
    int64_t best = ATT_ID_UNKNOWN;
    for (int64_t i = ATT_ID_START + 1; i < vocabulary; i++)
        if (log_probs[i] > log_probs[best])
            best = i;
    return (int32_t)best;
}

static int32_t next_token(const search *s, int64_t row, const float *log_probs)
{
    const att_forced *forced = s->how->forced;
    size_t at = (size_t)s->outputs[row].count;
    if (!forced)
        return choose(log_probs, s->vocabulary);
    return at < forced[row].count ? forced[row].ids[at] : ATT_ID_END;
}

static int64_t limit_of(const search *s, int64_t row)
{
    if (s->how->forced)
        return INT64_MAX;
    if (s->how->most_tokens > 0)
        return s->how->most_tokens;
    return 50 + 2 * s->sources->lengths[row];
}

/* Keeps row `at` of the attention: `width` weights of each map, of the `stride` that there are. */
static void keep_weights(att_output *output, const att_decoded *decoded, int64_t at, int64_t width,
                         int64_t stride)
{
    float *to = output->weights + output->count * decoded->maps * width;
    const float *from = decoded->weights + at * decoded->maps * stride;
    for (int64_t m = 0; m < decoded->maps; m++)
        memcpy(to + m * width, from + m * stride, (size_t)width * sizeof *to);
}

/* Takes one row a token further. */
static att_status extend(search *s, int64_t at, const att_decoded *decoded, att_error *err)
{
    int64_t row = s->row_of[at];
    if (row < 0)
        return ATT_OK;
    att_output *output = &s->outputs[row];
    int64_t width = decoded->weights ? s->sources->lengths[row] : 0;
    output->maps = decoded->maps;
    output->heads = decoded->heads;
    if (!output_reserve(output, width * decoded->maps))
        return att_fail_memory(err);
    const float *log_probs = decoded->log_probs + at * s->vocabulary;
    int32_t id = next_token(s, row, log_probs);
    output->ids[output->count] = s->tokens[at] = id;
    output->log_probs[output->count] = log_probs[id];
    if (width > 0)
        keep_weights(output, decoded, at, width, s->sources->length);
    output->count++;
    output->cut = id != ATT_ID_END && output->count >= limit_of(s, row);
    if (id == ATT_ID_END || output->cut) {
        s->row_of[at] = -1;
        s->ended++;
    }
    return ATT_OK;
}

/* Leaves out the rows that have ended, once they are half of all. */
static void leave_out_ended(search *s)
{
    s->moved = false;
    if (2 * s->ended < s->live)
        return;
    int64_t kept = 0;
    for (int64_t at = 0; at < s->live; at++) {
        if (s->row_of[at] < 0)
            continue;
        s->row_of[kept] = s->row_of[at];
        s->tokens[kept] = s->tokens[at];
        s->order[kept++] = at;
    }
    s->live = kept;
    s->ended = 0;
    s->moved = true;
}

static att_status search_on(search *s, att_decoder *decoder, att_error *err)
{
    while (s->live > s->ended) {
        att_decoded decoded;
        ATT_TRY(att_decoder_step(decoder, s->live, s->tokens, s->moved ? s->order : NULL, &decoded,
                                 err));
        for (int64_t at = 0; at < s->live; at++)
            ATT_TRY(extend(s, at, &decoded, err));
        leave_out_ended(s);
    }
    return ATT_OK;
}

att_status att_greedy(att_output *outputs, att_decoder *decoder, const att_sources *sources,
                      const att_greedy_how *how, att_error *err)
{
    size_t rows = (size_t)sources->rows;
    search s = { .sources = sources,
                 .how = how,
                 .outputs = outputs,
                 .vocabulary = att_vocab_size(decoder->model->target_words),
                 .live = sources->rows,
                 .row_of = att_alloc(rows, sizeof *s.row_of),
                 .order = att_alloc(rows, sizeof *s.order),
                 .tokens = att_alloc(rows, sizeof *s.tokens) };
    att_status status = s.row_of && s.order && s.tokens ? ATT_OK : att_fail_memory(err);
    for (int64_t at = 0; status == ATT_OK && at < s.live; at++) {
        s.row_of[at] = at;
        s.tokens[at] = ATT_ID_START;
    }
    decoder->want_weights = how->weights;
    if (status == ATT_OK && s.live > 0)
        status = att_decoder_start(decoder, sources, err);
    if (status == ATT_OK)
        status = search_on(&s, decoder, err);
    att_free(s.row_of);
    att_free(s.order);
    att_free(s.tokens);
    return status;
}
