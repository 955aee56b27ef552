/* A step shared by several processes: sums by the tree, slices of the parameters, totals. */
#include "train/exchange.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "train/optimizer.h"

#include <math.h>
#include <string.h>

/* Small enough that the first are sent early in the backward pass, large enough that the time of a
 * message is that of its bytes: 1 MiB. */
enum { BUCKET_BLOCKS = 8 };

att_range att_share(int64_t n, int rank, int count)
{
    return (att_range){ n * rank / count, n * (rank + 1) / count };
}

/* ---- dividing the parameters */

static att_range slice_of(const att_exchange *exchange, int rank)
{
    int64_t size = (int64_t)exchange->size;
    att_range blocks =
        att_share(att_ceil_div_i64(size, ATT_NORM_BLOCK), rank, exchange->group.count);
    return (att_range){ att_min_i64(blocks.begin * ATT_NORM_BLOCK, size),
                        att_min_i64(blocks.end * ATT_NORM_BLOCK, size) };
}

static size_t slice_size(const att_exchange *exchange)
{
    return (size_t)(exchange->slice.end - exchange->slice.begin);
}

static void add_buckets(att_exchange *exchange, int owner)
{
    const size_t length = (size_t)BUCKET_BLOCKS * ATT_NORM_BLOCK;
    att_range slice = slice_of(exchange, owner);
    if (owner == exchange->group.rank)
        exchange->first_bucket = exchange->bucket_count;
    for (size_t at = (size_t)slice.begin, end = (size_t)slice.end; at < end; at += length)
        exchange->buckets[exchange->bucket_count++] = (att_bucket){
            .begin = at, .end = at + length < end ? at + length : end, .owner = owner
        };
    if (owner == exchange->group.rank)
        exchange->past_bucket = exchange->bucket_count;
}

static bool overlaps(const att_bucket *bucket, const att_param *param)
{
    return param->offset < bucket->end && param->offset + param->count > bucket->begin;
}

att_status att_exchange_new(att_exchange *out, att_transport *transport, att_error *err)
{
    *out = (att_exchange){ 0 };
    return att_group_new(&out->group, transport, err);
}

att_status att_exchange_divide(att_exchange *exchange, const att_params *params, att_error *err)
{
    size_t blocks = params->size / ATT_NORM_BLOCK + 1;
    exchange->size = params->size;
    exchange->slice = slice_of(exchange, exchange->group.rank);
    exchange->block_sums = att_alloc(blocks, sizeof *exchange->block_sums);
    if (!exchange->block_sums)
        return att_fail_memory(err);
    if (exchange->group.count == 1)
        return ATT_OK;
    exchange->buckets = att_alloc_zero(blocks + 1, sizeof *exchange->buckets);
    size_t others = (size_t)exchange->group.count * (1 + (ATT_TREE_MAX_NODES + 1) * ATT_SUM_COUNT);
    exchange->message = att_alloc(blocks + others, sizeof *exchange->message);
    if (!exchange->buckets || !exchange->message)
        return att_fail_memory(err);
    for (int r = 0; r < exchange->group.count; r++)
        add_buckets(exchange, r);
    if (exchange->bucket_count > 32767 - ATT_TAG_BUCKET)
        return att_fail(err, ATT_UNSUPPORTED, NULL,
                        "%zu parameters are too many for a run shared "
                        "by processes",
                        params->size);
    for (size_t b = 0; b < exchange->bucket_count; b++)
        for (int i = 0; i < params->count; i++)
            exchange->buckets[b].params += overlaps(&exchange->buckets[b], &params->items[i]);
    return ATT_OK;
}

void att_exchange_free(att_exchange *exchange)
{
    att_group_free(&exchange->group);
    att_free(exchange->buckets);
    att_free(exchange->nodes);
    att_free(exchange->received);
    att_free(exchange->message);
    att_free(exchange->block_sums);
    *exchange = (att_exchange){ 0 };
}

/* ---- the nodes of a step */

/* Lists the nodes of all processes. */
static att_status list_nodes(att_exchange *exchange, int64_t leaves, att_error *err)
{
    att_tree_node cover[ATT_TREE_MAX_NODES + 1];
    exchange->node_count = 0;
    for (int r = 0; r < exchange->group.count; r++) {
        att_range range = att_share(leaves, r, exchange->group.count);
        int count = att_tree_cover(cover, leaves, range.begin, range.end, NULL);
        size_t held = (size_t)exchange->node_count, needed = held + (size_t)count;
        if (needed > exchange->node_capacity) {
            att_tree_node *moved =
                att_realloc(exchange->nodes, held * sizeof *moved, 2 * needed, sizeof *moved);
            if (!moved)
                return att_fail_memory(err);
            exchange->nodes = moved;
            exchange->node_capacity = 2 * needed;
        }
        if (r == exchange->group.rank)
            exchange->first_node = exchange->node_count;
        if (count > 0)
            memcpy(exchange->nodes + held, cover, (size_t)count * sizeof *cover);
        exchange->node_count += count;
        if (r == exchange->group.rank)
            exchange->past_node = exchange->node_count;
    }
    exchange->sent_nodes = 0;
    return ATT_OK;
}

static bool is_own(const att_exchange *exchange, int node)
{
    return node >= exchange->first_node && node < exchange->past_node;
}

/* The process that holds a node. */
static int holder(const att_exchange *exchange, int node)
{
    int rank = 0;
    while (att_share(exchange->leaves, rank, exchange->group.count).end <=
           exchange->nodes[node].begin)
        rank++;
    return rank;
}

/* Memory for the own slice of the other processes' nodes. Each starts at a block of its own. */
static att_status place_received(att_exchange *exchange, att_error *err)
{
    size_t slice = slice_size(exchange);
    size_t others = (size_t)(exchange->node_count - (exchange->past_node - exchange->first_node));
    if (others * slice > exchange->received_size) {
        att_free(exchange->received);
        exchange->received_size = 0;
        exchange->received = att_alloc(others, slice * sizeof *exchange->received);
        if (!exchange->received)
            return att_fail_memory(err);
        exchange->received_size = others * slice;
    }
    float *at = exchange->received;
    for (int n = 0; slice > 0 && n < exchange->node_count; n++)
        if (!is_own(exchange, n)) {
            exchange->nodes[n].grad = at;
            at += slice;
        }
    return ATT_OK;
}

static int bucket_tag(const att_exchange *exchange, const att_bucket *bucket)
{
    return ATT_TAG_BUCKET + (int)(bucket - exchange->buckets);
}

/* From the last bucket to the first, as backward passes send them: MPI searches the receives in
 * the order in which they were started. */
static att_status start_receiving(att_exchange *exchange, att_error *err)
{
    for (size_t b = exchange->past_bucket; b-- > exchange->first_bucket;) {
        const att_bucket *bucket = &exchange->buckets[b];
        size_t at = bucket->begin - (size_t)exchange->slice.begin;
        for (int n = 0; n < exchange->node_count; n++)
            if (!is_own(exchange, n))
                ATT_TRY(att_group_receive(&exchange->group, holder(exchange, n),
                                          bucket_tag(exchange, bucket),
                                          exchange->nodes[n].grad + at,
                                          (bucket->end - bucket->begin) * sizeof(float), err));
    }
    return ATT_OK;
}

att_status att_exchange_begin(att_exchange *exchange, att_params *params, att_gradient_tree *tree,
                              int64_t leaves, att_range *own, att_error *err)
{
    *own = att_share(leaves, exchange->group.rank, exchange->group.count);
    exchange->params = params;
    exchange->tree = tree;
    exchange->leaves = leaves;
    att_gradient_tree_begin(tree, params, leaves);
    if (exchange->group.count == 1)
        return ATT_OK;
    ATT_TRY(list_nodes(exchange, leaves, err));
    ATT_TRY(place_received(exchange, err));
    return start_receiving(exchange, err);
}

/* ---- a micro-batch */

static att_status send_bucket(att_exchange *exchange, const att_bucket *bucket, const float *block,
                              att_error *err)
{
    if (bucket->owner == exchange->group.rank)
        return ATT_OK;
    return att_group_send(&exchange->group, bucket->owner, bucket_tag(exchange, bucket),
                          block + bucket->begin, (bucket->end - bucket->begin) * sizeof(float),
                          err);
}

void att_exchange_begin_leaf(att_exchange *exchange, bool is_last)
{
    exchange->is_last_leaf = is_last && exchange->group.count > 1;
    exchange->error.status = ATT_OK;
    for (size_t b = 0; exchange->is_last_leaf && b < exchange->bucket_count; b++)
        exchange->buckets[b].pending = exchange->buckets[b].params;
}

/* The bucket of the last micro-batch is final: adds it to the last node and sends it. */
static void finish_bucket(att_exchange *exchange, att_bucket *bucket)
{
    const float *block =
        att_gradient_tree_add(exchange->tree, exchange->params, bucket->begin, bucket->end);
    bucket->pending = -1;
    if (exchange->error.status == ATT_OK)
        send_bucket(exchange, bucket, block, &exchange->error);
}

void att_exchange_on_final(void *context, int param)
{
    att_exchange *exchange = context;
    double sent = exchange->group.sent_bytes;
    if (!exchange->is_last_leaf)
        return;
    const att_param *item = &exchange->params->items[param];
    for (size_t b = 0; b < exchange->bucket_count; b++) {
        att_bucket *bucket = &exchange->buckets[b];
        if (bucket->pending > 0 && overlaps(bucket, item) && --bucket->pending == 0)
            finish_bucket(exchange, bucket);
    }
    exchange->group.overlap_bytes += exchange->group.sent_bytes - sent;
    if (exchange->error.status == ATT_OK)
        att_group_poll(&exchange->group, &exchange->error);
}

/* Sends the nodes that no later micro-batch of this process adds to. */
static att_status send_complete_nodes(att_exchange *exchange, att_error *err)
{
    const att_gradient_tree *tree = exchange->tree;
    for (; exchange->sent_nodes < tree->count; exchange->sent_nodes++) {
        const att_tree_node *node = &tree->nodes[exchange->sent_nodes];
        const att_tree_node *planned =
            &exchange->nodes[exchange->first_node + exchange->sent_nodes];
        if (node->begin != planned->begin || node->end != planned->end)
            break;
        for (size_t b = 0; b < exchange->bucket_count; b++)
            ATT_TRY(send_bucket(exchange, &exchange->buckets[b], node->grad, err));
    }
    return ATT_OK;
}

att_status att_exchange_end_leaf(att_exchange *exchange, const double sums[ATT_SUM_COUNT],
                                 att_error *err)
{
    if (exchange->is_last_leaf)
        for (size_t b = 0; b < exchange->bucket_count; b++) {
            if (exchange->buckets[b].pending >= 0) /* has parameters that the model did not use */
                finish_bucket(exchange, &exchange->buckets[b]);
        }
    else
        att_gradient_tree_add(exchange->tree, exchange->params, 0, exchange->size);
    if (exchange->error.status != ATT_OK) {
        if (err)
            *err = exchange->error;
        return exchange->error.status;
    }
    att_gradient_tree_end_leaf(exchange->tree, exchange->params, sums);
    if (exchange->group.count == 1 || exchange->is_last_leaf)
        return ATT_OK;
    return send_complete_nodes(exchange, err);
}

/* ---- sums */

/* Adds the nodes of a bucket from left to right; the sum is in the first. */
static const float *sum_bucket(const att_exchange *exchange, const att_bucket *bucket)
{
    struct {
        int64_t begin, end;
        float *at;
    } stack[ATT_TREE_MAX_NODES + 1];
    int held = 0;
    for (int n = 0; n < exchange->node_count; n++) {
        const att_tree_node *node = &exchange->nodes[n];
        size_t first = is_own(exchange, n) ? 0 : (size_t)exchange->slice.begin;
        stack[held].begin = node->begin;
        stack[held].end = node->end;
        stack[held++].at = node->grad + (bucket->begin - first);
        for (; held > 1 && att_tree_are_siblings(exchange->leaves, stack[held - 2].begin,
                                                 stack[held - 2].end, stack[held - 1].end);
             held--) {
            att_gradient_add(stack[held - 2].at, stack[held - 1].at, bucket->end - bucket->begin);
            stack[held - 2].end = stack[held - 1].end;
        }
    }
    return stack[0].at;
}

att_status att_exchange_sum(att_exchange *exchange, att_error *err)
{
    att_params *params = exchange->params;
    att_gradient_tree *tree = exchange->tree;
    if (exchange->group.count == 1) {
        att_tree_sum(exchange->own_sums, exchange->leaves, tree->nodes, tree->count);
        return att_gradient_tree_end(tree, params, err);
    }
    ATT_TRY(att_group_wait(&exchange->group, err));
    for (int i = 0; i < tree->count; i++)
        exchange->nodes[exchange->first_node + i] = tree->nodes[i];
    ATT_TRY(att_gradient_tree_end(tree, params, err));
    for (size_t b = exchange->first_bucket; b < exchange->past_bucket; b++) {
        const att_bucket *bucket = &exchange->buckets[b];
        const float *sum = sum_bucket(exchange, bucket);
        if (sum != params->grad + bucket->begin)
            memcpy(params->grad + bucket->begin, sum, (bucket->end - bucket->begin) * sizeof *sum);
    }
    return ATT_OK;
}

/* ---- totals */

static size_t block_count(size_t floats)
{
    return att_ceil_div(floats, ATT_NORM_BLOCK);
}

/* The doubles that process `rank` tells the others. *node: its first node, then the one past its
 * last. */
static size_t message_length(const att_exchange *exchange, int rank, int *node)
{
    att_range slice = slice_of(exchange, rank);
    int64_t end = att_share(exchange->leaves, rank, exchange->group.count).end;
    int first = *node;
    while (*node < exchange->node_count && exchange->nodes[*node].begin < end)
        ++*node;
    return 1 + (size_t)(*node - first) * ATT_SUM_COUNT +
           block_count((size_t)(slice.end - slice.begin));
}

/* Flags, sums of the own nodes, and sums of squares of the own slice. */
static void write_message(const att_exchange *exchange, unsigned flags, double *at)
{
    *at++ = (double)flags;
    for (int n = exchange->first_node; n < exchange->past_node; n++, at += ATT_SUM_COUNT)
        memcpy(at, exchange->nodes[n].sums, sizeof exchange->nodes[n].sums);
    if (slice_size(exchange) > 0)
        att_squares(at, exchange->params->grad + exchange->slice.begin, slice_size(exchange));
}

/* Every process tells every other: one latency, where gathering and broadcasting would take
 * 1 + log2(P) of them. The messages of all are in exchange->message, one after the other. */
static att_status share_messages(att_exchange *exchange, unsigned flags, att_error *err)
{
    att_group *group = &exchange->group;
    double *at = exchange->message, *own = at;
    size_t own_length = 0;
    for (int r = 0, node = 0; r < group->count; r++) {
        size_t length = message_length(exchange, r, &node);
        if (r == group->rank) {
            own = at;
            own_length = length;
        } else {
            ATT_TRY(att_group_receive(group, r, ATT_TAG_GATHER, at, length * sizeof *at, err));
        }
        at += length;
    }
    write_message(exchange, flags, own);
    for (int i = 1; i < group->count; i++)
        ATT_TRY(att_group_send(group, (group->rank + i) % group->count, ATT_TAG_GATHER, own,
                               own_length * sizeof *own, err));
    return att_group_wait(group, err);
}

static void read_messages(att_exchange *exchange, unsigned *flags)
{
    const double *at = exchange->message;
    double *sums = exchange->block_sums;
    for (int r = 0, node = 0; r < exchange->group.count; r++) {
        int first = node;
        const double *end = at + message_length(exchange, r, &node);
        *flags |= (unsigned)*at++;
        for (int n = first; n < node; n++, at += ATT_SUM_COUNT)
            memcpy(exchange->nodes[n].sums, at, sizeof exchange->nodes[n].sums);
        while (at < end)
            *sums++ = *at++;
    }
}

static double fold_norm(const double *sums, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < block_count(size); i++)
        sum += sums[i];
    return sqrt(sum);
}

att_status att_exchange_totals(att_exchange *exchange, att_step_totals *out, unsigned flags,
                               att_error *err)
{
    *out = (att_step_totals){ .flags = flags };
    if (exchange->group.count == 1) {
        memcpy(out->sums, exchange->own_sums, sizeof out->sums);
        out->norm = att_l2_norm(exchange->params->grad, exchange->size, exchange->block_sums);
        return ATT_OK;
    }
    ATT_TRY(share_messages(exchange, flags, err));
    read_messages(exchange, &out->flags);
    att_tree_sum(out->sums, exchange->leaves, exchange->nodes, exchange->node_count);
    out->norm = fold_norm(exchange->block_sums, exchange->size);
    return ATT_OK;
}

/* ---- slices */

att_status att_exchange_slices(att_exchange *exchange, float *values, att_error *err)
{
    att_group *group = &exchange->group;
    for (int r = 0; r < group->count; r++) {
        att_range theirs = slice_of(exchange, r);
        if (r != group->rank)
            ATT_TRY(att_group_receive(group, r, ATT_TAG_SLICE, values + theirs.begin,
                                      (size_t)(theirs.end - theirs.begin) * sizeof *values, err));
    }
    for (int i = 1; i < group->count; i++) /* not all to process 0 first */
        ATT_TRY(att_group_send(group, (group->rank + i) % group->count, ATT_TAG_SLICE,
                               values + exchange->slice.begin,
                               slice_size(exchange) * sizeof *values, err));
    return att_group_wait(group, err);
}

att_status att_exchange_gather(att_exchange *exchange, float *values, const float *slice,
                               att_error *err)
{
    att_group *group = &exchange->group;
    if (group->rank > 0) {
        ATT_TRY(att_group_send(group, 0, ATT_TAG_SLICE, slice, slice_size(exchange) * sizeof *slice,
                               err));
        return att_group_wait(group, err);
    }
    if (slice_size(exchange) > 0)
        memcpy(values, slice, slice_size(exchange) * sizeof *slice);
    for (int r = 1; r < group->count; r++) {
        att_range theirs = slice_of(exchange, r);
        ATT_TRY(att_group_receive(group, r, ATT_TAG_SLICE, values + theirs.begin,
                                  (size_t)(theirs.end - theirs.begin) * sizeof *values, err));
    }
    return att_group_wait(group, err);
}
