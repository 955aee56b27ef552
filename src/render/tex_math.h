/* A small part of TeX's mathematics, which prose writes between dollar signs: letters, numbers,
 * operators, ^ _ { }, \frac, \sqrt, \text and the commands of a table. Whatever else is between the
 * dollar signs makes it plain text, so that no command of TeX reaches a document unseen. */
#ifndef ATT_RENDER_TEX_MATH_H
#define ATT_RENDER_TEX_MATH_H

#include "render/writer.h"

typedef enum att_math_style {
    ATT_MATH_UNICODE, /* x₁ + y² */
    ATT_MATH_ASCII,   /* x_1 + y^2 */
    ATT_MATH_TEX,     /* as TeX, ASCII alone */
    ATT_MATH_MATHJAX, /* as TeX, other characters as they are */
    ATT_MATH_MATHML,  /* the inside of <math> */
} att_math_style;

/* Whether `length` bytes are mathematics that can be shown. */
bool att_math_is_valid(const char *tex, size_t length);

/* Writes valid mathematics. */
void att_put_math(att_writer *out, const char *tex, size_t length, att_math_style style);

#endif
