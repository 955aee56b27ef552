/* Members of the batch and packed sequences, seen alike; see sequence.h. */
#include "attention/sequence.h"

int64_t att_sequence_count(const att_problem *p)
{
    return p->options->sequences > 0 ? p->options->sequences : p->B;
}

int64_t att_sequence_queries(const att_problem *p, int64_t sequence)
{
    const int64_t *starts = p->options->query_offsets;
    return p->options->sequences > 0 ? starts[sequence + 1] - starts[sequence] : p->T;
}

att_sequence_head att_sequence_head_get(const att_problem *p, int64_t sequence, int64_t h)
{
    att_sequence_head head = { .h = h, .g = h / (p->H / p->G), .queries = p->T, .keys = p->S };
    if (p->options->sequences == 0) {
        head.b = sequence;
        return head;
    }
    head.query_start = p->options->query_offsets[sequence];
    head.queries = att_sequence_queries(p, sequence);
    head.key_start = p->options->key_offsets[sequence];
    head.keys = p->options->key_offsets[sequence + 1] - head.key_start;
    return head;
}

int64_t att_sequence_find(const int64_t *starts, int64_t sequences, int64_t index)
{
    int64_t low = 0, high = sequences - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (starts[middle] <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
