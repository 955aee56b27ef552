/* The frame of an HTML page. A page is one self-contained file: no network, no scripts. It follows
 * the light or dark mode of the reader and prints well. */
#include "render/html_page.h"

/* Fonts with a table for mathematics come first: without one, Chromium draws no root sign. */
static const char shared_style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6470;--paper:#ffffff;--line:#dfe3e8;"
    "--pass:#1a7f37;--fail:#c62828;--failbg:#fdecea;--card:#f6f8fa}\n"
    ":root{--math:\"Latin Modern Math\",\"STIX Two Math\",\"Cambria Math\","
    "\"DejaVu Math TeX Gyre\",\"Noto Sans Math\",math}\nmath{font-family:var(--math)}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b2;--paper:#15181d;"
    "--line:#323943;--pass:#57c27a;--fail:#ff8a80;--failbg:#3a1d1d;--card:#1d2229}}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:17px/1.55 system-ui,\"Noto Sans\",\"DejaVu Sans\",sans-serif}\n"
    "main{max-width:54rem;margin:0 auto;padding:2rem 1.25rem 4rem;overflow-wrap:break-word}\n"
    "h1{font-size:1.8rem;line-height:1.2;margin:1.5rem 0 .75rem}\n"
    "h2{font-size:1.35rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);"
    "padding-bottom:.2rem}\n"
    "h3{font-size:1.1rem;margin:1.6rem 0 .4rem}\n"
    "figure{margin:1.2rem 0;overflow-x:auto;overflow-y:hidden}\n"
    "figure svg{max-width:100%;height:auto;border-radius:6px}\n"
    "figcaption,footer{color:var(--soft);font-size:.88rem}\n"
    "footer{margin-top:3rem}\n"
    "@media print{body{font-size:11pt}main{max-width:none;padding:0}figure{break-inside:avoid}}\n";

void att_put_html_head(att_writer *out, const char *title, const char *style)
{
    att_put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n"
                 "<meta name=\"generator\" content=\"attend " ATT_VERSION "\"/>\n<title>");
    att_put_xml(out, title);
    att_put(out, "</title>\n<style>\n");
    att_put(out, shared_style);
    att_put(out, style);
}

void att_put_html_body(att_writer *out)
{
    att_put(out, "</style>\n</head>\n<body>\n<main>\n");
}

void att_put_html_end(att_writer *out)
{
    att_put(out, "</main>\n</body>\n</html>\n");
}
