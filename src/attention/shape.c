/* Matches the shapes of attention inputs against rules such as "B|1,T,Kq" and binds the dimension
 * letters; a mismatch is reported by the rule that it breaks. */
#include "attention/shape.h"

#include "base/error.h"
#include "base/minmax.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

/* The dimension letters in rules and messages; a name stands before its own prefixes. */
static const struct {
    const char *text;
    att_dim dim;
} dimension_names[] = {
    { "Kq+Kk", ATT_DIM_C }, { "Kq", ATT_DIM_KQ }, { "Kk", ATT_DIM_KK }, { "2R+1", ATT_DIM_R },
    { "B", ATT_DIM_B },     { "T", ATT_DIM_T },   { "S", ATT_DIM_S },   { "H", ATT_DIM_H },
    { "G", ATT_DIM_G },     { "M", ATT_DIM_M },   { "A", ATT_DIM_A },   { "P", ATT_DIM_P },
};

/* Mismatches with a well-known rule; all others are described by the letter. */
static const struct {
    const char *name;
    att_dim dim;
    const char *rule; /* %s is the score */
} named_rules[] = {
    { "key", ATT_DIM_KQ, "the %s score needs d_q = d_k" },
    { "key", ATT_DIM_B, "query and key need the same batch size" },
    { "value", ATT_DIM_S, "n_k = n_v is required" },
    { "value", ATT_DIM_B, "query and value need the same batch size" },
    { "value", ATT_DIM_G, "key and value need the same number of heads" },
};

/* Indices fit in 32 bits of the dropout counter, and sums of sizes and positions cannot overflow.
 */
#define MAX_DIMENSION ((int64_t)1 << 32)

typedef struct term {
    int name_index; /* index into dimension_names */
    bool or_one;
    bool at_least;
} term;

/* Reads one term and moves *rule past it and its comma. Rules are constants of this folder, so they
 * are valid. */
static term next_term(const char **rule)
{
    term found = { 0 };
    if (strncmp(*rule, ">=", 2) == 0) {
        found.at_least = true;
        *rule += 2;
    }
    while (strncmp(*rule, dimension_names[found.name_index].text,
                   strlen(dimension_names[found.name_index].text)) != 0)
        found.name_index++;
    *rule += strlen(dimension_names[found.name_index].text);
    if (strncmp(*rule, "|1", 2) == 0) {
        found.or_one = true;
        *rule += 2;
    }
    if (**rule == ',')
        (*rule)++;
    return found;
}

static int rule_rank(const char *rule)
{
    int rank = 1;
    for (; *rule; rule++)
        rank += *rule == ',';
    return rank;
}

/* Checks that do not depend on other tensors. */
static att_status check_tensor(const char *name, const att_tensor *tensor, const char *rule,
                               att_error *err)
{
    char text[ATT_SHAPE_STRING_SIZE];
    if (tensor->rank != rule_rank(rule))
        return att_fail(err, ATT_BAD_INPUT, "attention", "%s has %d dimensions, expected %d: [%s]",
                        name, tensor->rank, rule_rank(rule), rule);
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->shape[d] < 0 || tensor->shape[d] > MAX_DIMENSION)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s %s has a size out of range, expected 0 to 2^32", name,
                            att_shape_to_string(text, tensor->rank, tensor->shape));
    if (!tensor->data && !att_tensor_is_empty(tensor))
        return att_fail(err, ATT_BAD_INPUT, "attention", "%s %s has no data", name,
                        att_shape_to_string(text, tensor->rank, tensor->shape));
    return ATT_OK;
}

static att_status mismatch(const att_shape_bindings *shapes, const char *name,
                           const att_tensor *tensor, int d, term want, const char *rule,
                           const char *score, att_error *err)
{
    att_dim dim = dimension_names[want.name_index].dim;
    char sentence[160];
    snprintf(sentence, sizeof sentence, "dimension %d of %s [%s] must be %s%s%s", d, name, rule,
             want.at_least ? "at least " : "", dimension_names[want.name_index].text,
             want.or_one ? " or 1" : "");
    for (size_t r = 0; r < ATT_COUNT(named_rules); r++)
        if (named_rules[r].dim == dim && strcmp(named_rules[r].name, name) == 0)
            snprintf(sentence, sizeof sentence, named_rules[r].rule, score);
    char first[ATT_SHAPE_STRING_SIZE];
    char second[ATT_SHAPE_STRING_SIZE];
    return att_fail(
        err, ATT_BAD_INPUT, "attention", "%s %s and %s %s: %s, but %lld %s %lld",
        shapes->dim[dim].name,
        att_shape_to_string(first, shapes->dim[dim].tensor->rank, shapes->dim[dim].tensor->shape),
        name, att_shape_to_string(second, tensor->rank, tensor->shape), sentence,
        (long long)shapes->dim[dim].size, want.at_least ? ">" : "≠", (long long)tensor->shape[d]);
}

att_status att_shape_match(att_shape_bindings *shapes, const char *name, const att_tensor *tensor,
                           const char *rule, const char *score, att_error *err)
{
    ATT_TRY(check_tensor(name, tensor, rule, err));
    const char *rest = rule;
    for (int d = 0; d < tensor->rank; d++) {
        term want = next_term(&rest);
        att_dim dim = dimension_names[want.name_index].dim;
        int64_t size = tensor->shape[d];
        if (!shapes->dim[dim].known)
            att_shape_set(shapes, dim, size, name, tensor);
        int64_t known = shapes->dim[dim].size;
        bool fits = size == known || (want.or_one && size == 1) || (want.at_least && size > known);
        if (!fits)
            return mismatch(shapes, name, tensor, d, want, rule, score, err);
    }
    return ATT_OK;
}

att_status att_shape_check_dtype(const char *name, const att_tensor *tensor, bool half,
                                 att_error *err)
{
    if (!half)
        return att_tensor_check_float("attention", name, tensor, err);
    if (att_dtype_size(tensor->dtype) > 0 && tensor->dtype != ATT_I8)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "attention",
                    "%s: expected float32, float64, float16 or bfloat16, found %s", name,
                    att_dtype_name(tensor->dtype));
}

void att_shape_set(att_shape_bindings *shapes, att_dim dim, int64_t size, const char *name,
                   const att_tensor *tensor)
{
    shapes->dim[dim].known = true;
    shapes->dim[dim].size = size;
    shapes->dim[dim].name = name;
    shapes->dim[dim].tensor = tensor;
}

att_status att_shape_writable(const char *name, const att_tensor *tensor, att_error *err)
{
    char text[ATT_SHAPE_STRING_SIZE];
    if (att_tensor_is_empty(tensor))
        return ATT_OK; /* strides of an empty tensor mean nothing */
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->stride[d] == 0 && tensor->shape[d] > 1)
            return att_fail(err, ATT_BAD_INPUT, "attention",
                            "%s %s is a broadcast view (stride 0 in dimension %d): "
                            "expected one memory location per element",
                            name, att_shape_to_string(text, tensor->rank, tensor->shape), d);
    return ATT_OK;
}

/* The addresses of a tensor that is not empty, from its lowest byte to the one after its highest.
 */
typedef struct address_range {
    uintptr_t begin, end;
    bool dense; /* the elements fill the range */
} address_range;

static address_range addresses_of(const att_tensor *tensor)
{
    size_t size = att_dtype_size(tensor->dtype), below = 0, above = 0, count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        size_t last = (size_t)tensor->shape[d] - 1;
        if (tensor->stride[d] < 0)
            below += last * (size_t)-tensor->stride[d];
        else
            above += last * (size_t)tensor->stride[d];
        count *= (size_t)tensor->shape[d];
    }
    uintptr_t data = (uintptr_t)tensor->data;
    return (address_range){ data - below * size, data + (above + 1) * size,
                            count == below + above + 1 };
}

static bool contains(const address_range *range, uintptr_t address)
{
    return address >= range->begin && address < range->end;
}

/* Whether an element of `b` is certainly in `a`. Its lowest and highest byte are of elements. */
static bool holds_part(const address_range *a, const address_range *b)
{
    return a->begin == b->begin || a->end == b->end ||
           (a->dense && (contains(a, b->begin) || contains(a, b->end - 1)));
}

att_status att_shape_disjoint(const char *name, const att_tensor *tensor, const char *other_name,
                              const att_tensor *other, att_error *err)
{
    if (att_tensor_is_empty(tensor) || att_tensor_is_empty(other))
        return ATT_OK;
    address_range a = addresses_of(tensor), b = addresses_of(other);
    if (!holds_part(&a, &b) && !holds_part(&b, &a))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "attention", "%s and %s overlap", name, other_name);
}

att_status att_shape_same(const char *name, const att_tensor *tensor, const char *like_name,
                          const att_tensor *like, att_error *err)
{
    char first[ATT_SHAPE_STRING_SIZE];
    char second[ATT_SHAPE_STRING_SIZE];
    bool same = tensor->rank == like->rank;
    for (int d = 0; same && d < like->rank; d++)
        same = tensor->shape[d] == like->shape[d];
    if (!same)
        return att_fail(err, ATT_BAD_INPUT, "attention",
                        "%s %s and %s %s: a gradient has the shape of its input", like_name,
                        att_shape_to_string(first, like->rank, like->shape), name,
                        att_shape_to_string(second, tensor->rank, tensor->shape));
    ATT_TRY(att_shape_check_dtype(name, tensor, false, err));
    if (!tensor->data && !att_tensor_is_empty(tensor))
        return att_fail(err, ATT_BAD_INPUT, "attention", "%s %s has no data", name,
                        att_shape_to_string(second, tensor->rank, tensor->shape));
    return ATT_OK;
}
