/* A user's text in LaTeX. pdflatex sets only the letters its fonts have: ASCII, accented Latin
 * letters and Greek. A run of anything else is written
 *     \attendother{U+0986 U+09AE}{আম}{Noto Sans Bengali}{Script=Bengali}
 * of which pdflatex prints the code points, LuaLaTeX and XeLaTeX the characters in that font. */
#ifndef ATT_RENDER_TEX_H
#define ATT_RENDER_TEX_H

#include "render/writer.h"

/* In a paragraph. */
void att_put_tex(att_writer *out, const char *text);

/* In math mode, `length` bytes; with `raw`, characters beyond ASCII stand as they are (MathJax). */
void att_put_tex_math(att_writer *out, const char *text, size_t length, bool raw);

#endif
