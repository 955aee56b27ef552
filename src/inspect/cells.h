/* The search for units that keep track of something, as its own files share it:
 *
 *   cells.c         the search: a text read, every unit compared with every property
 *   cells_sample.c  passages of the text to show what was found on */
#ifndef ATT_INSPECT_CELLS_H
#define ATT_INSPECT_CELLS_H

#include "inspect/correlate.h"
#include "inspect/states.h"
#include "text/properties.h"

struct att_cells {
    att_arena memory;
    att_cells_facts facts;
    att_cells_row *rows; /* [att_property_count] */
};

/* A search under way. */
typedef struct att_search {
    att_model *model;
    att_tower tower;
    att_spelt text;
    att_stretch searched, held; /* parts of the text */
    int64_t best;               /* units to keep of a property */
    att_cells *cells;           /* what comes of it */
    const att_cells_how *how;
    int64_t read; /* tokens of both parts */
} att_search;

/* The unit of `found` among those of all layers, from 0. */
static inline int64_t att_unit_index(const att_search *search, const att_cell_found *found)
{
    return (found->unit.layer - 1) * search->tower.width + found->unit.unit - 1;
}

/* Fills in the samples of all rows that have found a unit. */
att_status att_cells_take_samples(att_search *search, att_error *err);

/* Moves a scan to the end of a token and gives the properties there. */
void att_scan_token(att_scan *scan, const att_spelt *text, int64_t token, double *properties);

#endif
