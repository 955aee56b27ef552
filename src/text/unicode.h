/* Unicode properties and normalization, from tables in the source (unicode_tables.inc), so that a
 * token is the same in every build.
 *
 * A model depends on the version of Unicode that it was trained with: a later version gives the
 * characters that it adds another category, case or cluster, and so other tokens.
 * scripts/unicode-tables writes the tables; CHANGELOG.md records every change of version. */
#ifndef ATT_TEXT_UNICODE_H
#define ATT_TEXT_UNICODE_H

#include "attend.h"
#include "text/offset_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the Unicode tables, such as "15.0.0". */
extern const char att_unicode_version[];

/* General_Category. The order is relied on: letters, marks, numbers, punctuation, symbols,
 * separators and others are ranges. */
typedef enum att_category {
    ATT_CATEGORY_CN, /* not assigned */
    ATT_CATEGORY_LU, /* letters: upper case, lower case, title case, modifier, other */
    ATT_CATEGORY_LL,
    ATT_CATEGORY_LT,
    ATT_CATEGORY_LM,
    ATT_CATEGORY_LO,
    ATT_CATEGORY_MN, /* marks: nonspacing, spacing, enclosing */
    ATT_CATEGORY_MC,
    ATT_CATEGORY_ME,
    ATT_CATEGORY_ND, /* numbers: decimal digit, letter, other */
    ATT_CATEGORY_NL,
    ATT_CATEGORY_NO,
    ATT_CATEGORY_PC, /* punctuation: connector, dash, open, close, initial, final, other */
    ATT_CATEGORY_PD,
    ATT_CATEGORY_PS,
    ATT_CATEGORY_PE,
    ATT_CATEGORY_PI,
    ATT_CATEGORY_PF,
    ATT_CATEGORY_PO,
    ATT_CATEGORY_SM, /* symbols: mathematical, currency, modifier, other */
    ATT_CATEGORY_SC,
    ATT_CATEGORY_SK,
    ATT_CATEGORY_SO,
    ATT_CATEGORY_ZS, /* separators: space, line, paragraph */
    ATT_CATEGORY_ZL,
    ATT_CATEGORY_ZP,
    ATT_CATEGORY_CC, /* control, format, surrogate, private use */
    ATT_CATEGORY_CF,
    ATT_CATEGORY_CS,
    ATT_CATEGORY_CO,
} att_category;

att_category att_unicode_category(uint32_t code);

/* Canonical_Combining_Class: 0 for a starter, 9 for a virama. */
uint8_t att_unicode_combining_class(uint32_t code);

/* The simple lower-case mapping of a code point, or the code point itself. */
uint32_t att_unicode_lower(uint32_t code);

/* Terminal columns, by East_Asian_Width: 0, 1 or 2. Nonspacing marks, control and format
 * characters, and vowels and finals of Hangul syllables take 0 columns; a spacing mark takes 1. */
int att_unicode_width(uint32_t code);

enum { ATT_DECOMPOSED_MAX = 4 };

/* Writes the full canonical decomposition and returns its length, at least 1. */
size_t att_unicode_decompose(uint32_t code, uint32_t out[ATT_DECOMPOSED_MAX]);

/* Whether an extended grapheme cluster (UAX #29) ends between two neighbors in a text. Set *state
 * to 0 at the start of the text or of a cluster and pass it to the calls from there on, one call
 * for each two neighbors in order. */
bool att_unicode_breaks(uint32_t before, uint32_t after, int32_t *state);

/* Appends the composed form (NFC) of a text to *out; if `lower`, each code point is first mapped to
 * lower case. *offsets, if given, receives what was rewritten; then *out must be empty. On failure
 * (ATT_BAD_INPUT for bytes that are not UTF-8, ATT_NO_MEMORY) *out may hold a part of the result.
 */
att_status att_unicode_compose(att_string *out, att_offset_map *offsets, const char *text,
                               size_t length, bool lower, att_error *err);

#endif
