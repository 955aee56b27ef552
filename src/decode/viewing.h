/* Pictures on their way through the search, a batch at a time. */
#ifndef ATT_DECODE_VIEWING_H
#define ATT_DECODE_VIEWING_H

#include "decode/search.h"
#include "text/grids.h"

enum { ATT_VIEWED = 64 }; /* pictures to a batch at most */

typedef struct att_viewing {
    const att_grids *grids;
    att_decoding how;
    att_search *search;
    int64_t cells; /* that the model looks at */
    float *batch;  /* [ATT_VIEWED, width of a picture] */
    int64_t lengths[ATT_VIEWED];
    uint64_t numbers[ATT_VIEWED];
} att_viewing;

/* Opens a search over pictures, which are lent. What is said of them is made of known tokens alone:
 * there is no source that an unknown one could stand for. Pictures of another size than the model's
 * are ATT_BAD_INPUT. Release with att_viewing_close(), whether it succeeded or not. */
att_status att_viewing_open(att_viewing *out, att_model *model, const att_grids *grids,
                            const att_decoding *how, att_error *err);
void att_viewing_close(att_viewing *viewing);

/* Searches for what is to be said of `rows` pictures by their numbers; what was found is
 * att_search_found() of viewing->search. `forced` [rows] may be NULL. */
att_status att_viewing_run(att_viewing *viewing, const int64_t *pictures, int64_t rows,
                           const att_forced *forced, const att_keep *keep, att_error *err);

#endif
