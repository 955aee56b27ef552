/* A source read by the recurrent family's encoder; see recurrent.h. */
#include "model/recurrent.h"

#include <string.h>

void att_recurrent_encode(att_walk *walk, const att_sources *sources)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    walk->rows = sources->rows;
    walk->memory = (att_memory){ .lengths = sources->lengths };
    if (!parts->reads)
        return;
    if (parts->glimpse.reach > 0 && sources->length > parts->glimpse.reach) {
        att_tape_fail(tape, "location attention", "knows %lld source positions, and was given %lld",
                      (long long)parts->glimpse.reach, (long long)sources->length);
        return;
    }
    att_reader_ends ends = { 0 };
    walk->memory.values = att_reader_run(&parts->reader, tape, sources, &ends);
    memcpy(walk->state, ends.start, sizeof walk->state);
    if (parts->scored)
        walk->memory.keys = att_glimpse_keys(&parts->glimpse, tape, walk->memory.values);
    if (parts->fixed)
        walk->last = att_part(tape, ends.last, 0, parts->width);
}
