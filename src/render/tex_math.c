/* Reads the part of TeX's mathematics that prose may contain, and writes it in each notation. */
#include "render/tex_math.h"

#include "base/minmax.h"
#include "text/utf8.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DEPTH = 8 };

/* Commands. `arguments` follow in braces. */
static const struct command {
    const char *name;
    const char *symbol; /* in Unicode */
    int arguments;
    bool letter; /* an identifier, not an operator */
} commands[] = {
    { "frac", NULL, 2, false },
    { "sqrt", "√", 1, false },
    { "text", NULL, 1, false },
    { "mathrm", NULL, 1, false },
    { "mathbf", NULL, 1, false },
    { "mathit", NULL, 1, false },
    { "operatorname", NULL, 1, false },
    { "mathbb", NULL, 1, false },
    { "alpha", "α", 0, true },
    { "beta", "β", 0, true },
    { "gamma", "γ", 0, true },
    { "delta", "δ", 0, true },
    { "epsilon", "ε", 0, true },
    { "zeta", "ζ", 0, true },
    { "eta", "η", 0, true },
    { "theta", "θ", 0, true },
    { "kappa", "κ", 0, true },
    { "lambda", "λ", 0, true },
    { "mu", "μ", 0, true },
    { "nu", "ν", 0, true },
    { "xi", "ξ", 0, true },
    { "pi", "π", 0, true },
    { "rho", "ρ", 0, true },
    { "sigma", "σ", 0, true },
    { "tau", "τ", 0, true },
    { "phi", "φ", 0, true },
    { "chi", "χ", 0, true },
    { "psi", "ψ", 0, true },
    { "omega", "ω", 0, true },
    { "Gamma", "Γ", 0, true },
    { "Delta", "Δ", 0, true },
    { "Theta", "Θ", 0, true },
    { "Lambda", "Λ", 0, true },
    { "Sigma", "Σ", 0, true },
    { "Phi", "Φ", 0, true },
    { "Psi", "Ψ", 0, true },
    { "Omega", "Ω", 0, true },
    { "ell", "ℓ", 0, true },
    { "infty", "∞", 0, true },
    { "partial", "∂", 0, true },
    { "nabla", "∇", 0, true },
    { "cdot", "·", 0, false },
    { "times", "×", 0, false },
    { "odot", "⊙", 0, false },
    { "oplus", "⊕", 0, false },
    { "otimes", "⊗", 0, false },
    { "pm", "±", 0, false },
    { "le", "≤", 0, false },
    { "leq", "≤", 0, false },
    { "ge", "≥", 0, false },
    { "geq", "≥", 0, false },
    { "ne", "≠", 0, false },
    { "neq", "≠", 0, false },
    { "approx", "≈", 0, false },
    { "propto", "∝", 0, false },
    { "equiv", "≡", 0, false },
    { "in", "∈", 0, false },
    { "to", "→", 0, false },
    { "rightarrow", "→", 0, false },
    { "leftarrow", "←", 0, false },
    { "mapsto", "↦", 0, false },
    { "sum", "∑", 0, false },
    { "prod", "∏", 0, false },
    { "int", "∫", 0, false },
    { "dots", "…", 0, false },
    { "ldots", "…", 0, false },
    { "cdots", "⋯", 0, false },
    { "top", "⊤", 0, false },
    { "mid", "|", 0, false },
    { "exp", "exp", 0, true },
    { "log", "log", 0, true },
    { "ln", "ln", 0, true },
    { "sin", "sin", 0, true },
    { "cos", "cos", 0, true },
    { "tanh", "tanh", 0, true },
    { "max", "max", 0, true },
    { "min", "min", 0, true },
    { "arg", "arg", 0, true },
    { "quad", " ", 0, false },
};

/* ---- Reading */

static const struct command *command_at(const char *s, size_t n, size_t *length)
{
    size_t letters = 0;
    while (1 + letters < n && isalpha((unsigned char)s[1 + letters]))
        letters++;
    *length = 1 + letters;
    for (size_t i = 0; i < ATT_COUNT(commands); i++)
        if (strlen(commands[i].name) == letters && memcmp(commands[i].name, s + 1, letters) == 0)
            return &commands[i];
    return NULL;
}

/* The length of {…} at s, or 0. */
static size_t group_length(const char *s, size_t n)
{
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        depth += s[i] == '{';
        depth -= s[i] == '}';
        if (depth <= 0)
            return depth == 0 && i > 0 ? i + 1 : 0;
    }
    return 0;
}

static size_t command_length(const char *s, size_t n)
{
    size_t length;
    const struct command *command = command_at(s, n, &length);
    if (!command && n > 1 && s[1] && strchr(",;:! {}|%$&#_", s[1]))
        return 2; /* a space or an escaped character */
    for (int i = 0; command && i < command->arguments; i++) {
        size_t group = group_length(s + length, n - length);
        if (group == 0)
            return 0;
        length += group;
    }
    return command ? length : 0;
}

/* The length of the first atom: a number, a character, a command with its arguments, a group; 0 if
 * there is none that may be shown. */
static size_t atom_length(const char *s, size_t n)
{
    uint32_t code;
    size_t digits = 0;
    if (n == 0)
        return 0;
    if (s[0] == '{')
        return group_length(s, n);
    if (s[0] == '\\')
        return command_length(s, n);
    while (digits < n && (isdigit((unsigned char)s[digits]) || (digits > 0 && s[digits] == '.')))
        digits++;
    if (digits > 0)
        return digits;
    if ((unsigned char)s[0] >= 0x80)
        return att_utf8_decode_lossy(s, n, &code);
    return isalpha((unsigned char)s[0]) || strchr("+-*/=<>()[]|,.;:!?' ", s[0]) ? 1 : 0;
}

/* ---- Writing. The same walk checks the text, without a writer. */

struct math {
    att_writer *out; /* NULL: only checks */
    att_math_style style;
};

static bool put_list(const struct math *m, const char *s, size_t n, int depth);

static void put(const struct math *m, const char *text)
{
    if (m->out)
        att_put(m->out, text);
}

static bool is_tex(const struct math *m)
{
    return m->style == ATT_MATH_TEX || m->style == ATT_MATH_MATHJAX;
}

/* The content of \text and its like: letters, digits, blanks and simple punctuation. */
static bool put_words(const struct math *m, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr(" -.,:()'", s[i]))
            return false;
    if (m->out)
        att_put_bytes(m->out, s, n);
    return true;
}

/* A group without its braces. */
static bool put_group(const struct math *m, const char *s, size_t n, int depth)
{
    bool braces = n >= 2 && s[0] == '{';
    return put_list(m, braces ? s + 1 : s, braces ? n - 2 : n, depth + 1);
}

static bool put_fraction(const struct math *m, const char *s, size_t n, int depth)
{
    size_t top = group_length(s, n);
    bool valid = true;
    put(m, is_tex(m) ? "\\frac{" : m->style == ATT_MATH_MATHML ? "<mfrac><mrow>" : "(");
    valid = put_group(m, s, top, depth) && valid;
    put(m, is_tex(m) ? "}{" : m->style == ATT_MATH_MATHML ? "</mrow><mrow>" : ")/(");
    valid = put_group(m, s + top, n - top, depth) && valid;
    put(m, is_tex(m) ? "}" : m->style == ATT_MATH_MATHML ? "</mrow></mfrac>" : ")");
    return valid;
}

static bool put_root(const struct math *m, const char *s, size_t n, int depth)
{
    bool ascii = m->style == ATT_MATH_ASCII;
    put(m, is_tex(m)                     ? "\\sqrt{"
           : m->style == ATT_MATH_MATHML ? "<msqrt><mrow>"
           : ascii                       ? "sqrt("
                                         : "√(");
    bool valid = put_group(m, s, n, depth);
    put(m, is_tex(m) ? "}" : m->style == ATT_MATH_MATHML ? "</mrow></msqrt>" : ")");
    return valid;
}

static bool put_text(const struct math *m, const struct command *command, const char *s, size_t n)
{
    put(m, is_tex(m) ? "\\" : m->style == ATT_MATH_MATHML ? "<mtext>" : "");
    put(m, is_tex(m) ? command->name : "");
    put(m, is_tex(m) ? "{" : "");
    bool valid = put_words(m, s + 1, n - 2);
    put(m, is_tex(m) ? "}" : m->style == ATT_MATH_MATHML ? "</mtext>" : "");
    return valid;
}

static void put_symbol(const struct math *m, const struct command *command)
{
    if (is_tex(m) || m->style == ATT_MATH_ASCII) {
        put(m, is_tex(m) ? "\\" : "");
        put(m, command->name);
        put(m, is_tex(m) ? " " : "");
        return;
    }
    bool markup = m->style == ATT_MATH_MATHML;
    put(m, !markup ? "" : command->letter ? "<mi>" : "<mo>");
    put(m, command->symbol);
    put(m, !markup ? "" : command->letter ? "</mi>" : "</mo>");
}

/* \, \; \{ and their like. */
static void put_escape(const struct math *m, char c)
{
    const char text[] = { '\\', c, '\0' };
    const char plain[] = { c, '\0' };
    bool space = strchr(",;:! ", c) != NULL;
    if (is_tex(m)) {
        put(m, text);
    } else if (m->style == ATT_MATH_MATHML) {
        put(m, space ? "<mspace width=\"0.2em\"/>" : "<mo>");
        if (m->out && !space)
            att_put_xml(m->out, plain);
        put(m, space ? "" : "</mo>");
    } else {
        put(m, space ? " " : plain);
    }
}

static bool put_command(const struct math *m, const char *s, size_t n, int depth)
{
    size_t length;
    const struct command *command = command_at(s, n, &length);
    if (!command) {
        put_escape(m, s[1]);
        return true;
    }
    if (command->arguments == 2)
        return put_fraction(m, s + length, n - length, depth);
    if (command->arguments == 1 && command->symbol)
        return put_root(m, s + length, n - length, depth);
    if (command->arguments == 1)
        return put_text(m, command, s + length, n - length);
    put_symbol(m, command);
    return true;
}

/* A character or a number. */
static void put_plain(const struct math *m, const char *s, size_t n)
{
    char text[64] = "";
    memcpy(text, s, n < sizeof text ? n : sizeof text - 1);
    bool digit = isdigit((unsigned char)s[0]);
    bool letter = isalpha((unsigned char)s[0]) || (unsigned char)s[0] >= 0x80;
    if (!m->out)
        return;
    if (m->style == ATT_MATH_MATHML && s[0] != ' ') {
        att_put(m->out, digit ? "<mn>" : letter ? "<mi>" : "<mo>");
        att_put_xml(m->out, s[0] == '-' ? "−" : text);
        att_put(m->out, digit ? "</mn>" : letter ? "</mi>" : "</mo>");
    } else if (is_tex(m) && s[0] == '\'') {
        att_put(m->out, "{'}"); /* x^2' would be two superscripts */
    } else if (is_tex(m) && letter) {
        att_put_tex_math(m->out, s, n, m->style == ATT_MATH_MATHJAX);
    } else if (m->style != ATT_MATH_MATHML) {
        att_put(m->out, text);
    }
}

static bool put_atom(const struct math *m, const char *s, size_t n, int depth)
{
    if (n > 60 && isdigit((unsigned char)s[0]))
        return false;
    if (s[0] == '{') {
        put(m, is_tex(m) ? "{" : m->style == ATT_MATH_MATHML ? "<mrow>" : "");
        bool valid = put_group(m, s, n, depth);
        put(m, is_tex(m) ? "}" : m->style == ATT_MATH_MATHML ? "</mrow>" : "");
        return valid;
    }
    if (s[0] == '\\')
        return put_command(m, s, n, depth);
    put_plain(m, s, n);
    return true;
}

/* A script as plain text: small digits in Unicode, otherwise ^x or ^(x + y). */
static bool put_linear_script(const struct math *m, char sign, const char *s, size_t n, int depth)
{
    static const char *const small[2][10] = {
        { "₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉" },
        { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" },
    };
    const char *inside = s[0] == '{' ? s + 1 : s;
    size_t length = s[0] == '{' ? n - 2 : n;
    const char mark[] = { sign, '\0' };
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)inside[digits]))
        digits++;
    if (m->style == ATT_MATH_UNICODE && digits == length && length > 0) {
        for (size_t i = 0; i < length; i++)
            put(m, small[sign == '^'][inside[i] - '0']);
        return true;
    }
    if (m->style == ATT_MATH_UNICODE && sign == '^' && length == 4 &&
        memcmp(inside, "\\top", 4) == 0) {
        put(m, "ᵀ");
        return true;
    }
    bool bracket = atom_length(inside, length) != length;
    put(m, mark);
    put(m, bracket ? "(" : "");
    bool valid = put_list(m, inside, length, depth + 1);
    put(m, bracket ? ")" : "");
    return valid;
}

/* An atom with its scripts; `script` are the ranges of the subscript and the superscript, or NULL.
 */
struct scripts {
    const char *at[2]; /* _ and ^ */
    size_t length[2];
};

static bool put_tex_scripts(const struct math *m, const struct scripts *scripts, int depth)
{
    bool valid = true;
    for (int i = 0; i < 2; i++) {
        if (!scripts->at[i])
            continue;
        if (!is_tex(m)) {
            valid = put_linear_script(m, "_^"[i], scripts -> at[i], scripts -> length[i], depth) &&
                    valid;
            continue;
        }
        put(m, i == 0 ? "_{" : "^{");
        valid = put_group(m, scripts->at[i], scripts->length[i], depth) && valid;
        put(m, "}");
    }
    return valid;
}

static bool put_scripted(const struct math *m, const char *s, size_t n,
                         const struct scripts *scripts, int depth)
{
    bool any = scripts->at[0] || scripts->at[1];
    if (m->style != ATT_MATH_MATHML || !any)
        return put_atom(m, s, n, depth) && put_tex_scripts(m, scripts, depth);
    const char *tag = !scripts->at[1] ? "msub>" : !scripts->at[0] ? "msup>" : "msubsup>";
    put(m, "<");
    put(m, tag);
    put(m, "<mrow>");
    bool valid = put_atom(m, s, n, depth);
    put(m, "</mrow>");
    for (int i = 0; i < 2; i++) {
        if (!scripts->at[i])
            continue;
        put(m, "<mrow>");
        valid = put_group(m, scripts->at[i], scripts->length[i], depth) && valid;
        put(m, "</mrow>");
    }
    put(m, "</");
    put(m, tag);
    return valid;
}

/* Reads _… and ^… behind an atom; returns the bytes, or SIZE_MAX if they are not valid. */
static size_t read_scripts(const char *s, size_t n, struct scripts *scripts)
{
    size_t at = 0;
    while (at < n && (s[at] == '_' || s[at] == '^')) {
        int which = s[at] == '^';
        size_t length = atom_length(s + at + 1, n - at - 1);
        if (length == 0 || scripts->at[which] || s[at + 1] == ' ')
            return SIZE_MAX;
        scripts->at[which] = s + at + 1;
        scripts->length[which] = length;
        at += 1 + length;
    }
    return at;
}

static bool put_list(const struct math *m, const char *s, size_t n, int depth)
{
    if (depth > MAX_DEPTH)
        return false;
    for (size_t at = 0; at < n;) {
        struct scripts scripts = { 0 };
        size_t length = atom_length(s + at, n - at);
        if (length == 0)
            return false;
        size_t behind = read_scripts(s + at + length, n - at - length, &scripts);
        if (behind == SIZE_MAX || !put_scripted(m, s + at, length, &scripts, depth))
            return false;
        at += length + behind;
    }
    return true;
}

bool att_math_is_valid(const char *tex, size_t length)
{
    const struct math check = { .out = NULL, .style = ATT_MATH_UNICODE };
    return length > 0 && put_list(&check, tex, length, 0);
}

void att_put_math(att_writer *out, const char *tex, size_t length, att_math_style style)
{
    const struct math m = { .out = out, .style = style };
    put_list(&m, tex, length, 0);
}
