/* The list of alternatives between its computation (alternatives.c) and its rendering
 * (alternatives_render.c). */
#ifndef ATT_INSPECT_ALTERNATIVES_H
#define ATT_INSPECT_ALTERNATIVES_H

#include "attend.h"

#include "base/arena.h"

struct att_alternatives {
    att_arena memory;
    att_model_type type;
    att_alternative_step *steps; /* [count] */
    size_t count;
};

#endif
