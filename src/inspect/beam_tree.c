/* A beam search as a tree (att_model_beam_tree): the search of att_model_generate(), of
 * att_model_caption() or of att_model_complete() with an observer of its candidates; as text, JSON
 * and SVG. */
#include "attend.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "decode/hypothesis_score.h"
#include "inspect/sheet_writer.h"
#include "inspect/single_search.h"
#include "render/number.h"
#include "render/svg.h"
#include "render/svg_layout.h"
#include "render/view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_NODES = 20000, DEFAULT_NEW_TOKENS = 10 };

/* A node of the beam tree in the search. */
typedef struct search_node {
    int64_t tree_node; /* in the hypothesis tree; -1: dropped */
    int32_t token;
} search_node;

struct att_beam_tree {
    att_arena memory;
    att_beam_node *nodes;      /* [count] */
    search_node *search_nodes; /* [count] */
    size_t count, capacity;
    bool failed; /* out of memory */

    /* While the search runs: */
    const att_decoding_options *options;
    const att_session *session; /* names of tokens */
    int64_t prompt_tokens;      /* forced ones, which are not in the tree */
    double prompt_score;
};

/* ---- recording */

static bool reserve(att_beam_tree *tree)
{
    if (tree->count < tree->capacity)
        return true;
    size_t capacity = 2 * tree->capacity + 64;
    att_beam_node *nodes = att_alloc(capacity, sizeof *nodes);
    search_node *search_nodes = att_alloc(capacity, sizeof *search_nodes);
    if (!nodes || !search_nodes) {
        att_free(nodes);
        att_free(search_nodes);
        return false;
    }
    if (tree->count > 0) {
        memcpy(nodes, tree->nodes, tree->count * sizeof *nodes);
        memcpy(search_nodes, tree->search_nodes, tree->count * sizeof *search_nodes);
    }
    att_free(tree->nodes);
    att_free(tree->search_nodes);
    tree->nodes = nodes;
    tree->search_nodes = search_nodes;
    tree->capacity = capacity;
    return true;
}

static int64_t index_of(const att_beam_tree *tree, int64_t tree_node)
{
    for (size_t i = tree->count; tree_node >= 0 && i > 0; i--)
        if (tree->search_nodes[i - 1].tree_node == tree_node)
            return (int64_t)i - 1;
    return -1;
}

/* The node of `token` after node `parent`, which precedes its children; -1: there is none. */
static int64_t child_of(const att_beam_tree *tree, int64_t parent, int32_t token)
{
    for (int64_t i = (int64_t)tree->count - 1; i > parent; i--)
        if (tree->nodes[i].parent == parent && tree->search_nodes[i].token == token)
            return i;
    return -1;
}

/* The normalized score of an output without its prompt; `whole` is that of the search. */
static double normalize(const att_beam_tree *tree, double score, int64_t step, double whole)
{
    return tree->prompt_tokens > 0 ? att_length_normalize(tree->options, score, step) : whole;
}

static att_beam_node node_of(const att_beam_tree *tree, const att_beam_event *event)
{
    int64_t step = event->position + 1 - tree->prompt_tokens;
    double score = event->score - tree->prompt_score;
    return (att_beam_node){
        .parent = index_of(tree, event->parent),
        .step = step,
        .log_prob = (double)event->log_prob,
        .score = score,
        .normalized_score =
            event->finished ? normalize(tree, score, step, event->normalized_score) : NAN,
        .fate = event->finished   ? ATT_BEAM_FINISHED
                : event->node < 0 ? ATT_BEAM_DROPPED
                                  : ATT_BEAM_KEPT,
    };
}

/* The search drops the continuation of the greedy hypothesis from the beam and then keeps it beside
 * the beam: this is one node. */
static void record(void *context, const att_beam_event *event)
{
    att_beam_tree *tree = context;
    if (event->position < tree->prompt_tokens)
        tree->prompt_score = event->score; /* the only candidate is the forced token */
    if (event->position < tree->prompt_tokens || tree->failed || tree->count > MAX_NODES)
        return;
    const char *name = att_session_token(tree->session, 0, event->token);
    name = att_visible_token(name ? name : "?");
    name = att_arena_strndup(&tree->memory, name, strlen(name));
    if (!name || !reserve(tree)) {
        tree->failed = true;
        return;
    }
    att_beam_node node = node_of(tree, event);
    int64_t dropped = child_of(tree, node.parent, event->token);
    size_t at = dropped < 0 ? tree->count++ : (size_t)dropped;
    node.token = name;
    tree->nodes[at] = node;
    tree->search_nodes[at] = (search_node){ event->node, event->token };
}

/* Marks the tokens of the output that the search returned. An output that no token may follow
 * (no_repeat_ngram) ends in a node that was kept. */
static void mark_best(att_beam_tree *tree, const att_hypothesis *found)
{
    int64_t best = -1;
    for (int64_t t = tree->prompt_tokens; t < found->count; t++) {
        best = child_of(tree, best, found->ids[t]);
        if (best < 0)
            return;
        tree->nodes[best].fate = ATT_BEAM_BEST;
    }
    if (best >= 0) {
        att_beam_node *last = &tree->nodes[best];
        last->normalized_score = normalize(tree, last->score, last->step, found->normalized_score);
    }
}

static att_status search(att_beam_tree *tree, const att_model *model, const att_single_input *input,
                         const att_decoding_options *options, att_error *err)
{
    att_single_search s = { 0 };
    int64_t new_tokens =
        options->max_output_length > 0 ? options->max_output_length : DEFAULT_NEW_TOKENS;
    tree->options = options;
    att_status status = att_single_search_open(&s, model, input, options, err);
    if (status == ATT_OK) {
        tree->session = s.session;
        tree->prompt_tokens = s.prompt.count > 0 ? (int64_t)s.prompt.count - 1 : 0;
        status = att_single_search_run(&s, input, new_tokens, record, tree, err);
    }
    if (status == ATT_OK && tree->failed)
        status = att_fail_memory(err);
    if (status == ATT_OK && tree->count > MAX_NODES)
        status = att_fail(err, ATT_BAD_INPUT, NULL,
                          "the search has more than %d candidates; expected a smaller beam or a "
                          "shorter output",
                          MAX_NODES);
    if (status == ATT_OK)
        mark_best(tree, &s.output);
    att_single_search_close(&s);
    return status;
}

static att_status check(const att_model *model, const att_decoding_options *options, att_error *err)
{
    att_model_type type = att_model_type_get(model);
    if (type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected a model that generates tokens, found %s: it searches no beam; "
                        "att_model_alternatives() has its most probable labels",
                        att_model_type_phrase(type));
    if (options->sample || options->beam < 2)
        return att_fail(err, ATT_BAD_INPUT, "att_decoding_options",
                        "expected a beam of at least 2, found %s",
                        options->sample ? "sampling" : "greedy search");
    return ATT_OK;
}

static att_status grow_tree(att_beam_tree **out, const att_model *model,
                            const att_single_input *input, const att_decoding_options *options,
                            att_error *err)
{
    att_decoding_options given;
    *out = NULL;
    ATT_TRY(att_single_input_check(input, model, "att_model_caption_beam_tree", err));
    ATT_TRY(ATT_OPTIONS_COPY(att_decoding_options, &given, options, err));
    ATT_TRY(check(model, &given, err));
    att_beam_tree *tree = att_alloc_zero(1, sizeof *tree);
    if (!tree)
        return att_fail_memory(err);
    att_progress_scope scope;
    att_progress_begin(&scope, "searching", 0);
    att_status status = search(tree, model, input, &given, err);
    status = att_progress_end(&scope, status, err);
    if (status == ATT_OK)
        *out = tree;
    else
        att_beam_tree_free(tree);
    return status;
}

att_status att_model_beam_tree(att_beam_tree **out, const att_model *model, const char *line,
                               const att_decoding_options *options, att_error *err)
{
    return grow_tree(out, model, &(att_single_input){ .line = line }, options, err);
}

att_status att_model_caption_beam_tree(att_beam_tree **out, const att_model *model,
                                       const att_tensor *image, const att_decoding_options *options,
                                       att_error *err)
{
    return grow_tree(out, model, &(att_single_input){ .image = image }, options, err);
}

void att_beam_tree_free(att_beam_tree *tree)
{
    if (!tree)
        return;
    att_free(tree->nodes);
    att_free(tree->search_nodes);
    att_arena_free(&tree->memory);
    att_free(tree);
}

const att_beam_node *att_beam_tree_get(const att_beam_tree *tree, size_t index)
{
    return index < tree->count ? &tree->nodes[index] : NULL;
}

/* ---- text and JSON */

static const char *const fate_names[] = { "dropped", "kept", "finished", "best" };

static void put_score(att_writer *out, double value)
{
    char text[ATT_NUMBER_SIZE];
    att_number_print(text, value, (att_number_format){ .decimals = 2, .zero = 0.005 });
    att_put(out, text);
}

/* The children of `parent`, indented; dropped candidates in parentheses. */
static void put_branch(att_writer *out, const att_beam_tree *tree, int64_t parent, int64_t depth)
{
    for (size_t i = 0; i < tree->count && out->status == ATT_OK; i++) {
        const att_beam_node *node = &tree->nodes[i];
        bool dropped = node->fate == ATT_BEAM_DROPPED;
        if (node->parent != parent)
            continue;
        att_put_repeat(out, "  ", depth);
        att_put(out, node->fate == ATT_BEAM_BEST ? "* " : dropped ? "- " : "  ");
        att_put_plain(out, node->token);
        att_put(out, "  ");
        put_score(out, node->score);
        if (!isnan(node->normalized_score)) {
            att_put(out, "  output, ");
            put_score(out, node->normalized_score);
        }
        att_put(out, dropped ? "  dropped\n" : "\n");
        if (!dropped)
            put_branch(out, tree, (int64_t)i, depth + 1);
    }
}

static void put_text(att_writer *out, const att_beam_tree *tree)
{
    put_branch(out, tree, -1, 0);
    att_put(out, "* best output; numbers are sums of log-probabilities, and of outputs the "
                 "normalized score\n");
}

static void put_json(att_writer *out, const att_beam_tree *tree)
{
    att_put(out, "{\"nodes\":[");
    for (size_t i = 0; i < tree->count; i++) {
        const att_beam_node *node = &tree->nodes[i];
        att_putf(out, "%s{\"parent\":%" PRId64 ",\"step\":%" PRId64 ",\"token\":", i > 0 ? "," : "",
                 node->parent, node->step);
        att_put_json(out, node->token);
        att_put(out, ",\"log_prob\":");
        att_put_json_number(out, node->log_prob);
        att_put(out, ",\"score\":");
        att_put_json_number(out, node->score);
        att_put(out, ",\"normalized_score\":");
        att_put_json_number(out, node->normalized_score);
        att_putf(out, ",\"fate\":\"%s\"}", fate_names[node->fate]);
    }
    att_put(out, "]}\n");
}

/* ---- SVG: steps from left to right, the leaves below each other */

enum {
    MARGIN = 20,
    NODE_HEIGHT = 24,
    STEP_GAP = 46,
    SCORE_WIDTH = 44,
    FOOT = 52,
    LEGEND_LINE = 18,
    LEGEND_WIDTH = 460,
};

typedef struct tree_layout {
    int64_t *x, *y; /* [count] the left end and the middle of each node */
    int64_t *width; /* [steps + 2] of the nodes of each step */
    int64_t rows, right;
} tree_layout;

/* Places the subtree of node `index` and returns the middle of its first and last child. */
static int64_t place(const att_beam_tree *tree, tree_layout *l, int64_t index)
{
    int64_t first = -1, last = -1;
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].parent != index)
            continue;
        last = place(tree, l, (int64_t)i);
        first = first < 0 ? last : first;
    }
    int64_t middle =
        first < 0 ? MARGIN + NODE_HEIGHT * l->rows++ + NODE_HEIGHT / 2 : (first + last) / 2;
    if (index >= 0)
        l->y[index] = middle;
    return middle;
}

static bool lay_out(tree_layout *l, const att_beam_tree *tree, att_arena *arena)
{
    int64_t steps = 0;
    for (size_t i = 0; i < tree->count; i++)
        steps = att_max_i64(steps, tree->nodes[i].step);
    *l = (tree_layout){ .x = att_arena_alloc(arena, tree->count + 1, sizeof *l->x),
                        .y = att_arena_alloc(arena, tree->count + 1, sizeof *l->y),
                        .width = att_arena_alloc(arena, (size_t)steps + 2, sizeof *l->width) };
    if (!l->x || !l->y || !l->width)
        return false;
    for (int64_t s = 0; s < steps + 2; s++)
        l->width[s] = 0;
    for (size_t i = 0; i < tree->count; i++) {
        int64_t step = tree->nodes[i].step;
        l->width[step] = att_max_i64(l->width[step],
                                     att_svg_text_length(tree->nodes[i].token) + SCORE_WIDTH + 14);
    }
    for (size_t i = 0; i < tree->count; i++) {
        l->x[i] = MARGIN + STEP_GAP;
        for (int64_t s = 1; s < tree->nodes[i].step; s++)
            l->x[i] += l->width[s] + STEP_GAP;
        l->right = att_max_i64(l->right, l->x[i] + l->width[tree->nodes[i].step]);
    }
    return true;
}

static void put_node(att_writer *out, const att_beam_tree *tree, const tree_layout *l, size_t i,
                     int64_t root)
{
    static const char *const colors[] = { [ATT_BEAM_DROPPED] = "#9a9a9a",
                                          [ATT_BEAM_KEPT] = "#1a1a1a",
                                          [ATT_BEAM_FINISHED] = "#1a7f37",
                                          [ATT_BEAM_BEST] = "#0b5394" };
    const att_beam_node *node = &tree->nodes[i];
    const char *color = colors[node->fate];
    int64_t from_x = MARGIN, from_y = root;
    if (node->parent >= 0) {
        from_x =
            l->x[node->parent] + SCORE_WIDTH + att_svg_text_length(tree->nodes[node->parent].token);
        from_y = l->y[node->parent];
    }
    int64_t to = l->x[i] - 4, bend = (from_x + to) / 2;
    att_putf(out,
             "<path d=\"M%" PRId64 " %" PRId64 "C%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
             " %" PRId64 " %" PRId64 "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"%s/>\n",
             from_x, from_y, bend, from_y, bend, l->y[i], to, l->y[i], color,
             node->fate == ATT_BEAM_BEST ? 2 : 1,
             node->fate == ATT_BEAM_DROPPED ? " stroke-dasharray=\"3 3\"" : "");
    att_putf(out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" fill=\"%s\"%s>", l->x[i], l->y[i] + 5,
             color, node->fate == ATT_BEAM_BEST ? " font-weight=\"bold\"" : "");
    att_put_xml(out, node->token);
    att_put(out, "<tspan dx=\"6\" font-size=\"10\" font-weight=\"normal\">");
    put_score(out, isnan(node->normalized_score) ? node->score : node->normalized_score);
    att_put(out, "</tspan></text>\n");
}

static void put_svg(att_writer *out, const att_beam_tree *tree)
{
    static const char *const legend[] = {
        "blue: best output;  green: other outputs;  gray: dropped",
        "numbers: sums of log-probabilities, of outputs the "
        "normalized score"
    };
    att_arena arena = { 0 };
    tree_layout l;
    if (!lay_out(&l, tree, &arena)) {
        out->status = ATT_NO_MEMORY;
        att_arena_free(&arena);
        return;
    }
    int64_t root = place(tree, &l, -1);
    int64_t height = 2 * MARGIN + NODE_HEIGHT * l.rows + FOOT;
    att_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    att_put_svg_begin(out, att_max_i64(l.right + MARGIN, LEGEND_WIDTH), height, "Beam search");
    att_putf(out, "<circle cx=\"%d\" cy=\"%" PRId64 "\" r=\"4\"/>\n", MARGIN, root);
    for (size_t i = 0; i < tree->count && out->status == ATT_OK; i++)
        put_node(out, tree, &l, i, root);
    for (int i = 0; i < 2; i++)
        att_putf(out, "<text x=\"%d\" y=\"%" PRId64 "\" fill=\"#666\" font-size=\"12\">%s</text>\n",
                 MARGIN, height - MARGIN - (1 - i) * LEGEND_LINE, legend[i]);
    att_put(out, "</svg>\n");
    att_arena_free(&arena);
}

att_status att_beam_tree_render(att_string *text, const att_beam_tree *tree,
                                const att_render_options *options, att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_JSON | 1 << ATT_FORMAT_SVG };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "a beam search", err));
    att_writer out = att_writer_on(text);
    if (resolved.format == ATT_FORMAT_JSON)
        put_json(&out, tree);
    else if (resolved.format == ATT_FORMAT_SVG)
        put_svg(&out, tree);
    else
        put_text(&out, tree);
    return att_writer_finish(&out, err);
}
