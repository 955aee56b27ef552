/* The shapes of a diagram as a LaTeX document with one TikZ picture. */
#include "render/diagram.h"

#include <inttypes.h>

static void put_rgb(att_writer *out, const char *name, att_rgb color)
{
    att_putf(out, "%s={rgb,255:red,%d;green,%d;blue,%d}", name, color.red, color.green, color.blue);
}

static void put_box(att_writer *out, const att_canvas_shape *s)
{
    att_put(out, s->square ? "\\path[" : "\\path[draw,rounded corners=6,");
    put_rgb(out, "fill", s->fill);
    if (!s->square) {
        att_put(out, ",");
        put_rgb(out, "draw", s->stroke);
    }
    att_putf(out, "%s] (%" PRId64 ",%" PRId64 ") rectangle (%" PRId64 ",%" PRId64 ");\n",
             s->dashed ? ",dashed" : "", s->x, s->y, s->x + s->width, s->y + s->height);
}

static void put_text(att_writer *out, const att_canvas_shape *s)
{
    static const char *const anchors[] = {
        [ATT_TEXT_MIDDLE] = "base", [ATT_TEXT_START] = "base west", [ATT_TEXT_END] = "base east"
    };
    /* Letters of the document's font are wider than those of SVG's: 0.85 of the size. */
    att_putf(out,
             "\\node[anchor=%s,inner sep=0,font=\\sffamily%s\\fontsize{%d.%d}{%d}\\selectfont,",
             anchors[s->anchor], s->bold ? "\\bfseries" : "", s->size * 85 / 100,
             s->size * 85 % 100 / 10, s->size);
    put_rgb(out, "text", s->stroke);
    att_putf(out, "] at (%" PRId64 ",%" PRId64 ") {", s->x, s->y);
    att_put_tex(out, s->text);
    att_put(out, "};\n");
}

static void put_line(att_writer *out, const att_canvas_shape *s)
{
    att_putf(out, "\\draw[arrow%s] (%" PRId64 ",%" PRId64 ")", s->dashed ? ",dashed" : "",
             s->points[0].x, s->points[0].y);
    for (size_t i = 1; i < s->point_count; i++) {
        att_point a = s->points[i - 1], b = s->points[i];
        int64_t y = (a.y + b.y) / 2;
        if (s->curved && a.x != b.x)
            att_putf(out, " .. controls (%" PRId64 ",%" PRId64 ") and (%" PRId64 ",%" PRId64 ") ..",
                     a.x, y, b.x, y);
        else
            att_put(out, " --");
        att_putf(out, " (%" PRId64 ",%" PRId64 ")", b.x, b.y);
    }
    att_put(out, ";\n");
}

void att_canvas_tikz_picture(att_writer *out, const att_canvas *canvas, int64_t width, int64_t top,
                             int64_t foot)
{
    static void (*const writers[])(att_writer * out, const att_canvas_shape *s) = {
        [ATT_SHAPE_BOX] = put_box, [ATT_SHAPE_TEXT] = put_text, [ATT_SHAPE_LINE] = put_line
    };
    att_put(out, "\\begin{tikzpicture}[x=1pt,y=-1pt,arrow/.style={-{Stealth[length=6pt]},"
                 "line width=0.8pt,draw=black!70}]\n");
    att_putf(out,
             "\\path[use as bounding box] (0,%" PRId64 ") rectangle (%" PRId64 ",%" PRId64 ");\n",
             top, width, foot);
    for (size_t i = 0; i < canvas->count; i++)
        writers[canvas->shapes[i].kind](out, &canvas->shapes[i]);
    att_put(out, "\\end{tikzpicture}");
}

void att_canvas_tikz(att_writer *out, const att_canvas *canvas, int64_t width, int64_t height)
{
    att_putf(out,
             "\\documentclass{article}\n\\usepackage{iftex}\n"
             "\\ifpdftex\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\\fi\n"
             "\\usepackage[paperwidth=%" PRId64 "pt,paperheight=%" PRId64
             "pt,margin=0pt]{geometry}\n"
             "\\usepackage{amsmath,textcomp,tikz}\n\\usetikzlibrary{arrows.meta}\n",
             width + 2, height + 2);
    att_put(out, "\\providecommand{\\attendother}[4]{\\ifpdftex\\texttt{#1}\\else #2\\fi}\n"
                 "\\pagestyle{empty}\n\\begin{document}\n\\noindent\n");
    att_canvas_tikz_picture(out, canvas, width, 0, height);
    att_put(out, "\n\\end{document}\n");
}
