/* "Did you mean …": the known word nearest to an unknown one, by Damerau-Levenshtein distance. */
#include "attend.h"

#include "base/minmax.h"

#include <string.h>

/* Longer words get no suggestion, which bounds time and stack. */
enum { MAX_WORD = 64, ROWS = 3 };

static int to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* The number of edits (insert, delete, replace, swap neighbors) between two words, ignoring case.
 * An entry of the table depends on the two rows above it, so three rows are used in turn. */
static int64_t edit_distance(const char *a, int a_length, const char *b, int b_length)
{
    int64_t rows[ROWS][MAX_WORD + 1];
    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int64_t *row = rows[i % ROWS];
        const int64_t *above = rows[(i - 1) % ROWS];
        const int64_t *two_above = rows[(i + ROWS - 2) % ROWS];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            int same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
            row[j] = att_min_i64(att_min_i64(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                to_lower(a[i - 2]) == to_lower(b[j - 1]))
                row[j] = att_min_i64(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % ROWS][b_length];
}

const char *att_suggest(const char *word, const char *const *known, size_t count)
{
    size_t length = strnlen(word, MAX_WORD + 1);
    if (length == 0 || length > MAX_WORD)
        return NULL;
    int64_t limit = length < 6 ? 1 : length < 9 ? 2 : 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strnlen(known[i], MAX_WORD + 1);
        if (other > MAX_WORD)
            continue;
        int64_t edits = edit_distance(word, (int)length, known[i], (int)other);
        /* As many edits as characters: the words have nothing in common. */
        if (edits > limit || edits >= (int64_t)att_max_size(length, other))
            continue;
        nearest = known[i];
        limit = edits - 1; /* a later word must be nearer */
    }
    return nearest;
}
