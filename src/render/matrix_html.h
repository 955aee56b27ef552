/* Matrices in HTML: tables with brackets, whose columns align and whose labels are headers. */
#ifndef ATT_RENDER_MATRIX_HTML_H
#define ATT_RENDER_MATRIX_HTML_H

#include "render/view.h"
#include "render/writer.h"

void att_matrix_put_html(att_writer *out, const att_view *view);

#endif
