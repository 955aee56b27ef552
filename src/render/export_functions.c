/* The functions of worksheets in exported programs: a row for each. */
#include "render/export.h"

#include "base/minmax.h"

#include <string.h>

enum {
    TENSOR = 1,  /* PyTorch does not take a number of Python as its argument */
    LISTS = 2,   /* an argument may be a list of matrices */
    FILLED = 4,  /* an empty matrix is an error, which the library would not notice */
    REDUCE = 8,  /* rows: axis=1, cols: axis=0; the axis stays, with size 1 */
    ALONG = 16,  /* cols: axis=0; rows are the default */
    ORDER = 32,  /* cols: axis=1; rows are the default */
    FLAGS = 64,  /* rows and cols are flags like others */
    STEPS = 128, /* takes step=, which rounds its inner results as by hand */
};

/* A function without a row cannot be exported. */
static const struct function_row {
    const char *name;
    const char *callee[2]; /* in NumPy and PyTorch: of the library, or a definition of ours */
    const char *result; /* of a result with parts: the field that is its matrix; NULL: a matrix */
    int flags;
} functions[] = {
    { "softmax", { "softmax", "softmax" }, NULL, ALONG },
    { "tanh", { "np.tanh", "torch.tanh" }, NULL, TENSOR },
    { "relu", { "relu", "relu" }, NULL, TENSOR },
    { "sigmoid", { "sigmoid", "sigmoid" }, NULL, TENSOR },
    { "gelu", { "gelu", "gelu" }, NULL, TENSOR },
    { "exp", { "np.exp", "torch.exp" }, NULL, TENSOR },
    { "log", { "np.log", "torch.log" }, NULL, TENSOR },
    { "sqrt", { "np.sqrt", "torch.sqrt" }, NULL, TENSOR },
    { "abs", { "np.abs", "torch.abs" }, NULL, TENSOR },
    { "sin", { "np.sin", "torch.sin" }, NULL, TENSOR },
    { "cos", { "np.cos", "torch.cos" }, NULL, TENSOR },
    { "sum", { "np.sum", "torch.sum" }, NULL, TENSOR | REDUCE },
    { "mean", { "np.mean", "torch.mean" }, NULL, TENSOR | REDUCE | FILLED },
    { "max", { "np.max", "torch.amax" }, NULL, TENSOR | REDUCE | FILLED },
    { "min", { "np.min", "torch.amin" }, NULL, TENSOR | REDUCE | FILLED },
    { "argmax", { "argmax", "argmax" }, NULL, ALONG },
    { "layernorm", { "layernorm", "layernorm" }, NULL, STEPS },
    { "rmsnorm", { "rmsnorm", "rmsnorm" }, NULL, STEPS },
    { "permute", { "permute", "permute" }, NULL, ORDER },
    { "transpose", { NULL, NULL }, NULL, 0 }, /* X.T */
    { "zeros", { "zeros", "zeros" }, NULL, 0 },
    { "ones", { "ones", "ones" }, NULL, 0 },
    { "identity", { "identity", "identity" }, NULL, 0 },
    { "shape", { "shape", "shape" }, NULL, 0 },
    { "where", { "where", "where" }, NULL, 0 },
    { "diag", { "diag", "diag" }, NULL, 0 },
    { "sort", { "sort", "sort" }, NULL, ALONG },
    { "topk", { "topk", "topk" }, NULL, 0 },
    { "onehot", { "onehot", "onehot" }, NULL, 0 },
    { "cross_entropy", { "cross_entropy", "cross_entropy" }, NULL, FLAGS },
    { "random", { "random", "random" }, NULL, 0 },
    { "dropout", { "dropout", "dropout" }, NULL, 0 },
    { "round", { "round_half_away", "round_half_away" }, NULL, TENSOR },
    { "attention", { "attention", "attention" }, "output", 0 },
    { "self_attention", { "self_attention", "self_attention" }, "output", 0 },
    { "cross_attention", { "cross_attention", "cross_attention" }, "output", 0 },
    { "multihead", { "multihead", "multihead" }, "output", LISTS },
    { "positional", { "positional", "positional" }, NULL, 0 },
    { "linear", { "linear", "linear" }, NULL, 0 },
    { "conv1d", { "conv1d", "conv1d" }, NULL, LISTS },
    { "rnn", { "rnn", "rnn" }, "h", 0 },
    { "lstm", { "lstm", "lstm" }, "h", 0 },
    { "gru", { "gru", "gru" }, "h", 0 },
};

/* Options that Python cannot call by the name that they have in the sheet. */
static const struct other_name {
    const char *name, *python;
} other_names[] = { { "v", "v_a" }, { "from", "source" } };

static const struct function_row *row_of(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

size_t att_export_argument_count(const att_expr *node)
{
    size_t count = 0;
    while (count < node->children && node->child[count]->kind != ATT_EXPR_OPTION)
        count++;
    return count;
}

att_export_type att_export_call_type(const att_exporter *exporter, const att_expr *node)
{
    const struct function_row *row = row_of(node->text);
    const att_export_function *own = att_export_function_find(exporter, node->text);
    if (own)
        return own->type;
    if (!row || !row->result)
        return (att_export_type){ ATT_EXPORT_MATRIX, NULL };
    /* Without an output projection the result is the concatenation of the heads. */
    bool heads = strcmp(node->text, "multihead") == 0 && att_export_argument_count(node) < 5;
    return (att_export_type){ ATT_EXPORT_RECORD, heads ? "heads" : row->result };
}

static void put_callee(att_exporter *exporter, const char *callee)
{
    if (att_export_is_defined(exporter->language, callee))
        att_export_use(exporter, callee);
    else
        att_put(&exporter->out, callee);
}

/* ---- Arguments */

static bool has_axis(const att_expr *node)
{
    for (size_t i = att_export_argument_count(node); i < node->children; i++)
        if (strcmp(node->child[i]->text, "rows") == 0 || strcmp(node->child[i]->text, "cols") == 0)
            return true;
    return false;
}

static bool may_be_scalar(const att_exporter *exporter, const att_expr *node)
{
    return node->shape == ATT_SHAPE_UNKNOWN || node->shape == ATT_SHAPE_NUMBER ||
           att_export_is_unknown(exporter, node);
}

static void put_argument(att_exporter *exporter, const struct function_row *row,
                         const att_expr *call, const att_expr *argument)
{
    bool torch = exporter->language == ATT_EXPORT_PYTORCH;
    bool wrap = (row->flags & FILLED) && exporter->checked;
    bool reduced = (row->flags & REDUCE) && has_axis(call) && may_be_scalar(exporter, argument);
    if (wrap || reduced) { /* a scalar has no axis to reduce */
        att_export_use(exporter, wrap ? "not_empty" : "matrix");
        att_put(&exporter->out, "(");
    }
    if ((row->flags & LISTS) && att_export_type_of(exporter, argument).kind == ATT_EXPORT_LIST)
        att_export_value(exporter, argument);
    else if ((row->flags & TENSOR) && torch)
        att_export_scalar(exporter, argument);
    else
        att_export_matrix(exporter, argument);
    if (wrap || reduced)
        att_put(&exporter->out, ")");
}

/* ", axis=1, keepdims=True" for the flags `rows` and `cols`. */
static void put_axis(att_exporter *exporter, const struct function_row *row, bool cols)
{
    if (row->flags & REDUCE)
        att_putf(&exporter->out,
                 exporter->language == ATT_EXPORT_PYTORCH ? ", dim=%d, keepdim=True"
                                                          : ", axis=%d, keepdims=True",
                 cols ? 0 : 1);
    else if (cols)
        att_putf(&exporter->out, ", axis=%d", row->flags & ORDER ? 1 : 0);
}

static const char *option_name(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(other_names); i++)
        if (strcmp(other_names[i].name, name) == 0)
            return other_names[i].python;
    return name;
}

/* ", score="dot"", ", causal=True", ", W=W_a". */
static void put_option(att_exporter *exporter, const att_function *function,
                       const struct function_row *row, const att_expr *option)
{
    const att_option_spec *spec = att_option_find(function, option->text);
    bool rows = strcmp(option->text, "rows") == 0, cols = strcmp(option->text, "cols") == 0;
    if (option->children == 0 && (rows || cols) && !(row->flags & FLAGS)) {
        put_axis(exporter, row, cols);
        return;
    }
    att_putf(&exporter->out, ", %s=", option_name(spec->name));
    const att_expr *value = option->children > 0 ? option->child[0] : NULL;
    bool word = value && (value->kind == ATT_EXPR_NAME || value->kind == ATT_EXPR_STRING);
    if (!value)
        att_put(&exporter->out, "True");
    else if (word &&
             (att_option_accepts_word(spec, value->text) || att_option_accepts_only_words(spec)))
        att_export_string(exporter, value->text);
    else if (att_export_type_of(exporter, value).kind == ATT_EXPORT_LIST)
        att_export_value(exporter, value); /* one matrix for each head */
    else
        att_export_matrix(exporter, value);
}

/* Whether the sheet would refuse the call: too many arguments, an option that the function lacks.
 */
static bool breaks_call(const att_exporter *exporter, const att_expr *node)
{
    const att_function *function = att_function_find(node->text);
    const att_export_function *own = att_export_function_find(exporter, node->text);
    size_t count = att_export_argument_count(node);
    bool rows = false, cols = false;
    if (own)
        return count != own->own->count || count != node->children;
    if (!function || count < function->min_args || count > function->max_args)
        return true;
    for (size_t i = count; i < node->children; i++) {
        const att_expr *option = node->child[i];
        const att_option_spec *spec = att_option_find(function, option->text);
        if (!spec || (option->children > 0) == att_option_is_flag(spec))
            return true;
        rows = rows || strcmp(option->text, "rows") == 0;
        cols = cols || strcmp(option->text, "cols") == 0;
        for (size_t j = count; j < i; j++)
            if (strcmp(node->child[j]->text, option->text) == 0)
                return true;
    }
    return rows && cols;
}

void att_export_call(att_exporter *exporter, const att_expr *node)
{
    const att_function *function = att_function_find(node->text);
    const struct function_row *row = row_of(node->text);
    size_t count = att_export_argument_count(node);
    const att_export_function *own = att_export_function_find(exporter, node->text);
    if (own) {
        att_export_own_call(exporter, own, node);
        return;
    }
    if (!function || !row) {
        att_export_refuse(exporter, "the function '%.80s' cannot be exported yet", node->text);
        return;
    }
    if (breaks_call(exporter, node)) { /* in a function that is never called */
        att_export_refuse(exporter, "the call of '%.80s' is not valid", node->text);
        return;
    }
    if (!row->callee[0]) { /* transpose(X) */
        att_export_use(exporter, "matrix");
        att_put(&exporter->out, "(");
        att_export_matrix(exporter, node->child[0]);
        att_put(&exporter->out, ").T");
        return;
    }
    put_callee(exporter, row->callee[exporter->language]);
    att_put(&exporter->out, "(");
    for (size_t i = 0; i < count; i++) {
        att_put(&exporter->out, i > 0 ? ", " : "");
        put_argument(exporter, row, node, node->child[i]);
    }
    for (size_t i = count; i < node->children; i++)
        put_option(exporter, function, row, node->child[i]);
    if (exporter->hand && (row->result || (row->flags & STEPS)))
        att_putf(&exporter->out, ", step=%s", exporter->rounding_name);
    att_put(&exporter->out, ")");
}

/* ---- Claims about errors */

static bool is_word_of_option(const att_expr *parent, const att_expr *child)
{
    return parent->kind == ATT_EXPR_OPTION &&
           (child->kind == ATT_EXPR_STRING || child->kind == ATT_EXPR_NAME);
}

bool att_export_breaks_language(const att_exporter *exporter, const att_expr *node)
{
    if (node->kind == ATT_EXPR_CALL && breaks_call(exporter, node))
        return true;
    if (node->kind == ATT_EXPR_STRING)
        return true;
    if (node->kind == ATT_EXPR_FIELD &&
        att_export_type_of(exporter, node->child[0]).kind != ATT_EXPORT_RECORD &&
        att_export_type_of(exporter, node->child[0]).kind != ATT_EXPORT_ANY)
        return true;
    if (att_export_is_gradient(exporter, node)) /* what has a gradient is the sheet's to say */
        return true;
    for (size_t i = 0; i < node->children && node->kind != ATT_EXPR_LOAD; i++)
        if (node->child[i] && !is_word_of_option(node, node->child[i]) &&
            att_export_breaks_language(exporter, node->child[i]))
            return true;
    return false;
}
