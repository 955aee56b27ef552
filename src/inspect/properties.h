/* Properties of positions in a text, such as "inside quotation marks": the units of an RNN are
 * correlated with them to find interpretable units. */
#ifndef ATT_INSPECT_PROPERTIES_H
#define ATT_INSPECT_PROPERTIES_H

#include "inspect/scanner.h"

typedef struct att_property {
    const char *name;
    const char *help;
    bool is_binary; /* the values are 0 and 1 */
    double (*value)(const att_scanner *scanner);
} att_property;

/* In the order of the report. */
extern const att_property att_properties[];
extern const int att_property_count;

#endif
