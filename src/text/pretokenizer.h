/* Kinds of tokens; the normalization of a line and its splitting into tokens, and the way back.
 *
 * A line is first brought into Unicode's composed form (NFC), so that é is one character however it
 * was typed. BPE and byte tokens skip that: they give every byte back. The Unicode tables are in
 * the source (unicode.h), so a token is the same in every build. */
#ifndef ATT_TEXT_PRETOKENIZER_H
#define ATT_TEXT_PRETOKENIZER_H

#include "attend.h"
#include "text/offset_map.h"

/* How a text is split into tokens; the lists in pretokenizer.c have a row per kind. The kinds that
 * keep spaces and line ends come first: only those split a whole text, for a language model. */
typedef enum att_tokenizer_kind {
    ATT_TOKENIZER_CHAR,      /* characters: grapheme clusters, such as a letter with its marks */
    ATT_TOKENIZER_WORD,      /* words and punctuation marks */
    ATT_TOKENIZER_BPE,       /* subwords, learned by byte-pair encoding */
    ATT_TOKENIZER_BYTE,      /* bytes */
    ATT_TOKENIZER_CODEPOINT, /* Unicode code points: a letter and each of its marks */
    ATT_DOCUMENT_TOKENIZER_KINDS,
    ATT_TOKENIZER_SPACE = ATT_DOCUMENT_TOKENIZER_KINDS, /* whitespace-separated tokens */
    ATT_TOKENIZER_LINE,                                 /* the whole line is one token: a label */
    ATT_TOKENIZER_KINDS
} att_tokenizer_kind;

/* Their names in settings and model files, in the order of the enum, ended by NULL; and the names
 * of those that can split a whole text. */
extern const char *const att_tokenizer_kind_names[ATT_TOKENIZER_KINDS + 1];
extern const char *const att_document_tokenizer_names[ATT_DOCUMENT_TOKENIZER_KINDS + 1];

/* The offset of the first byte that is zero or not UTF-8; `length` if there is none. */
size_t att_line_valid_prefix(const char *line, size_t length);

/* ATT_BAD_INPUT, naming that byte, if a line holds one. */
att_status att_line_validate(const char *line, size_t length, att_error *err);

/* Replaces *out by the line in composed form (NFC), lowercased if `lower`. The line must be UTF-8.
 */
att_status att_line_normalize_nfc(att_string *out, const char *line, size_t length, bool lower,
                                  att_error *err);

/* Replaces *out by the line as tokens of a kind see it: in composed form, or for BPE and bytes as
 * it is (composed too if `lower`). BPE puts a space before the line, so that the first word is
 * encoded like any other. *offsets, if given, must be {0} and receives the way back to the line. */
att_status att_line_normalize(att_string *out, att_offset_map *offsets, att_tokenizer_kind kind,
                              const char *line, size_t length, bool lower, att_error *err);

/* The same for a whole text, which gets no space before it. */
att_status att_document_normalize(att_string *out, att_offset_map *offsets, att_tokenizer_kind kind,
                                  const char *text, size_t length, bool lower, att_error *err);

/* Iterates over the tokens of a normalized line; start from { .text, .length, .kind }.
 *
 * White space at the ends of a line is dropped, and between tokens too, except for characters.
 * ATT_TOKENIZER_SPACE splits at ASCII white space only. ATT_TOKENIZER_LINE keeps what is inside.
 *
 * For BPE it yields the pieces that merges stay within, and drops nothing. A piece is a run of
 * letters, of digits or of other characters, with the one space before it; further spaces are a
 * separate piece. Which characters are letters is fixed (att_utf8_identifier_start).
 *
 * Nothing of a whole text is dropped: words are then the same pieces, and line ends are tokens or
 * parts of tokens. */
typedef struct att_pretokenizer {
    const char *text;
    size_t length;
    att_tokenizer_kind kind;
    bool whole_text; /* a text, not a line */
    size_t position;
} att_pretokenizer;

/* Where the spaces of a line are when its tokens are joined again. */
typedef enum att_token_spacing {
    ATT_SPACES_ARE_TOKENS,
    ATT_SPACES_BETWEEN_WORDS,  /* but not where punctuation attaches to a word */
    ATT_SPACES_BETWEEN_TOKENS, /* always */
} att_token_spacing;

/* The properties of a kind, a row of att_tokenizer_specs. */
typedef struct att_tokenizer_spec {
    const char *unit;            /* its tokens in reports: "characters" */
    bool (*skip)(uint32_t code); /* characters that are dropped between tokens; NULL: none */
    size_t (*end)(const att_pretokenizer *in, size_t at); /* of the token that begins at `at` */
    att_token_spacing spacing;
    bool exact;    /* gives every byte back: lines are not brought into composed form */
    bool trimmed;  /* white space at the ends of a line is dropped, though `skip` is NULL */
    bool words;    /* tokens are words: shown with spaces; of a whole text, the pieces of BPE */
    bool language; /* tokens of natural language: outputs are evaluated with BLEU and chrF */
} att_tokenizer_spec;

extern const att_tokenizer_spec att_tokenizer_specs[ATT_TOKENIZER_KINDS];

/* The next token, a part of the text; false at the end. */
bool att_pretokenizer_next(att_pretokenizer *splitter, const char **token, size_t *length);

/* Appends a token to a line that starts at `start` of *out, after a space if it needs one: never
 * between characters, always between whitespace-separated tokens, and between words unless
 * punctuation attaches to one of them. */
att_status att_detokenize_append(att_string *out, size_t start, att_tokenizer_kind kind,
                                 const char *token);

#endif
