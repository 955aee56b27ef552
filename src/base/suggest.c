/* "Did you mean …": the known word nearest to one that is not known. */
#include "attend.h"

#include <string.h>

/* Longer words are not worth a guess; this also bounds time and stack. */
enum { MAX_WORD = 64, ROWS = 3 };

static int to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, exchange neighbours) that turn one word into the other. A cell of
 * the table needs the two rows above it, so three rows take turns. */
static int edit_distance(const char *a, int a_length, const char *b, int b_length)
{
    int rows[ROWS][MAX_WORD + 1];
    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % ROWS];
        const int *above = rows[(i - 1) % ROWS];
        const int *two_above = rows[(i + ROWS - 2) % ROWS];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            int same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
            row[j] = min_int(min_int(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                to_lower(a[i - 2]) == to_lower(b[j - 1]))
                row[j] = min_int(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % ROWS][b_length];
}

const char *att_suggest(const char *word, const char *const *known, size_t count)
{
    size_t length = strnlen(word, MAX_WORD + 1);
    if (length == 0 || length > MAX_WORD)
        return NULL;
    int limit = length < 6 ? 1 : length < 9 ? 2 : 3;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strnlen(known[i], MAX_WORD + 1);
        if (other > MAX_WORD)
            continue;
        int edits = edit_distance(word, (int)length, known[i], (int)other);
        /* As many edits as characters would mean that the words have nothing in common. */
        if (edits > limit || edits >= (int)(length > other ? length : other))
            continue;
        nearest = known[i];
        limit = edits - 1; /* from now on only a nearer word counts */
    }
    return nearest;
}
