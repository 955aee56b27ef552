/* Render options with only a format, for tests. */
#ifndef RENDER_AS_H
#define RENDER_AS_H

#include "attend.h"

#define RENDER_AS(format_)                                                                         \
    (&(const att_render_options){ .size = sizeof(att_render_options), .format = (format_) })

#endif
