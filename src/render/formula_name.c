/* Names taken apart for setting in mathematics; see formula.h. */
#include "render/formula.h"

#include <ctype.h>
#include <string.h>

static const att_greek greek[] = {
    { "alpha", "α", "\\alpha" }, { "beta", "β", "\\beta" },       { "gamma", "γ", "\\gamma" },
    { "delta", "δ", "\\delta" }, { "epsilon", "ε", "\\epsilon" }, { "eps", "ε", "\\epsilon" },
    { "zeta", "ζ", "\\zeta" },   { "eta", "η", "\\eta" },         { "theta", "θ", "\\theta" },
    { "kappa", "κ", "\\kappa" }, { "lambda", "λ", "\\lambda" },   { "mu", "μ", "\\mu" },
    { "nu", "ν", "\\nu" },       { "xi", "ξ", "\\xi" },           { "pi", "π", "\\pi" },
    { "rho", "ρ", "\\rho" },     { "sigma", "σ", "\\sigma" },     { "tau", "τ", "\\tau" },
    { "phi", "φ", "\\phi" },     { "chi", "χ", "\\chi" },         { "psi", "ψ", "\\psi" },
    { "omega", "ω", "\\omega" }, { "Gamma", "Γ", "\\Gamma" },     { "Delta", "Δ", "\\Delta" },
    { "Theta", "Θ", "\\Theta" }, { "Lambda", "Λ", "\\Lambda" },   { "Sigma", "Σ", "\\Sigma" },
    { "Phi", "Φ", "\\Phi" },     { "Psi", "Ψ", "\\Psi" },         { "Omega", "Ω", "\\Omega" },
};

static bool is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Whether what follows the underscore reads as an index: d_model, W_q_1, head_2, but not
 * from_cut_weights, which is a phrase. */
static bool is_index(const char *name, const char *underscore)
{
    size_t base = (size_t)(underscore - name);
    size_t index = strlen(underscore + 1);
    if (base == 0 || index == 0)
        return false;
    return base <= 2 || (unsigned char)name[0] >= 0x80 || index <= 2;
}

att_name_parts att_name_split(const char *name)
{
    att_name_parts parts = { .base = name, .base_length = strlen(name) };
    const char *underscore = strchr(name, '_');
    if (underscore && is_index(name, underscore)) {
        parts.base_length = (size_t)(underscore - name);
        parts.index = underscore + 1;
    } else {
        size_t digits = parts.base_length;
        while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
            digits--;
        if (digits > 0 && digits < parts.base_length && !underscore) {
            parts.base_length = digits;
            parts.index = name + digits;
        }
    }
    for (size_t i = 0; i < sizeof greek / sizeof *greek; i++)
        if (is(name, parts.base_length, greek[i].word) ||
            is(name, parts.base_length, greek[i].letter))
            parts.greek = &greek[i];
    return parts;
}
