/* The diagrams of a document: the statement `diagram` in each format. */
#ifndef ATT_RENDER_DIAGRAM_PAGE_H
#define ATT_RENDER_DIAGRAM_PAGE_H

#include "render/page.h"

/* The title of the step, or what it draws: "Diagram of a". NULL when memory is out. */
const char *att_diagram_title(att_page *page, const att_trace_step *step);

/* Whether a sheet of the page has a diagram. */
bool att_page_has_diagram(const att_page *page);

/* A line for each computed value, in plain text: "y = f(x)   from x"; as a flow chart of Mermaid,
 * which Markdown viewers draw; as an SVG element with `id` before its ids; as TikZ pictures, one
 * for each row; as the members "nodes" and "edges" of a JSON object. */
void att_diagram_put_text(att_page *page, const att_trace_step *step, int indent);
void att_diagram_put_mermaid(att_page *page, const att_trace_step *step);
void att_diagram_put_svg(att_page *page, const att_trace_step *step, const char *id);
void att_diagram_put_tikz(att_page *page, const att_trace_step *step);
void att_diagram_put_json(att_page *page, const att_trace_step *step);

#endif
