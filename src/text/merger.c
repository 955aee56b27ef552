/* Pairs that can merge wait in a priority queue. A merge may invalidate pairs in the queue: an
 * entry counts only if its symbols still form the same token when it is popped. */
#include "text/merger.h"

#include "base/alloc.h"
#include "base/error.h"

typedef struct merge_table {
    att_merge_lookup lookup;
    const void *table;
    const char *text;
} merge_table;

att_status att_merger_start(att_merger *merger, size_t length)
{
    merger->count = 0;
    if (length > INT32_MAX)
        return ATT_NO_MEMORY;
    if (length <= merger->capacity)
        return ATT_OK;
    att_merge_symbol *symbols = att_realloc(merger->symbols, 0, length * 2, sizeof *symbols);
    if (!symbols)
        return ATT_NO_MEMORY;
    merger->symbols = symbols;
    merger->capacity = length * 2;
    return ATT_OK;
}

void att_merger_add(att_merger *merger, int32_t token, size_t start, size_t length)
{
    int32_t index = (int32_t)merger->count++;
    merger->symbols[index] = (att_merge_symbol){ .token = token,
                                                 .prev = index - 1,
                                                 .next = -1,
                                                 .start = (uint32_t)start,
                                                 .length = (uint32_t)length };
    if (index > 0)
        merger->symbols[index - 1].next = index;
}

/* The token that the symbol at `index` and the next one form, or -1. */
static int32_t token_at(const att_merger *merger, const merge_table *by, int32_t index)
{
    const att_merge_symbol *left = &merger->symbols[index];
    if (left->token < 0 || left->next < 0)
        return -1;
    return by->lookup(by->table, by->text, left, &merger->symbols[left->next]);
}

static att_status queue_pair(att_merger *merger, const merge_table *by, int32_t index)
{
    int32_t token = index < 0 ? -1 : token_at(merger, by, index);
    if (token < 0)
        return ATT_OK;
    return att_heap_push(&merger->queue, (att_heap_item){ .priority = (uint64_t)token,
                                                          .tie_breaker = (uint64_t)index,
                                                          .value = index });
}

static void merge_symbols(att_merger *merger, int32_t index, int32_t token)
{
    att_merge_symbol *left = &merger->symbols[index], *gone = &merger->symbols[left->next];
    left->token = token;
    left->length += gone->length;
    left->next = gone->next;
    gone->token = -1;
    if (left->next >= 0)
        merger->symbols[left->next].prev = index;
}

att_status att_merger_run(att_merger *merger, att_merge_lookup lookup, const void *table,
                          const char *text, att_ids *ids)
{
    const merge_table by = { lookup, table, text };
    att_heap_item item;
    merger->queue.count = 0;
    for (size_t i = 0; i + 1 < merger->count; i++)
        ATT_TRY(queue_pair(merger, &by, (int32_t)i));
    while (att_heap_pop(&merger->queue, &item)) {
        int32_t token = (int32_t)item.priority;
        if (token_at(merger, &by, item.value) != token)
            continue;
        merge_symbols(merger, item.value, token);
        ATT_TRY(queue_pair(merger, &by, merger->symbols[item.value].prev));
        ATT_TRY(queue_pair(merger, &by, item.value));
    }
    for (int32_t i = 0; merger->count > 0 && i >= 0; i = merger->symbols[i].next)
        ATT_TRY(att_ids_add(ids, merger->symbols[i].token));
    return ATT_OK;
}

void att_merger_free(att_merger *merger)
{
    att_free(merger->symbols);
    att_heap_free(&merger->queue);
    *merger = (att_merger){ 0 };
}
