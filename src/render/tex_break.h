/* Lines of TeX mathematics for Markdown: MathJax and KaTeX do not break a formula, so a wide sum
 * would run out of the page. */
#ifndef ATT_RENDER_TEX_BREAK_H
#define ATT_RENDER_TEX_BREAK_H

#include "render/writer.h"

/* The width of a formula, in digits: an estimate from its TeX. */
int64_t att_tex_width(const char *tex);

/* The same of its widest part that cannot be broken. */
int64_t att_tex_widest_piece(const char *tex);

/* A row of an `aligned` block, broken before + - = ≈ and after commas, outside of braces, stretched
 * parentheses and matrices where it would be wider than `width`. */
void att_put_tex_broken(att_writer *out, const char *tex, int64_t width);

#endif
