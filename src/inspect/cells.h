/* The search for units that keep track of something, as its own files share it:
 *
 *   cells.c         the search: a text read, every unit compared with every property
 *   cells_sample.c  passages of the text to show what was found on */
#ifndef ATT_INSPECT_CELLS_H
#define ATT_INSPECT_CELLS_H

#include "inspect/correlation.h"
#include "inspect/unit_states.h"
#include "inspect/properties.h"

struct att_cells {
    att_arena memory;
    att_cells_info facts;
    att_cells_property *rows;      /* [att_property_count] */
    att_cell_match **match_blocks; /* [att_property_count] what the matches of a row point to */
};

/* A search under way. */
typedef struct att_cell_search {
    const att_model *model;
    att_rnn_stack stack;
    att_encoding encoding;
    att_token_range search_range, held_out_range; /* parts of the text */
    int64_t nbest;                                /* units to keep of a property */
    att_cells *cells;                             /* what comes of it */
    int64_t tokens_read;                          /* tokens of both parts */
} att_cell_search;

/* The unit of `found` among those of all layers, from 0. */
static inline int64_t att_unit_index(const att_cell_search *search, const att_cell_match *found)
{
    return (found->unit.layer - 1) * search->stack.hidden_size + found->unit.unit - 1;
}

/* Fills in the samples of all rows that have found a unit. */
att_status att_cells_collect_samples(att_cell_search *search, att_error *err);

/* Moves a scan to the end of a token and gives the properties there. */
void att_scanner_advance_to(att_scanner *scan, const att_encoding *text, int64_t token,
                            double *properties);

/* The forms of att_cells_render(). */
att_status att_cells_json(att_string *text, const att_cells *cells, att_error *err);
att_status att_cells_html(att_string *text, const att_cells *cells, att_error *err);

#endif
