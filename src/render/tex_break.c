/* Breaking TeX mathematics into lines. */
#include "render/tex_break.h"

#include "base/minmax.h"

#include <ctype.h>
#include <string.h>

/* Commands that take no room themselves; any other is a sign as wide as a digit. */
static bool is_invisible(const char *name, size_t length)
{
    static const char *const names[] = { "begin",  "end",  "left", "right",  "mathrm",
                                         "mathit", "text", "frac", "mathbf", "operatorname" };
    for (size_t i = 0; i < ATT_COUNT(names); i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* One token of TeX: a command, a brace or a character. */
typedef struct token {
    size_t length;
    int64_t width; /* on the line */
    int depth;     /* what it adds to the nesting */
} token;

static token read_command(const char *tex)
{
    size_t length = 1;
    while (isalpha((unsigned char)tex[length]))
        length++;
    if (length == 1) /* \\ \, \{ */
        return (token){ .length = tex[1] ? 2 : 1, .width = tex[1] == '{' || tex[1] == '}' };
    bool environment = strncmp(tex, "\\begin{", 7) == 0 || strncmp(tex, "\\end{", 5) == 0;
    token out = { .length = length, .width = !is_invisible(tex + 1, length - 1) };
    if (environment) {
        out.length += strcspn(tex + length, "}");
        out.length += tex[out.length] != '\0';
    }
    bool opens = strncmp(tex, "\\begin{", 7) == 0 || (length == 5 && !strncmp(tex, "\\left", 5));
    bool closes = strncmp(tex, "\\end{", 5) == 0 || (length == 6 && !strncmp(tex, "\\right", 6));
    out.depth = opens - closes;
    return out;
}

static token read_token(const char *tex)
{
    if (*tex == '\\')
        return read_command(tex);
    if (*tex == '{' || *tex == '}')
        return (token){ .length = 1, .depth = *tex == '{' ? 1 : -1 };
    if (*tex == '&')
        return (token){ .length = 1, .width = 2 };
    bool blank = *tex == ' ' || *tex == '_' || *tex == '^' || *tex == '\n';
    bool inside = ((unsigned char)*tex & 0xc0) == 0x80; /* of a UTF-8 character */
    return (token){ .length = 1, .width = !blank && !inside };
}

/* Whether the line may end before this place, at nesting 0, which is not the first of a piece. */
static bool is_break(const char *tex)
{
    static const char *const signs[] = { " + ", " - ", " = ", " \\approx " };
    for (size_t i = 0; i < ATT_COUNT(signs); i++)
        if (strncmp(tex, signs[i], strlen(signs[i])) == 0)
            return true;
    return tex[-1] == ',' && strncmp(tex, "\\ ", 2) == 0; /* between arguments */
}

/* The length of the piece up to the next place where a line may end, and its width. The rows of a
 * matrix are as wide as the widest. */
static size_t read_piece(const char *tex, int64_t *width)
{
    int depth = 0;
    size_t at = 0;
    int64_t row = 0, widest = 0, before = 0;
    while (tex[at] && (at == 0 || depth > 0 || !is_break(tex + at))) {
        if (depth > 0 && strncmp(tex + at, "\\\\", 2) == 0) {
            widest = att_max_i64(widest, row);
            row = before;
        }
        token next = read_token(tex + at);
        row += next.width;
        depth += next.depth;
        at += next.length;
        if (depth == 0) {
            row = att_max_i64(row, widest);
            before = row;
            widest = 0;
        }
    }
    *width = row;
    return at;
}

int64_t att_tex_width(const char *tex)
{
    int64_t width = 0, piece;
    while (*tex) {
        tex += read_piece(tex, &piece);
        width += piece + 1;
    }
    return width;
}

int64_t att_tex_widest_piece(const char *tex)
{
    int64_t widest = 0, piece;
    while (*tex) {
        tex += read_piece(tex, &piece);
        widest = att_max_i64(widest, piece);
    }
    return widest;
}

void att_put_tex_broken(att_writer *out, const char *tex, int64_t width)
{
    int64_t line = 0;
    while (*tex) {
        int64_t piece;
        size_t length = read_piece(tex, &piece);
        if (line > 0 && line + piece > width) {
            att_put(out, " \\\\\n&\\qquad");
            line = 4;
        }
        att_put_bytes(out, tex, length);
        line += piece + 1;
        tex += length;
    }
}
