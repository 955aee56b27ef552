/* Lines of text as tokens, and back. A line is first brought to Unicode's composed form (NFC), so
 * that an é is one letter however it was typed; but for subwords, which give every byte back.
 * Unicode's tables are in the source (unicode.h), so a token is the same in every build. */
#ifndef ATT_TEXT_TOKENS_H
#define ATT_TEXT_TOKENS_H

#include "attend.h"
#include "settings/settings.h"

/* The offset of the first byte that is zero or no UTF-8; `length` where all is text. */
size_t att_line_valid_prefix(const char *line, size_t length);

/* Fails, naming that byte, where not all of a line is text. */
att_status att_line_validate(const char *line, size_t length, att_error *err);

/* Replaces *out by the line in composed form and, if `lower`, in small letters. The line must be
 * UTF-8. */
att_status att_line_normalize_nfc(att_string *out, const char *line, size_t length, bool lower,
                                  att_error *err);

/* Replaces *out by the line as it is split into tokens of a kind: composed, or for subwords and
 * bytes as it stands; before subwords with a space, so that the first word is spelt like any other.
 * Subwords too are composed where `lower` asks for small letters. */
att_status att_line_normalize(att_string *out, att_tokenizer_kind tokens, const char *line,
                              size_t length, bool lower, att_error *err);

/* The same for a text that is no line, and gets nothing before it. */
att_status att_document_normalize(att_string *out, att_tokenizer_kind tokens, const char *text,
                                  size_t length, bool lower, att_error *err);

/* Walks over the tokens of a prepared line; start from { .text, .length, .tokens }. White space at
 * the ends of a line and, but for characters, between tokens is dropped. Where tokens are given by
 * spaces, only those of ASCII count. A line that is one token (a label) keeps what is inside it.
 *
 * For subwords it gives the pieces that they are parts of, and drops nothing. A piece is a run of
 * letters, of digits, or of others, with the one space before it; spaces beyond that are a piece of
 * their own. What a letter is does not depend on the build.
 *
 * Of a whole text nothing is dropped: words are such pieces too, and ends of lines are tokens or
 * parts of them. */
typedef struct att_pretokenizer {
    const char *text;
    size_t length;
    att_tokenizer_kind kind;
    bool whole_text; /* a text, not a line */
    size_t position;
} att_pretokenizer;

/* The next token, lent; false at the end. */
bool att_pretokenizer_next(att_pretokenizer *splitter, const char **token, size_t *length);

/* Adds a token to a line under construction, which starts at `start` of *out, with the space before
 * it that it needs: none between characters, one between others, but none where punctuation leans
 * on a word. */
att_status att_detokenize_append(att_string *out, size_t start, att_tokenizer_kind tokens,
                                 const char *token);

#endif
