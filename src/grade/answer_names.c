/* Which answer a name means, as people write it: the name of what is asked for, its part, its
 * description or words of it, its number on the paper, an element. */
#include "grade/answers.h"

#include "base/minmax.h"
#include "text/utf8.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- Letters */

/* The name of a Greek letter: in an answer, μ, \mu and mu are the same. */
const char *att_answer_greek_name(uint32_t code)
{
    static const char *const greek[] = { "alpha",   "beta", "gamma", "delta", "epsilon",
                                         "zeta",    "eta",  "theta", "iota",  "kappa",
                                         "lambda",  "mu",   "nu",    "xi",    "omicron",
                                         "pi",      "rho",  "sigma", "sigma", "tau",
                                         "upsilon", "phi",  "chi",   "psi",   "omega" };
    if (code == 0xB5) /* the micro sign, as keyboards have it */
        return "mu";
    uint32_t small = code >= 0x391 && code <= 0x3A9 ? code + 0x20 : code;
    return small >= 0x3B1 && small <= 0x3C9 ? greek[small - 0x3B1] : NULL;
}

/* A name that is compared letter by letter. */
struct letters {
    const char *text;
    size_t length, at;
    bool keep_case;
    const char *spelled; /* the rest of the name of a Greek letter */
};

/* The next letter or digit of a name as compared, or -1 at its end. */
static int next_letter(struct letters *in)
{
    if (in->spelled && *in->spelled)
        return *in->spelled++;
    while (in->at < in->length) {
        unsigned char c = (unsigned char)in->text[in->at];
        uint32_t code = c;
        if (c > 127) {
            att_utf8_decode_lossy(in->text + in->at, in->length - in->at, &code);
            in->spelled = att_answer_greek_name(code);
            if (in->spelled) {
                in->at += 2; /* bytes of these letters */
                return *in->spelled++;
            }
        }
        in->at++;
        if (isalnum(c) || c > 127)
            return in->keep_case ? c : tolower(c);
    }
    return -1;
}

static bool same_letters(struct letters first, struct letters second)
{
    for (;;) {
        int x = next_letter(&first), y = next_letter(&second);
        if (x != y)
            return false;
        if (x < 0)
            return first.at > 0 && second.at > 0;
    }
}

bool att_answer_same_name(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return same_letters((struct letters){ .text = a, .length = a_length },
                        (struct letters){ .text = b, .length = b_length });
}

/* The same with capitals and small letters told apart. */
static bool is_spelled(const char *name, const char *text, size_t length)
{
    return same_letters((struct letters){ .text = name, .length = strlen(name), .keep_case = true },
                        (struct letters){ .text = text, .length = length, .keep_case = true });
}

/* ---- Names of asks */

/* "1", "q1", "Question 1", "step 1": the number of an ask; 0: none. */
size_t att_answer_ask_number(const char *text, size_t length)
{
    static const char *const words[] = { "q",    "question", "step",   "answer", "ans", "nr",
                                         "task", "exercise", "number", "part",   "no",  "ex" };
    size_t at = 0;
    while (at < length && !isalnum((unsigned char)text[at])) {
        if (text[at] == '^' || (unsigned char)text[at] > 127) /* a square of something: σ² */
            return 0;
        at++;
    }
    for (size_t i = 0; i < ATT_COUNT(words); i++) {
        size_t word = strlen(words[i]);
        if (length - at > word && strncasecmp(text + at, words[i], word) == 0 &&
            !isalpha((unsigned char)text[at + word])) {
            at += word;
            break;
        }
    }
    while (at < length && strchr(" .#(", text[at]))
        at++;
    size_t number = 0, digits = 0;
    for (; at < length && isdigit((unsigned char)text[at]) && digits < 4; at++, digits++)
        number = 10 * number + (size_t)(text[at] - '0');
    while (at < length && strchr(" .):", text[at]))
        at++;
    return at == length ? number : 0;
}

/* The name of a part alone, if one ask has it: "weights" for a.weights. */
static bool is_part(const att_ask *ask, const char *text, size_t length)
{
    return ask->part && ask->head == 0 && ask->formula->kind == ATT_EXPR_FIELD &&
           att_answer_same_name(ask->part, strlen(ask->part), text, length);
}

/* Skips "a", "an" and "the". */
static void skip_article(const char **text, size_t *length)
{
    static const char *const articles[] = { "the ", "a ", "an " };
    for (size_t i = 0; i < ATT_COUNT(articles); i++) {
        size_t word = strlen(articles[i]);
        if (*length > word && strncasecmp(*text, articles[i], word) == 0) {
            *text += word;
            *length -= word;
            return;
        }
    }
}

static bool is_description(const att_ask *ask, const char *text, size_t length)
{
    const char *description = ask->description;
    size_t size = strlen(description);
    skip_article(&description, &size);
    skip_article(&text, &length);
    return att_answer_same_name(description, size, text, length);
}

/* Whether a value of the sheet that is not asked for has this name. */
static bool is_other_value(const att_sheet *sheet, const char *text, size_t length)
{
    for (size_t i = 0; i < sheet->step_count; i++)
        if (sheet->steps[i].name && is_spelled(sheet->steps[i].name, text, length))
            return true;
    return false;
}

/* The ask with a name, in any case if no value of the sheet and no second ask is meant. */
static size_t find_by_name(const att_sheet *sheet, const char *text, size_t length,
                           att_answer_spelling *spelling)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < sheet->ask_count; i++)
        if (is_spelled(sheet->asks[i]->name, text, length)) {
            *spelling = ATT_SPELLING_EXACT;
            return i;
        }
    for (size_t i = 0; i < sheet->ask_count; i++) {
        const char *name = sheet->asks[i]->name;
        if (!att_answer_same_name(name, strlen(name), text, length))
            continue;
        if (found != SIZE_MAX || is_other_value(sheet, text, length))
            return SIZE_MAX;
        found = i;
    }
    *spelling = ATT_SPELLING_OTHER_CASE;
    return found;
}

size_t att_answer_find_ask(const att_sheet *sheet, const char *text, size_t length,
                           att_answer_spelling *spelling)
{
    size_t found = find_by_name(sheet, text, length, spelling), times = 0;
    if (found != SIZE_MAX)
        return found;
    *spelling = ATT_SPELLING_OTHER;
    for (size_t i = 0; i < sheet->ask_count; i++)
        if (is_part(sheet->asks[i], text, length) || is_description(sheet->asks[i], text, length)) {
            found = i;
            times++;
        }
    if (times == 1)
        return found;
    size_t number = att_answer_ask_number(text, length);
    return number >= 1 && number <= sheet->ask_count ? number - 1 : SIZE_MAX;
}

/* ---- Words of a description */

enum { MAX_WORDS = 32 };

struct words {
    const char *text[MAX_WORDS];
    size_t length[MAX_WORDS];
    size_t count;
};

/* Words that say nothing about which answer is meant. */
static bool is_filler(const char *word, size_t length)
{
    static const char *const fillers[] = { "the", "a",    "an",   "of",     "our",   "my",   "for",
                                           "is",  "are",  "to",   "in",     "at",    "with", "and",
                                           "so",  "then", "thus", "hence",  "value", "each", "we",
                                           "get", "by",   "from", "values", "step",  "new" };
    for (size_t i = 0; i < ATT_COUNT(fillers); i++)
        if (strlen(fillers[i]) == length && strncasecmp(fillers[i], word, length) == 0)
            return true;
    return false;
}

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c > 127 || c == '_' || c == '.';
}

/* The words of a text that are no fillers; what stands in parentheses is left out on request. */
static struct words words_of(const char *text, size_t length, bool skip_remarks)
{
    struct words out = { .count = 0 };
    int depth = 0;
    for (size_t at = 0; at < length && out.count < MAX_WORDS;) {
        size_t from = at;
        depth += text[at] == '(';
        depth -= text[at] == ')' && depth > 0;
        while (at < length && is_word_byte(text[at]))
            at++;
        size_t end = at;
        while (end > from && text[end - 1] == '.')
            end--;
        if (end > from && !is_filler(text + from, end - from) && !(skip_remarks && depth > 0)) {
            out.text[out.count] = text + from;
            out.length[out.count++] = end - from;
        }
        at += at == from;
    }
    return out;
}

static bool has_word(const struct words *words, const char *word, size_t length)
{
    for (size_t i = 0; i < words->count; i++)
        if (att_answer_same_name(words->text[i], words->length[i], word, length))
            return true;
    return false;
}

/* "h_t" and "h" for a part h. */
static bool is_symbol(const att_ask *ask, const char *word, size_t length)
{
    if (length > 2 && strncasecmp(word + length - 2, "_t", 2) == 0)
        length -= 2;
    return att_answer_same_name(ask->name, strlen(ask->name), word, length) ||
           is_part(ask, word, length);
}

/* Whether every word is one of the description, or the symbol, and half of the description's words
 * are among them. */
static bool has_words_of(const att_ask *ask, const struct words *words)
{
    size_t size = strlen(ask->description), known = 0;
    const struct words all = words_of(ask->description, size, false);
    const struct words needed = words_of(ask->description, size, true);
    for (size_t i = 0; i < words->count; i++)
        if (!has_word(&all, words->text[i], words->length[i]) &&
            !is_symbol(ask, words->text[i], words->length[i]))
            return false;
    for (size_t i = 0; i < needed.count; i++)
        known += has_word(words, needed.text[i], needed.length[i]);
    return known > 0 && 2 * known >= needed.count;
}

size_t att_answer_find_words(const att_sheet *sheet, const char *text, size_t length)
{
    const struct words words = words_of(text, length, false);
    size_t found = SIZE_MAX, times = 0;
    for (size_t i = 0; i < sheet->ask_count; i++)
        if (has_words_of(sheet->asks[i], &words)) {
            found = i;
            times++;
        }
    if (times == 1)
        return found;
    return SIZE_MAX;
}

/* ---- Elements: a.weights[1, 2] = 0.33, w_12 = 0.33, h2 = 0.6 */

/* Splits "w[1, 2]", "w(1,2)", "w_{12}", "w_12" and "w12" into the name and the indices, from 1. */
bool att_answer_split_index(const char *text, size_t length, size_t *name, int64_t index[2])
{
    int64_t numbers[3] = { 0 };
    int count = 0;
    size_t end = length;
    while (end > 0 && strchr(" ])}", text[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && (isdigit((unsigned char)text[from - 1]) || strchr(" ,", text[from - 1])))
        from--;
    size_t open = from;
    while (open > 0 && strchr("[({_ ", text[open - 1]))
        open--;
    bool joined = open == from && from < end && from > 0 && isalpha((unsigned char)text[from - 1]);
    if ((open == from && !joined) || open == 0)
        return false;
    bool separated = false;
    for (size_t i = from; i < end && count < 3;) {
        if (!isdigit((unsigned char)text[i])) {
            separated = true;
            i++;
            continue;
        }
        size_t digits = 0;
        for (; i < end && isdigit((unsigned char)text[i]) && digits < 6; i++, digits++)
            numbers[count] = 10 * numbers[count] + (text[i] - '0');
        count++;
    }
    if (count == 1 && !separated && numbers[0] >= 11 && numbers[0] <= 99 && end - from == 2) {
        numbers[1] = numbers[0] % 10;
        numbers[0] /= 10;
        count = 2;
    }
    *name = open;
    index[0] = numbers[0];
    index[1] = count == 2 ? numbers[1] : -1;
    return count == 1 || count == 2;
}
