/* One head of a trained Transformer as a worksheet: the sheet loads the head's matrices from the
 * model's file and works it out in double precision, by the reference. What the model itself found
 * in single precision stands at the end, as a claim. */
#include "base/error.h"
#include "base/math.h"
#include "base/text.h"
#include "decode/look.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers that are written out: a claim about more would hide what it says. */
enum { MOST_CLAIMED = 4096, MOST_TOKENS = 512 };

/* A sheet being written. The first failure sticks. */
typedef struct writer {
    att_text *out;
    att_status status;
    const att_model *model;
    const char *file;
    int64_t head; /* from 0 */
    att_looking look;
} writer;

#define SAY(w, ...)                                                                                \
    do {                                                                                           \
        if ((w)->status == ATT_OK)                                                                 \
            (w)->status = att_text_print((w)->out, __VA_ARGS__);                                   \
    } while (0)

static const char *part_name(att_head_part part)
{
    static const char *const names[] = { "Encoder", "Decoder", "Decoder to encoder" };
    return names[part];
}

static bool across(const writer *w)
{
    return w->look.part == ATT_PART_CROSS;
}

/* ---- pieces of the language */

static void say_string(writer *w, const char *text)
{
    SAY(w, "\"");
    for (; *text; text++)
        SAY(w, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    SAY(w, "\"");
}

/* A tensor of the model; `name` after the layer's own: "self.out". */
static void say_load(writer *w, const char *side, const char *name)
{
    SAY(w, "(load ");
    say_string(w, w->file);
    if (side)
        SAY(w, " \"%s.%lld.%s\")", side, (long long)w->look.layer, name);
    else
        SAY(w, " \"%s\")", name);
}

/* A matrix [rows,columns] as numbers that read back as the same floats. */
static void say_matrix(writer *w, const float *values, int64_t rows, int64_t columns,
                       int64_t stride)
{
    SAY(w, "[");
    for (int64_t i = 0; i < rows; i++) {
        SAY(w, i > 0 ? "; " : "");
        for (int64_t j = 0; j < columns; j++)
            SAY(w, j > 0 ? " %.9g" : "%.9g", (double)values[i * stride + j]);
    }
    SAY(w, "]");
}

static void say_labels(writer *w, const char *name, const att_vocab *words, const att_ids *ids)
{
    SAY(w, "label %s", name);
    for (size_t i = 0; i < ids->count; i++) {
        SAY(w, " ");
        say_string(w, att_vocab_word(words, ids->items[i]));
    }
    SAY(w, "\n");
}

/* ---- what goes in */

static const att_ids *tokens_of(const writer *w)
{
    return w->look.part == ATT_PART_ENCODER ? &w->look.source : &w->look.target;
}

static void say_embeddings(writer *w)
{
    const att_transformer_parts *parts = w->model->parts;
    bool encoder = w->look.part == ATT_PART_ENCODER;
    const att_embedding *embedding = encoder ? &parts->source : &parts->target;
    const att_ids *ids = tokens_of(w);
    bool shared = encoder && w->model->settings->tie == ATT_TIE_ALL;
    SAY(w, "words = %.9g * ", (double)embedding->scale);
    say_load(w, NULL, encoder && !shared ? "source.embed" : "target.embed");
    SAY(w, "[[");
    for (size_t i = 0; i < ids->count; i++)
        SAY(w, i > 0 ? " %ld" : "%ld", (long)ids->items[i] + 1);
    SAY(w, "]]\n");
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL)
        SAY(w, "positions = positional(%zu, %lld)\n", ids->count, (long long)embedding->embed);
    else if (embedding->positions == ATT_POSITIONS_LEARNED) {
        SAY(w, "positions = ");
        say_load(w, NULL, encoder ? "source.positions" : "target.positions");
        SAY(w, "[[");
        for (size_t i = 0; i < ids->count; i++) {
            int64_t last = embedding->place_count - 1;
            SAY(w, i > 0 ? " %lld" : "%lld",
                (long long)((int64_t)i < last ? (int64_t)i : last) + 1);
        }
        SAY(w, "]]\n");
    } else {
        SAY(w, "x = words\n");
        return;
    }
    SAY(w, embedding->join == ATT_POSITIONS_ADD ? "x = words + positions\n"
                                                : "x = [words, positions]\n");
}

/* What a layer deep down gets is taken from the model. */
static void say_given(writer *w, const char *name, const att_node *x)
{
    SAY(w, "%s = ", name);
    say_matrix(w, x->value, x->shape[1], x->shape[2], x->shape[2]);
    SAY(w, "\n");
}

static void say_inputs(writer *w)
{
    bool first = w->look.layer == 0 && !across(w);
    SAY(w, "\n## What goes in\n\n");
    if (first) {
        say_embeddings(w);
    } else {
        SAY(w, "What the layers before made of the tokens, as the model worked it out.\n\n");
        say_given(w, "x", w->look.watch.x);
    }
    say_labels(w, "x",
               w->look.part == ATT_PART_ENCODER ? w->model->source_words : w->model->target_words,
               tokens_of(w));
    if (across(w)) {
        SAY(w, "\nAnd what the encoder made of the source.\n\n");
        say_given(w, "y", w->look.watch.memory);
        say_labels(w, "y", w->model->source_words, &w->look.source);
    }
}

/* ---- the head */

static const char *side_of(const writer *w)
{
    return w->look.part == ATT_PART_ENCODER ? "encoder" : "decoder";
}

/* The row that the matrices meet: normalised, where norms stand before. */
static const char *say_norm(writer *w)
{
    const char *side = side_of(w), *name = across(w) ? "cross.norm" : "self.norm";
    char full[64];
    if (w->model->settings->norm != ATT_NORM_BEFORE)
        return "x";
    bool centred = w->model->settings->norm_kind == ATT_NORM_LAYER;
    SAY(w, "n = %s(x, ", centred ? "layernorm" : "rmsnorm");
    snprintf(full, sizeof full, "%s.gain", name);
    say_load(w, side, full);
    if (centred) {
        SAY(w, ", ");
        snprintf(full, sizeof full, "%s.bias", name);
        say_load(w, side, full);
    }
    SAY(w, ", eps = 1e-5)\n");
    return "n";
}

/* name = from W + b, in the columns of one head. */
static void say_projection(writer *w, const char *name, const char *from, const char *matrix,
                           int64_t first, int64_t width)
{
    char bias[64];
    long long begin = (long long)first + 1, end = (long long)(first + width);
    SAY(w, "%s = linear(%s, ", name, from);
    say_load(w, side_of(w), matrix);
    SAY(w, "[:, %lld:%lld]", begin, end);
    if (w->model->settings->biases) {
        snprintf(bias, sizeof bias, "%s_bias", matrix);
        SAY(w, ", ");
        say_load(w, side_of(w), bias);
        SAY(w, "[%lld:%lld]", begin, end);
    }
    SAY(w, ")\n");
}

/* Queries and keys turned by their positions (Su et al. 2021). */
static void say_turns(writer *w, int64_t width)
{
    long long half = (long long)width / 2, all = (long long)width;
    SAY(w,
        "\nPositions turn queries and keys: columns j and j + %lld of a row go round by its\n"
        "position times a speed of their own.\n\nturn = [",
        half);
    for (size_t i = 0; i < tokens_of(w)->count; i++)
        SAY(w, i > 0 ? "; %zu" : "%zu", i);
    SAY(w, "] * [");
    for (long long j = 0; j < half; j++)
        SAY(w, j > 0 ? " %.17g" : "%.17g", 1 / att_pow(10000, 2 * (double)j / (double)width));
    SAY(w, "]\n");
    for (int i = 0; i < 2; i++) {
        const char *x = i == 0 ? "q" : "k";
        SAY(w,
            "%s_turned = [%s[:, 1:%lld] .* cos(turn) - %s[:, %lld:%lld] .* sin(turn), "
            "%s[:, %lld:%lld] .* cos(turn) + %s[:, 1:%lld] .* sin(turn)]\n",
            x, x, half, x, half + 1, all, x, half + 1, all, x, half);
    }
}

static void say_head(writer *w)
{
    const att_settings *settings = w->model->settings;
    int64_t width = settings->width / settings->heads, queries = settings->width;
    int64_t keys = settings->key_heads * width;
    int64_t group = w->head / (settings->heads / settings->key_heads);
    bool rotary = settings->positions == ATT_POSITIONS_ROTARY && !across(w);
    SAY(w, "\n## Queries, keys and values of the head\n\n");
    const char *from = say_norm(w);
    const char *into = across(w) ? "cross.query" : "self.query_key_value";
    const char *other = across(w) ? "cross.key_value" : into;
    int64_t first = (across(w) ? 0 : queries) + group * width;
    say_projection(w, "q", from, into, w->head * width, width);
    say_projection(w, "k", across(w) ? "y" : from, other, first, width);
    say_projection(w, "v", across(w) ? "y" : from, other, first + keys, width);
    if (rotary)
        say_turns(w, width);
    SAY(w, "\n## Attention\n\na = attention(%s, %s, v, score = %s%s)\n", rotary ? "q_turned" : "q",
        rotary ? "k_turned" : "k", settings->scale ? "scaled" : "dot",
        w->look.part == ATT_PART_DECODER ? ", mask = causal" : "");
}

/* The model's own weights of the head, from [1,H,N,S]. */
static void say_claim(writer *w, const att_node *weights)
{
    int64_t rows = weights->shape[2], keys = weights->shape[3];
    if (rows * keys > MOST_CLAIMED)
        return;
    SAY(w, "\nThe model found the same weights in single precision.\n\nexpect a.weights = ");
    say_matrix(w, weights->value + w->head * rows * keys, rows, keys, keys);
    SAY(w, " within 1e-4\n");
}

static void say_result(writer *w)
{
    const att_settings *settings = w->model->settings;
    int64_t width = settings->width / settings->heads;
    SAY(w, "plot a.weights \"%s layer %lld, head %lld\"\n", part_name(w->look.part),
        (long long)w->look.layer + 1, (long long)w->head + 1);
    SAY(w,
        "\n## What the head adds\n\nThe head has some rows of the last matrix to itself. What all "
        "heads give by theirs is added up%s%s.\n\nout = a * ",
        settings->biases ? ", with a bias" : "",
        settings->residuals ? ", and then added to x" : "");
    say_load(w, side_of(w), across(w) ? "cross.out" : "self.out");
    SAY(w, "[%lld:%lld, :]\n", (long long)(w->head * width) + 1,
        (long long)((w->head + 1) * width));
}

/* ---- all of it */

static att_status write_sheet(writer *w, att_error *err)
{
    SAY(w, "# %s layer %lld, head %lld\n\nOne head of a trained model, worked out step by step.\n",
        part_name(w->look.part), (long long)w->look.layer + 1, (long long)w->head + 1);
    say_inputs(w);
    say_head(w);
    say_claim(w, w->look.weights);
    say_result(w);
    return w->status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_model_explain(att_text *out, att_model *model, const char *file,
                             const att_head_choice *which, att_error *err)
{
    writer w = {
        .out = out, .model = model, .file = file, .head = which->head > 0 ? which->head - 1 : 0
    };
    size_t before = out->length;
    att_status status = att_looking_begin(&w.look, model, which, 1, MOST_TOKENS, err);
    if (status == ATT_OK)
        status = write_sheet(&w, err);
    att_looking_end(&w.look);
    if (status != ATT_OK)
        out->length = before;
    return status;
}
