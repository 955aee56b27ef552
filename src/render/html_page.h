/* How every HTML page of ours begins, and looks. */
#ifndef ATT_RENDER_HTML_PAGE_H
#define ATT_RENDER_HTML_PAGE_H

#include "render/writer.h"

/* The head, in which the style is left open: after the rules that all pages share and `style`, more
 * may follow. */
void att_put_html_head(att_writer *out, const char *title, const char *style);

/* From there to what stands in <main>. */
void att_put_html_body(att_writer *out);

void att_put_html_end(att_writer *out);

#endif
