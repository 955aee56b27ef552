/* The recurrent family's decoder going along a target; see recurrent.h.
 *
 * Training and decoding both come through att_walk_on(): a step on its own does exactly what it
 * does among others, so its result has the same bits. */
#include "model/recurrent.h"

#include "base/random.h"

#include <string.h>

/* All layers over x [B,count,…]: the states of the last. */
static att_node *run_layers(att_walk *walk, att_node *x, const int64_t *lengths)
{
    const att_recurrent_parts *parts = walk->parts;
    for (int i = 0; i < parts->layers; i++) {
        if (i > 0)
            x = att_dropout(walk->tape, x, parts->dropout,
                            att_drop_place(ATT_DROP_LAYER, parts->layers + i) +
                                (uint64_t)walk->position);
        x = att_cell_layer_run(&parts->decoder[i], walk->tape, x,
                               &(att_cell_run){ .start = walk->state[i], .lengths = lengths });
        walk->state[i] = att_recur_end(walk->tape, x);
    }
    return x;
}

/* The context for each of `count` queries [B,count,N]. */
static att_node *context_of(att_walk *walk, att_node *query, int64_t count)
{
    if (walk->parts->fixed)
        return att_spread(walk->tape, walk->last, count);
    att_look look = { .want_weights = walk->want_weights, .covered = walk->covered };
    att_glimpse_run(&walk->parts->glimpse, walk->tape, &walk->memory, query, &look);
    walk->covered = look.covered;
    walk->weights = look.weights;
    return look.context;
}

/* The attentional hidden state (handout 003), or the state itself. */
static att_node *read_out(att_walk *walk, att_node *hidden, int64_t count)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    if (parts->join != ATT_NO_PARAM) {
        att_node *both[] = { context_of(walk, hidden, count), hidden };
        return att_linear(tape, att_join(tape, both, 2), att_tape_param(tape, parts->join), NULL,
                          ATT_ACTIVATION_TANH, false);
    }
    if (parts->project == ATT_NO_PARAM)
        return hidden;
    return att_linear(tape, hidden, att_tape_param(tape, parts->project), NULL, ATT_ACTIVATION_NONE,
                      false);
}

/* The last layer's hidden state before the step, as a query [B,1,N]: s_{t-1} of handout 004. */
static att_node *state_query(att_walk *walk)
{
    const att_recurrent_parts *parts = walk->parts;
    att_node *hidden = att_part(walk->tape, walk->state[parts->layers - 1], 0, parts->width);
    return att_reshape(walk->tape, hidden, 3, (int64_t[]){ walk->rows, 1, parts->width });
}

/* The readout of the step before, [B,1,R]. */
static att_node *readout_before(att_walk *walk)
{
    if (walk->readout)
        return walk->readout;
    return att_tape_input(walk->tape, 3, (int64_t[]){ walk->rows, 1, walk->parts->readout_width },
                          NULL);
}

/* `count` steps, all at once where one step's input does not hang on the step before. */
static att_node *take_steps(att_walk *walk, const int32_t *tokens, int64_t count)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    walk->weights = NULL;
    att_node *x =
        att_embedding_run(&parts->target, tape, walk->rows, count, tokens, walk->position);
    if (parts->at_input)
        x = att_join(tape, (att_node *[]){ x, context_of(walk, state_query(walk), count) }, 2);
    if (parts->readout_at_input)
        x = att_join(tape, (att_node *[]){ x, readout_before(walk) }, 2);
    att_node *hidden = run_layers(walk, x, count > 1 ? walk->lengths : NULL);
    att_node *readout = read_out(walk, hidden, count);
    walk->position += count;
    if (parts->readout_at_input)
        walk->readout = readout;
    return readout;
}

static bool one_by_one(const att_walk *walk)
{
    const att_recurrent_parts *parts = walk->parts;
    bool samples = walk->lesson && walk->lesson->own > 0;
    return samples || parts->readout_at_input || (parts->at_input && parts->scored);
}

/* Replaces tokens [B] of this step by the model's own predictions of the step before, each with the
 * probability that the lesson gives (Bengio et al. 2015, "Scheduled sampling"). A pair's draws are
 * its own, whatever the batch. */
static void feed_own(att_walk *walk, int32_t *tokens, att_node *readout)
{
    const att_lesson *lesson = walk->lesson;
    if (!lesson || !(lesson->own > 0) || !readout)
        return;
    att_node *scores = att_walk_scores(walk, readout, walk->position - 1);
    if (!scores)
        return;
    int64_t vocabulary = scores->shape[2];
    uint64_t stream = 0x6f776e0000000000u + lesson->step; /* "own" */
    for (int64_t r = 0; r < walk->rows; r++) {
        uint64_t index = ((uint64_t)walk->pair[r] << 24) + (uint64_t)walk->position;
        if (tokens[r] != ATT_ID_NONE && att_random_float(lesson->seed, stream, index) < lesson->own)
            tokens[r] = att_largest_place(scores->value + r * vocabulary, vocabulary);
    }
}

/* [B,1,n] nodes of `count` steps as one [B,count,n]. */
static att_node *stack_steps(att_tape *tape, att_node **steps, int64_t count)
{
    for (int64_t t = 0; t < count; t++) {
        if (!steps[t])
            return NULL;
        steps[t] =
            att_reshape(tape, steps[t], 2, (int64_t[]){ steps[t]->shape[0], steps[t]->shape[2] });
    }
    return att_stack(tape, steps, count);
}

static att_node *walk_step_by_step(att_walk *walk, const int32_t *tokens, int64_t count)
{
    att_tape *tape = walk->tape;
    att_node **readouts = att_tape_take(tape, count, sizeof *readouts);
    att_node **weights = att_tape_take(tape, count, sizeof *weights);
    int32_t *column = att_tape_take(tape, walk->rows, sizeof *column);
    if (!readouts || !weights || !column)
        return NULL;
    for (int64_t t = 0; t < count; t++) {
        for (int64_t r = 0; r < walk->rows; r++)
            column[r] = tokens[r * count + t];
        if (t > 0)
            feed_own(walk, column, readouts[t - 1]);
        readouts[t] = take_steps(walk, column, 1);
        weights[t] = walk->weights;
    }
    walk->weights = stack_steps(tape, weights, count);
    return stack_steps(tape, readouts, count);
}

att_node *att_walk_on(att_walk *walk, const int32_t *tokens, int64_t count)
{
    if (att_tape_status(walk->tape, NULL) != ATT_OK)
        return NULL;
    if (count > 1 && one_by_one(walk))
        return walk_step_by_step(walk, tokens, count);
    return take_steps(walk, tokens, count);
}

att_node *att_walk_scores(const att_walk *walk, att_node *readouts, int64_t first)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    bool tied = parts->output_w == ATT_NO_PARAM;
    att_node *x = att_dropout(tape, readouts, parts->dropout,
                              att_drop_place(ATT_DROP_OUTPUT, 0) + (uint64_t)first);
    return att_linear(tape, x, att_tape_param(tape, tied ? parts->target.table : parts->output_w),
                      att_tape_param(tape, parts->output_b), ATT_ACTIVATION_NONE, tied);
}
