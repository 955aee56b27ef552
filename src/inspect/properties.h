/* Properties of the places of a text, each a number: what units of a model are compared with when
 * one looks for those that keep track of something. */
#ifndef ATT_INSPECT_PROPERTIES_H
#define ATT_INSPECT_PROPERTIES_H

#include "inspect/scanner.h"

typedef struct att_property {
    const char *name;
    const char *help;
    bool is_binary; /* its values are 0 and 1 */
    double (*value)(const att_scanner *scan);
} att_property;

/* All of them; a report lists them in this order. */
extern const att_property att_properties[];
extern const int att_property_count;

#endif
