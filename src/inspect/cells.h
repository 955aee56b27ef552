/* The search for interpretable units of an RNN, as shared by
 *
 *   cells.c         the search: every unit is correlated with every property of a text
 *   cells_sample.c  passages of the text that illustrate the units found */
#ifndef ATT_INSPECT_CELLS_H
#define ATT_INSPECT_CELLS_H

#include "inspect/correlation.h"
#include "inspect/unit_states.h"
#include "inspect/properties.h"

struct att_cells {
    att_arena memory;
    att_cells_info info;
    int property_count;            /* built-in ones, then patterns */
    att_cells_property *rows;      /* [property_count] */
    att_cell_match **match_blocks; /* [property_count] what the matches of a row point to */
};

enum { ATT_MAX_PATTERNS = 16, ATT_MAX_PROPERTIES = 64 };

/* The state of a search. */
typedef struct att_cell_search {
    const att_model *model;
    att_rnn_stack stack;
    att_encoding encoding;
    att_token_range search_range, held_out_range; /* parts of the text */
    int64_t top;                                  /* units to keep per property */
    att_cells *cells;                             /* the result */
    int64_t tokens_read;                          /* in both parts */
    uint8_t *pattern_marks[ATT_MAX_PATTERNS];     /* [bytes of the text] 1 inside of a match */
} att_cell_search;

/* The index of a unit among the units of all layers, from 0. */
static inline int64_t att_unit_index(const att_cell_search *search, const att_cell_match *found)
{
    return (found->unit.layer - 1) * search->stack.hidden_size + found->unit.unit - 1;
}

/* Fills in the sample of each property that has a unit. */
att_status att_cells_collect_samples(att_cell_search *search, att_error *err);

/* A property at the character that the scanner has just read. */
double att_cells_property_value(const att_cell_search *search, int property,
                                const att_scanner *scanner);

/* Moves the scanner to the end of a token and writes the properties there. */
void att_cells_advance_to(const att_cell_search *search, att_scanner *scanner, int64_t token,
                          double *properties);

/* The forms of att_cells_render(). */
att_status att_cells_json(att_string *text, const att_cells *cells, att_error *err);
att_status att_cells_html(att_string *text, const att_cells *cells, att_error *err);

#endif
