/* The properties of text positions, computed from the state of the scanner. */
#include "inspect/properties.h"

#include "base/minmax.h"

#include <string.h>

enum { LINE_END_DISTANCE = 5 };

/* Defines a property as an expression of the scanner `s`. */
#define PROPERTY(NAME, EXPRESSION)                                                                 \
    static double NAME(const att_scanner *s)                                                       \
    {                                                                                              \
        return (double)(EXPRESSION);                                                               \
    }

PROPERTY(column, s->column)
PROPERTY(line_end, s->line_length - s->column <= LINE_END_DISTANCE)
PROPERTY(indent, s->indent)
PROPERTY(quotes, s->in_quotes)
PROPERTY(comment, s->context == ATT_LEXICAL_BLOCK_COMMENT || s->context == ATT_LEXICAL_LINE_COMMENT)
PROPERTY(literal, s->context == ATT_LEXICAL_STRING || s->context == ATT_LEXICAL_CHARACTER)
PROPERTY(condition, s->condition_depth > 0)
PROPERTY(brackets, s->round_depth + s->square_depth + s->curly_depth)
PROPERTY(round_depth, s->round_depth)
PROPERTY(square_depth, s->square_depth)
PROPERTY(curly_depth, s->curly_depth)
PROPERTY(assigned, s->in_assignment)
PROPERTY(directive, s->in_directive)
PROPERTY(number, s->in_number)
PROPERTY(url, s->in_url)
PROPERTY(word, s->word_length > 0)
PROPERTY(word_place, s->word_length)
PROPERTY(capitals, s->word_length > 1 && s->all_caps && !s->in_number)
PROPERTY(sentence_start, s->sentence_words == 1 && s->word_length > 0)
PROPERTY(sentence_words, s->sentence_words)
PROPERTY(blank, att_is_blank(s->codepoint))
PROPERTY(capital, att_is_capital(s->codepoint))
PROPERTY(newline, s->codepoint == '\n')

static double punctuation(const att_scanner *s)
{
    return s->codepoint < 0x80 && s->codepoint > ' ' &&
           strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", (int)s->codepoint) != NULL;
}

const att_property att_properties[] = {
    { "column", "characters since the start of the line", false, column },
    { "line-end", "the line ends within five characters", true, line_end },
    { "indent", "columns of white space at the start of the line", false, indent },
    { "quotes", "inside quotation marks", true, quotes },
    { "comment", "inside a C comment", true, comment },
    { "literal", "inside a C string or character literal", true, literal },
    { "condition", "inside the condition of an if", true, condition },
    { "brackets", "open brackets of any kind", false, brackets },
    { "round", "open round brackets", false, round_depth },
    { "square", "open square brackets", false, square_depth },
    { "curly", "open curly brackets", false, curly_depth },
    { "assigned", "between = and ;", true, assigned },
    { "directive", "in a line of the C preprocessor", true, directive },
    { "number", "in a number", true, number },
    { "url", "in a URL", true, url },
    { "capital", "a capital letter", true, capital },
    { "capitals", "in a word of capital letters", true, capitals },
    { "word", "in a word", true, word },
    { "word-place", "characters since the start of the word", false, word_place },
    { "sentence-start", "in the first word of a sentence", true, sentence_start },
    { "sentence-words", "words since the start of the sentence", false, sentence_words },
    { "blank", "white space", true, blank },
    { "newline", "a line end", true, newline },
    { "punctuation", "a punctuation mark", true, punctuation },
};

const int att_property_count = ATT_COUNT(att_properties);
