/* Look-ups in the Unicode tables, grapheme clusters and NFC; see unicode.h. */
#include "text/unicode.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Grapheme_Cluster_Break, and Extended_Pictographic, which overlaps none of its classes. */
typedef enum cluster_class {
    CLUSTER_OTHER,
    CLUSTER_CR,
    CLUSTER_LF,
    CLUSTER_CONTROL,
    CLUSTER_EXTEND,
    CLUSTER_ZWJ,
    CLUSTER_SPACING_MARK,
    CLUSTER_PREPEND,
    CLUSTER_L, /* Hangul: leading, vowel, trailing, and syllables of two or three of them */
    CLUSTER_V,
    CLUSTER_T,
    CLUSTER_LV,
    CLUSTER_LVT,
    CLUSTER_REGIONAL_INDICATOR,
    CLUSTER_PICTOGRAPHIC,
} cluster_class;

typedef struct properties {
    uint8_t category, cluster, combining_class, width;
    bool not_nfc; /* NFC_QC is No or Maybe: not in composed text, or may compose with a starter */
    bool decomposes; /* except Hangul syllables */
    int32_t to_lower;
} properties;

typedef struct decomposition {
    uint32_t code, first, second; /* second 0: a single code point */
} decomposition;

typedef struct composition {
    uint32_t first, second, composite;
} composition;

#include "text/unicode_tables.inc"

enum { CODES = 0x110000, BLOCK_MASK = (1 << BLOCK_BITS) - 1 };

static const properties *properties_of(uint32_t code)
{
    if (code >= CODES)
        code = CODES - 1; /* never assigned */
    size_t block = block_of[code >> BLOCK_BITS];
    return &records[record_of[block << BLOCK_BITS | (code & BLOCK_MASK)]];
}

att_category att_unicode_category(uint32_t code)
{
    return (att_category)properties_of(code)->category;
}

uint8_t att_unicode_combining_class(uint32_t code)
{
    return properties_of(code)->combining_class;
}

static uint32_t lower_by(const properties *of, uint32_t code)
{
    return (uint32_t)((int32_t)code + of->to_lower);
}

uint32_t att_unicode_lower(uint32_t code)
{
    return lower_by(properties_of(code), code);
}

int att_unicode_width(uint32_t code)
{
    return properties_of(code)->width;
}

/* ---- grapheme clusters */

#define BIT(class) (1u << CLUSTER_##class)
#define CONTROLS   (BIT(CR) | BIT(LF) | BIT(CONTROL))
#define MARKS      (BIT(EXTEND) | BIT(ZWJ) | BIT(SPACING_MARK))

/* For each class, the classes that never break after it: rules GB3 to GB9b. */
static const uint32_t no_break_after[] = {
    [CLUSTER_OTHER] = MARKS,
    [CLUSTER_CR] = BIT(LF),
    [CLUSTER_LF] = 0,
    [CLUSTER_CONTROL] = 0,
    [CLUSTER_EXTEND] = MARKS,
    [CLUSTER_ZWJ] = MARKS,
    [CLUSTER_SPACING_MARK] = MARKS,
    [CLUSTER_PREPEND] = ~CONTROLS,
    [CLUSTER_L] = MARKS | BIT(L) | BIT(V) | BIT(LV) | BIT(LVT),
    [CLUSTER_V] = MARKS | BIT(V) | BIT(T),
    [CLUSTER_T] = MARKS | BIT(T),
    [CLUSTER_LV] = MARKS | BIT(V) | BIT(T),
    [CLUSTER_LVT] = MARKS | BIT(T),
    [CLUSTER_REGIONAL_INDICATOR] = MARKS,
    [CLUSTER_PICTOGRAPHIC] = MARKS,
};

/* How the code points up to `before` end, as far as rules GB11 to GB13 need it. */
enum {
    ENDS_OTHERWISE,
    ENDS_IN_PICTOGRAPH, /* and perhaps marks that extend it */
    ENDS_IN_JOINER,     /* zero-width joiner after a pictograph */
    ENDS_IN_FLAG,       /* an odd number of regional indicators */
};

static int32_t ending(int32_t state, cluster_class class)
{
    if (class == CLUSTER_PICTOGRAPHIC)
        return ENDS_IN_PICTOGRAPH;
    if (class == CLUSTER_REGIONAL_INDICATOR)
        return state == ENDS_IN_FLAG ? ENDS_OTHERWISE : ENDS_IN_FLAG;
    if (state == ENDS_IN_PICTOGRAPH && class == CLUSTER_EXTEND)
        return ENDS_IN_PICTOGRAPH;
    return state == ENDS_IN_PICTOGRAPH && class == CLUSTER_ZWJ ? ENDS_IN_JOINER : ENDS_OTHERWISE;
}

bool att_unicode_breaks(uint32_t before, uint32_t after, int32_t *state)
{
    cluster_class left = (cluster_class)properties_of(before)->cluster;
    cluster_class right = (cluster_class)properties_of(after)->cluster;
    *state = ending(*state, left);
    if (no_break_after[left] >> right & 1)
        return false;
    if (*state == ENDS_IN_JOINER)
        return right != CLUSTER_PICTOGRAPHIC;
    return *state != ENDS_IN_FLAG || right != CLUSTER_REGIONAL_INDICATOR;
}

/* ---- decomposing and composing */

/* Hangul syllables are composed by arithmetic (Unicode 3.12): leading, vowel, trailing. */
enum {
    S_BASE = 0xAC00,
    L_BASE = 0x1100,
    V_BASE = 0x1161,
    T_BASE = 0x11A7, /* one below the first trailing consonant: none */
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
    S_COUNT = L_COUNT * V_COUNT * T_COUNT,
};

static int compare_code(const void *code, const void *row)
{
    uint32_t a = *(const uint32_t *)code, b = ((const decomposition *)row)->code;
    return (a > b) - (a < b);
}

static size_t decompose_hangul(uint32_t syllable, uint32_t *out)
{
    uint32_t trailing = syllable % T_COUNT;
    out[0] = L_BASE + syllable / (V_COUNT * T_COUNT);
    out[1] = V_BASE + syllable / T_COUNT % V_COUNT;
    out[2] = T_BASE + trailing;
    return trailing > 0 ? 3 : 2;
}

/* Only the first of two parts, or a single replacement, decomposes further, so the parts are found
 * from the last to the first. */
size_t att_unicode_decompose(uint32_t code, uint32_t out[ATT_DECOMPOSED_MAX])
{
    if (code - S_BASE < S_COUNT)
        return decompose_hangul(code - S_BASE, out);
    uint32_t behind[ATT_DECOMPOSED_MAX];
    size_t parts = 0;
    while (properties_of(code)->decomposes) {
        const decomposition *row = bsearch(&code, decompositions, ATT_COUNT(decompositions),
                                           sizeof *decompositions, compare_code);
        if (row->second)
            behind[parts++] = row->second;
        code = row->first;
    }
    out[0] = code;
    for (size_t i = 0; i < parts; i++)
        out[1 + i] = behind[parts - 1 - i];
    return parts + 1;
}

static int compare_pair(const void *pair, const void *row)
{
    const composition *a = pair, *b = row;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

/* The code point that two code points compose to, or 0. */
static uint32_t compose_pair(uint32_t first, uint32_t second)
{
    uint32_t leading = first - L_BASE, vowel = second - V_BASE;
    if (leading < L_COUNT && vowel < V_COUNT)
        return S_BASE + (leading * V_COUNT + vowel) * T_COUNT;
    uint32_t syllable = first - S_BASE, trailing = second - T_BASE;
    if (syllable < S_COUNT && syllable % T_COUNT == 0 && trailing > 0 && trailing < T_COUNT)
        return first + trailing;
    const composition *row = bsearch(&(composition){ first, second, 0 }, compositions,
                                     ATT_COUNT(compositions), sizeof *compositions, compare_pair);
    return row ? row->composite : 0;
}

/* ---- normalizing
 *
 * A text consists of segments, each from a starter whose NFC_QC is Yes to the next such starter:
 * nothing composes or is reordered across segments (scripts/unicode-tables checks this for every
 * starter). A segment whose code points all have NFC_QC Yes and are in canonical order is composed
 * already and is copied. */

/* A code point with its combining class in the upper eight bits. */
typedef uint32_t classed;

enum { CLASS_SHIFT = 24, CODE_MASK = (1 << CLASS_SHIFT) - 1, INSERTION_MAX = 32 };

typedef struct composer {
    att_string *out;
    const char *text;
    size_t copied;           /* bytes of the text that were copied or composed */
    att_offset_map *offsets; /* or NULL */
    bool lower;
    classed *codes; /* [2 * room]: the segment, and as much again to sort in */
    size_t room;
} composer;

/* Sorts a run of marks by combining class; marks of one class keep their order. */
static void sort_marks(classed *marks, size_t count, classed *spare)
{
    if (count <= INSERTION_MAX) {
        for (size_t i = 1; i < count; i++) {
            classed mark = marks[i];
            size_t at = i;
            for (; at > 0 && marks[at - 1] >> CLASS_SHIFT > mark >> CLASS_SHIFT; at--)
                marks[at] = marks[at - 1];
            marks[at] = mark;
        }
        return;
    }
    size_t starts[257] = { 0 }; /* a run may have any length: counting sort in linear time */
    for (size_t i = 0; i < count; i++)
        starts[(marks[i] >> CLASS_SHIFT) + 1]++;
    for (size_t i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++)
        spare[starts[marks[i] >> CLASS_SHIFT]++] = marks[i];
    memcpy(marks, spare, count * sizeof *marks);
}

static void order_marks(classed *codes, size_t count, classed *spare)
{
    for (size_t i = 0, end; i < count; i = end + 1) {
        for (end = i; end < count && codes[end] >> CLASS_SHIFT > 0;)
            end++;
        if (end - i > 1)
            sort_marks(codes + i, end - i, spare);
    }
}

/* Composes decomposed code points in place; returns how many are left. A code point composes with
 * the last starter unless a code point kept between them has the same or a higher class. */
static size_t compose_codes(classed *codes, size_t count)
{
    size_t kept = 0, starter = SIZE_MAX;
    uint32_t last_class = 0; /* of the last code point kept after the starter */
    for (size_t i = 0; i < count; i++) {
        uint32_t class = codes[i] >> CLASS_SHIFT, code = codes[i] & CODE_MASK;
        bool adjacent = starter != SIZE_MAX && starter + 1 == kept;
        if (starter != SIZE_MAX && (adjacent || last_class < class) &&
            properties_of(code)->not_nfc) {
            uint32_t composite = compose_pair(codes[starter], code);
            if (composite) {
                codes[starter] = composite;
                continue;
            }
        }
        if (class == 0)
            starter = kept;
        last_class = class;
        codes[kept++] = codes[i];
    }
    return kept;
}

static att_status make_room(composer *in, size_t room)
{
    if (room <= in->room)
        return ATT_OK;
    if (room > SIZE_MAX / 4)
        return ATT_NO_MEMORY;
    room = room < 64 ? 64 : 2 * room;
    classed *codes = att_realloc(in->codes, 0, 2 * room, sizeof *codes);
    if (!codes)
        return ATT_NO_MEMORY;
    in->codes = codes;
    in->room = room;
    return ATT_OK;
}

/* Composes the segment from byte `start` to `end`, lowercasing it if asked for. */
static att_status compose_segment(composer *in, size_t start, size_t end)
{
    ATT_TRY(att_string_append(in->out, in->text + in->copied, start - in->copied));
    in->copied = end;
    size_t before = in->out->length;
    /* A code point that decomposes, into at most four, has at least two bytes. */
    ATT_TRY(make_room(in, 2 * (end - start)));
    size_t count = 0;
    for (size_t at = start; at < end;) {
        uint32_t code, parts[ATT_DECOMPOSED_MAX];
        at += att_utf8_decode(&code, in->text + at, end - at);
        size_t more = att_unicode_decompose(in->lower ? att_unicode_lower(code) : code, parts);
        for (size_t i = 0; i < more; i++)
            in->codes[count++] =
                (uint32_t)att_unicode_combining_class(parts[i]) << CLASS_SHIFT | parts[i];
    }
    order_marks(in->codes, count, in->codes + in->room);
    count = compose_codes(in->codes, count);
    ATT_TRY(att_string_reserve(in->out, 4 * count));
    for (size_t i = 0; i < count; i++)
        in->out->length +=
            att_utf8_encode(in->out->data + in->out->length, in->codes[i] & CODE_MASK);
    in->out->data[in->out->length] = '\0';
    return att_offset_map_add(in->offsets,
                              (att_offset_change){ before, in->out->length, start, end });
}

static att_status compose_text(composer *in, size_t length, att_error *err)
{
    bool composed = true; /* whether the segment is, so far */
    uint8_t last_class = 0;
    size_t start = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = att_utf8_decode(&code, in->text + at, length - at);
        if (bytes == 0)
            return att_fail(err, ATT_BAD_INPUT, NULL, "byte %zu is not UTF-8", at + 1);
        const properties *of = properties_of(code);
        bool lowered = in->lower && of->to_lower != 0;
        if (lowered)
            of = properties_of(lower_by(of, code));
        uint8_t class = of->combining_class;
        if (class == 0 && !of->not_nfc) {
            if (!composed && compose_segment(in, start, at) != ATT_OK)
                return att_fail_memory(err);
            start = at;
            composed = true;
        }
        if (lowered || of->not_nfc || (class > 0 && class < last_class))
            composed = false;
        last_class = class;
    }
    att_status status = composed ? ATT_OK : compose_segment(in, start, length);
    if (status == ATT_OK)
        status = att_string_append(in->out, in->text + in->copied, length - in->copied);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_unicode_compose(att_string *out, att_offset_map *offsets, const char *text,
                               size_t length, bool lower, att_error *err)
{
    composer in = { .out = out, .text = text, .offsets = offsets, .lower = lower };
    att_status status = compose_text(&in, length, err);
    att_free(in.codes);
    return status;
}
