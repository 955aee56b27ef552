/* The beginning, shared style and end of every HTML page. */
#ifndef ATT_RENDER_HTML_PAGE_H
#define ATT_RENDER_HTML_PAGE_H

#include "render/writer.h"

/* Writes the head up to the style element, which stays open: the shared rules, then `style`; more
 * rules may follow. */
void att_put_html_head(att_writer *out, const char *title, const char *style);

/* Closes the head and opens <main>. */
void att_put_html_body(att_writer *out);

void att_put_html_end(att_writer *out);

#endif
