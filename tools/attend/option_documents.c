/* The option tables as documents for other programs: completion scripts for bash and zsh, and the
 * lists of the manual page. `attend help --format` prints them; the copies in tools/completion and
 * docs/attend.1 are compared with its output by tests/checks/documented. */
#include "program.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A string that remembers the first failed allocation. */
typedef struct document {
    att_string *out;
    att_status status;
} document;

static void put(document *d, const char *text, size_t length)
{
    if (d->status == ATT_OK)
        d->status = att_string_append(d->out, text, length);
}

static void put_format(document *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* No caller formats more than a line. */
static void put_format(document *d, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    put(d, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

/* ---- what follows an option */

static bool takes_value(const option *row)
{
    return row->placeholder != NULL;
}

static bool takes_file(const option *row)
{
    return row->placeholder &&
           (strncmp(row->placeholder, "FILE", 4) == 0 || strcmp(row->placeholder, "MODELS") == 0);
}

/* The suffix of the files that an option takes; "": any. */
static const char *file_suffix(const option *row)
{
    static const char *const suffixes[] = { "svg", "png", "pdf", "html" };
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(row->name, suffixes[i]) == 0)
            return suffixes[i];
    return strcmp(row->placeholder, "MODELS") == 0 ? "safetensors" : "";
}

/* Words with spaces between them. */
static void put_choices(document *d, const option *row)
{
    for (size_t i = 0; row->choices[i]; i++)
        put_format(d, "%s%s", i > 0 ? " " : "", row->choices[i]);
}

static void put_operand_words(document *d, const struct verb *verb)
{
    const char *word;
    for (size_t i = 0; (word = verb->operand_word(i)); i++)
        put_format(d, "%s%s", i > 0 ? " " : "", word);
}

/* ---- bash */

static const char bash_head[] =
    "# bash completion for attend(1); printed by 'attend help --format bash'\n"
    "\n"
    "# Offers the words of $1 that begin like the current one.\n"
    "_attend_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "# Offers folders, and files with the suffix $1 (all files if it is empty).\n"
    "_attend_files() {\n"
    "    mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "    mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(\n"
    "        if [ -z \"$1\" ]; then compgen -f -- \"$cur\"; else compgen -f -X \"!*.$1\" -- "
    "\"$cur\"; fi\n"
    "    )\n"
    "    compopt -o filenames 2>/dev/null || true\n"
    "}\n"
    "\n";

static const char bash_tail[] =
    "_attend() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    local verb=${COMP_WORDS[1]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        _attend_verbs\n"
    "    elif _attend_value; then\n"
    "        return\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        _attend_options\n"
    "    else\n"
    "        _attend_operands\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _attend attend\n";

static void bash_verbs(document *d)
{
    put_format(d, "_attend_verbs() {\n    _attend_words '");
    for (const struct verb *verb = verbs; verb->name; verb++)
        put_format(d, "%s ", verb->name);
    put_format(d, "--help --version'\n}\n\n");
}

/* One case: the option, with its short form, and what completes its value. */
static void bash_value(document *d, const struct verb *verb, const option *row)
{
    put_format(d, "    '%s --%s'", verb->name, row->name);
    if (row->short_name)
        put_format(d, " | '%s -%c'", verb->name, row->short_name);
    if (row->choices) {
        put_format(d, ") _attend_words '");
        put_choices(d, row);
        put_format(d, "' ;;\n");
    } else if (takes_file(row)) {
        put_format(d, ") _attend_files '%s' ;;\n", file_suffix(row));
    } else {
        put_format(d, ") ;;\n");
    }
}

static void bash_values(document *d)
{
    option row;
    put_format(d, "# Completes the value of the option before the cursor; fails if it takes none.\n"
                  "_attend_value() {\n    case \"$verb $prev\" in\n");
    for (const struct verb *verb = verbs; verb->name; verb++)
        for (size_t i = 0; option_get(&row, verb, i); i++)
            if (takes_value(&row))
                bash_value(d, verb, &row);
    put_format(d, "    *) return 1 ;;\n    esac\n}\n\n");
}

static void bash_options(document *d)
{
    option row;
    put_format(d, "_attend_options() {\n    case $verb in\n");
    for (const struct verb *verb = verbs; verb->name; verb++) {
        put_format(d, "    %s)\n        _attend_words '--help", verb->name);
        for (size_t i = 0; option_get(&row, verb, i); i++)
            put_format(d, "%s--%s", i % 4 == 3 ? "\n            " : " ", row.name);
        put_format(d, "'\n        ;;\n");
    }
    put_format(d, "    esac\n}\n\n");
}

static void bash_operands(document *d)
{
    put_format(d, "_attend_operands() {\n    case $verb in\n");
    for (const struct verb *verb = verbs; verb->name; verb++) {
        put_format(d, "    %s) ", verb->name);
        if (verb->lists_operands) {
            put_format(d,
                       "_attend_words \"$(\"${COMP_WORDS[0]}\" %s --list 2>/dev/null | "
                       "cut -d ' ' -f 1)\" ;;\n",
                       verb->name);
        } else if (verb->operand_word) {
            if (verb->operand_suffix)
                put_format(d, "[ \"$COMP_CWORD\" -gt 2 ] && _attend_files '%s' && return\n        ",
                           verb->operand_suffix);
            put_format(d, "_attend_words '");
            put_operand_words(d, verb);
            put_format(d, "' ;;\n");
        } else {
            put_format(d, "_attend_files '%s' ;;\n", verb->operand_suffix);
        }
    }
    put_format(d, "    esac\n}\n\n");
}

att_status completion_bash(att_string *out)
{
    document d = { out, ATT_OK };
    put(&d, bash_head, sizeof bash_head - 1);
    bash_verbs(&d);
    bash_values(&d);
    bash_options(&d);
    bash_operands(&d);
    put(&d, bash_tail, sizeof bash_tail - 1);
    return d.status;
}

/* ---- zsh */

/* Text in single quotes and square brackets. */
static void zsh_text(document *d, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            put(d, "'\\''", 4);
        else if (*text == '[' || *text == ']' || *text == ':')
            put(d, (char[]){ '\\', *text }, 2);
        else
            put(d, text, 1);
    }
}

/* The name of a value in lower case. */
static void zsh_placeholder(document *d, const char *text)
{
    for (; *text; text++)
        if (*text == ':')
            put(d, "\\:", 2);
        else
            put(d, (char[]){ (char)tolower((unsigned char)*text) }, 1);
}

static void zsh_files(document *d, const char *suffix)
{
    if (suffix[0])
        put_format(d, "_files -g \"*.%s\"", suffix);
    else
        put_format(d, "_files");
}

static void zsh_option(document *d, const option *row)
{
    const char *equals = takes_value(row) ? "=" : "";
    if (row->short_name)
        put_format(d, "        '(-%c --%s)'{-%c%s,--%s%s}'[", row->short_name, row->name,
                   row->short_name, takes_value(row) ? "+" : "", row->name, equals);
    else
        put_format(d, "        '--%s%s[", row->name, equals);
    zsh_text(d, row->help);
    put_format(d, "]");
    if (takes_value(row)) {
        put_format(d, ":");
        zsh_placeholder(d, row->placeholder);
        put_format(d, ":");
    }
    if (row->choices) {
        put_format(d, "(");
        put_choices(d, row);
        put_format(d, ")");
    } else if (takes_file(row)) {
        zsh_files(d, file_suffix(row));
    }
    put_format(d, "' \\\n");
}

static void zsh_operands(document *d, const struct verb *verb)
{
    if (verb->lists_operands) {
        put_format(d, "        '*:name:compadd -a names'\n");
        return;
    }
    if (verb->operand_word) {
        put_format(d, "        '1:word:(");
        put_operand_words(d, verb);
        put_format(d, ")'%s\n", verb->operand_suffix ? " \\" : "");
    }
    if (verb->operand_suffix) {
        put_format(d, "        '*:file:");
        zsh_files(d, verb->operand_suffix);
        put_format(d, "'\n");
    }
}

static void zsh_verb(document *d, const struct verb *verb)
{
    option row;
    put_format(d, "_attend_%s() {\n", verb->name);
    if (verb->lists_operands)
        put_format(d,
                   "    local -a names\n"
                   "    names=(${(f)\"$(attend %s --list 2>/dev/null | cut -d ' ' -f 1)\"})\n",
                   verb->name);
    put_format(d, "    _arguments \\\n");
    for (size_t i = 0; option_get(&row, verb, i); i++)
        zsh_option(d, &row);
    put_format(d, "        '(- *)'{-h,--help}'[print the help of %s]' \\\n", verb->name);
    zsh_operands(d, verb);
    put_format(d, "}\n\n");
}

att_status completion_zsh(att_string *out)
{
    document d = { out, ATT_OK };
    put_format(&d, "#compdef attend\n"
                   "# zsh completion for attend(1); printed by 'attend help --format zsh'\n\n");
    for (const struct verb *verb = verbs; verb->name; verb++)
        zsh_verb(&d, verb);
    put_format(&d, "_attend() {\n    local -a verbs\n    verbs=(\n");
    for (const struct verb *verb = verbs; verb->name; verb++)
        put_format(&d, "        '%s:%s'\n", verb->name, verb->help);
    put_format(&d, "    )\n"
                   "    local curcontext=$curcontext state\n"
                   "    _arguments -C '(- *)'{-V,--version}'[print the version]' \\\n"
                   "        '(- *)'{-h,--help}'[list the verbs]' '1:verb:->verb' "
                   "'*::argument:->argument'\n"
                   "    case $state in\n"
                   "    verb) _describe verb verbs ;;\n"
                   "    argument) (( $+functions[_attend_$words[1]] )) && _attend_$words[1] ;;\n"
                   "    esac\n"
                   "}\n\n"
                   "_attend \"$@\"\n");
    return d.status;
}

/* ---- mdoc */

/* One word. roff reads a backslash as the start of an escape, and "\-" as the minus of an option.
 */
static size_t mdoc_word(document *d, const char *word, size_t length)
{
    size_t written = 0;
    for (size_t i = 0; i < length; i++) {
        bool minus = word[i] == '-' && (i == 0 || !isalnum((unsigned char)word[i - 1]));
        if (word[i] == '\\' || minus)
            put(d, minus ? "\\-" : "\\e", 2);
        else
            put(d, word + i, 1);
        written += word[i] == '\\' || minus ? 2 : 1;
    }
    return written;
}

/* A help text, wrapped to the width of manual pages. */
static void mdoc_text(document *d, const char *text)
{
    enum { MAX_BYTES = 76 };
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        bool fits = column + 1 + length <= MAX_BYTES;
        if (column > 0)
            put(d, fits ? " " : "\n", 1);
        column = fits ? column + 1 : 0;
        column += mdoc_word(d, text, length);
        text += length + (text[length] == ' ');
    }
}

static void mdoc_value_text(document *d, const option *row, const char *value)
{
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; row->choices && row->choices[i] && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 i == 0                ? "Values: "
                                 : row->choices[i + 1] ? ", "
                                                       : " or ",
                                 row->choices[i]);
    if (value && *value && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s",
                                 used > 0 ? "; default" : "Default:", value);
    if (used == 0)
        return;
    mdoc_text(d, text);
    put(d, ".\n", 2);
}

static void mdoc_option(document *d, const option *row, const att_settings *defaults)
{
    put_format(d, ".It ");
    if (row->short_name)
        put_format(d, "Fl %c , ", row->short_name);
    put_format(d, "Fl -%s", row->name);
    if (row->placeholder) {
        put_format(d, " Ar ");
        zsh_placeholder(d, strcmp(row->placeholder, "FILE…") == 0 ? "FILE ..." : row->placeholder);
    }
    put_format(d, "\n");
    char first[2] = { (char)toupper((unsigned char)row->help[0]), 0 };
    att_string text = { 0 };
    if (att_string_append(&text, first, 1) != ATT_OK ||
        att_string_append(&text, row->help + 1, strlen(row->help + 1)) != ATT_OK ||
        att_string_append(&text, ".", 1) != ATT_OK)
        d->status = ATT_NO_MEMORY;
    else
        mdoc_text(d, text.data);
    put_format(d, "\n");
    att_string_free(&text);
    if (row->type != OPTION_SETTING)
        return;
    att_string value = { 0 };
    att_status status = att_settings_get(&value, defaults, row->name, NULL);
    if (status == ATT_OK)
        mdoc_value_text(d, row, value.data);
    else
        d->status = status;
    att_string_free(&value);
}

static void mdoc_verb(document *d, const struct verb *verb, const att_settings *defaults)
{
    option row;
    const char *group = "";
    put_format(d, ".Ss Options of %s\n.Bl -tag -width Ds\n", verb->name);
    for (size_t i = 0; option_get(&row, verb, i); i++) {
        if (row.setting && strcmp(row.setting->group, group) != 0) {
            group = row.setting->group;
            put_format(d, ".El\n.Pp\n%c%s:\n.Bl -tag -width Ds\n", toupper((unsigned char)group[0]),
                       group + 1);
        }
        mdoc_option(d, &row, defaults);
    }
    put_format(d, ".It Fl h , Fl -help\nPrint the help of the verb.\n.El\n");
}

att_status completion_mdoc(att_string *out)
{
    document d = { out, ATT_OK };
    att_settings *defaults = NULL;
    d.status = att_settings_new(&defaults, NULL, NULL);
    for (const struct verb *verb = verbs; verb->name && d.status == ATT_OK; verb++)
        mdoc_verb(&d, verb, defaults);
    att_settings_free(defaults);
    return d.status;
}
