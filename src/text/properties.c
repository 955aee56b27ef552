/* The table of properties; see properties.h. */
#include "text/properties.h"

#include <string.h>

enum { NEAR_THE_END = 5 };

/* A property's value as an expression of the scan `s`. */
#define PROPERTY(NAME, EXPRESSION)                                                                 \
    static double NAME(const att_scan *s)                                                          \
    {                                                                                              \
        return (double)(EXPRESSION);                                                               \
    }

PROPERTY(column, s->column)
PROPERTY(line_end, s->line_length - s->column <= NEAR_THE_END)
PROPERTY(indent, s->indent)
PROPERTY(quotes, s->quoted)
PROPERTY(comment, s->within == ATT_WITHIN_COMMENT || s->within == ATT_WITHIN_LINE_COMMENT)
PROPERTY(literal, s->within == ATT_WITHIN_STRING || s->within == ATT_WITHIN_CHARACTER)
PROPERTY(condition, s->condition > 0)
PROPERTY(brackets, s->round + s->square + s->curly)
PROPERTY(round_depth, s->round)
PROPERTY(square_depth, s->square)
PROPERTY(curly_depth, s->curly)
PROPERTY(assigned, s->assigned)
PROPERTY(directive, s->directive)
PROPERTY(number, s->is_number)
PROPERTY(url, s->in_url)
PROPERTY(word, s->word > 0)
PROPERTY(word_place, s->word)
PROPERTY(capitals, s->word > 1 && s->capitals && !s->is_number)
PROPERTY(sentence_start, s->sentence_words == 1 && s->word > 0)
PROPERTY(sentence_words, s->sentence_words)
PROPERTY(blank, att_scan_blank(s->code))
PROPERTY(capital, att_scan_capital(s->code))
PROPERTY(newline, s->code == '\n')

static double punctuation(const att_scan *s)
{
    return s->code < 0x80 && s->code > ' ' &&
           strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", (int)s->code) != NULL;
}

const att_property att_properties[] = {
    { "column", "characters of the line so far", false, column },
    { "line-end", "the line ends within five characters", true, line_end },
    { "indent", "columns of white space that the line begins with", false, indent },
    { "quotes", "inside quotation marks", true, quotes },
    { "comment", "inside a comment of C", true, comment },
    { "literal", "inside a string or a character of C", true, literal },
    { "condition", "inside the condition of an if", true, condition },
    { "brackets", "brackets open, of any kind", false, brackets },
    { "round", "round brackets open", false, round_depth },
    { "square", "square brackets open", false, square_depth },
    { "curly", "curly brackets open", false, curly_depth },
    { "assigned", "between = and ;", true, assigned },
    { "directive", "in a line for the preprocessor of C", true, directive },
    { "number", "in a number", true, number },
    { "url", "in a URL", true, url },
    { "capital", "a capital letter", true, capital },
    { "capitals", "in a word of capitals", true, capitals },
    { "word", "in a word", true, word },
    { "word-place", "characters of the word so far", false, word_place },
    { "sentence-start", "in the first word of a sentence", true, sentence_start },
    { "sentence-words", "words of the sentence so far", false, sentence_words },
    { "blank", "white space", true, blank },
    { "newline", "the end of a line", true, newline },
    { "punctuation", "a sign of punctuation", true, punctuation },
};

const int att_property_count = sizeof att_properties / sizeof *att_properties;
