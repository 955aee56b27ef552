/* Students from CSV files and from the names of the files that they hand in. */
#include "students.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "lines.h"
#include "output.h"
#include "program.h"

enum { MAX_CELLS = 64, MAX_ID = 200 };

/* Takes the next cell of a line: removes quotes in place and ends it with a zero byte. */
static char *next_cell(char **at, char separator)
{
    char *from = *at, *to = from, *cell = from;
    bool quoted = *from == '"';
    from += quoted;
    for (; *from && (quoted || *from != separator); from++) {
        if (quoted && *from == '"' && from[1] != '"') {
            quoted = false;
            continue;
        }
        from += quoted && *from == '"';
        *to++ = *from;
    }
    *at = *from ? from + 1 : NULL;
    *to = '\0';
    while (*cell == ' ')
        cell++;
    while (to > cell && to[-1] == ' ')
        *--to = '\0';
    return cell;
}

static size_t split(char *line, char separator, char *cells[MAX_CELLS])
{
    size_t count = 0;
    for (char *at = line; at && count < MAX_CELLS;)
        cells[count++] = next_cell(&at, separator);
    return count;
}

/* The column that the first line names; SIZE_MAX: it names none, and is a student. */
static size_t find_column(char *const *cells, size_t count)
{
    static const char *const names[] = { "id",        "student",       "student id",
                                         "id number", "variant",       "username",
                                         "email",     "email address", "name" };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t i = 0; i < count; i++)
            if (strcasecmp(cells[i], names[n]) == 0)
                return i;
    return SIZE_MAX;
}

/* A name becomes the name of a file. */
static const char *wrong_id(const char *id)
{
    if (!*id)
        return "the name of a student is empty";
    if (strlen(id) > MAX_ID)
        return "the name of a student has more than 200 bytes";
    if (strchr(id, '/') || id[0] == '.')
        return "the name of a student becomes the name of a file: expected no '/' and no '.' at "
               "its start";
    for (const char *at = id; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            return "the name of a student has a control character";
    return NULL;
}

static att_status add_id(student_list *list, const char *id, const char *path, int line,
                         att_error *err)
{
    const char *wrong = wrong_id(id);
    if (wrong) {
        att_status status = error_set(err, ATT_BAD_INPUT, path, "%s", wrong);
        err->line = line;
        return status;
    }
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->ids[i], id) == 0) {
            att_status status = error_set(err, ATT_BAD_INPUT, path, "'%s' occurs twice", id);
            err->line = line;
            return status;
        }
    char **ids = realloc(list->ids, (list->count + 1) * sizeof *ids);
    if (!ids)
        return error_memory(err);
    list->ids = ids;
    list->ids[list->count] = strdup(id);
    return list->ids[list->count++] ? ATT_OK : error_memory(err);
}

static char separator_of(const char *line)
{
    return strchr(line, '\t') ? '\t' : strchr(line, ';') ? ';' : ',';
}

static att_status read_lines(student_list *out, char *text, const char *path, att_error *err)
{
    char *cells[MAX_CELLS], *next = text;
    char separator = ',';
    size_t column = 0;
    int number = 0;
    att_status status = ATT_OK;
    if (strncmp(next, "\xEF\xBB\xBF", 3) == 0)
        next += 3;
    while (next && *next && status == ATT_OK) {
        char *line = next, *end = line + strcspn(line, "\r\n");
        next = *end ? end + 1 : NULL;
        if (*end == '\r' && next && *next == '\n')
            next++;
        *end = '\0';
        number++;
        if (!line[strspn(line, " ,;\t")])
            continue;
        if (number == 1)
            separator = separator_of(line);
        size_t count = split(line, separator, cells);
        size_t named = number == 1 ? find_column(cells, count) : SIZE_MAX;
        if (named != SIZE_MAX)
            column = named;
        else
            status = add_id(out, column < count ? cells[column] : "", path, number, err);
    }
    if (status == ATT_OK && out->count == 0)
        status = error_set(err, ATT_BAD_INPUT, path, "expected a student on each line, found none");
    return status;
}

att_status students_load(student_list *out, const char *path, att_error *err)
{
    att_string text = { 0 };
    *out = (student_list){ 0 };
    att_status status = lines_read_all(&text, path, err);
    if (status == ATT_OK && text.data && strlen(text.data) != text.length)
        status = error_set(err, ATT_BAD_INPUT, path, "expected text, found a zero byte");
    if (status == ATT_OK)
        status = read_lines(out, text.data ? text.data : (char[]){ "" }, path, err);
    att_string_free(&text);
    return status;
}

void students_free(student_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->ids[i]);
    free(list->ids);
    *list = (student_list){ 0 };
}

att_status students_of_file(att_string *out, const student_list *list, const char *path,
                            att_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *best = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (strstr(name, list->ids[i]) && (!best || strlen(list->ids[i]) > strlen(best)))
            best = list->ids[i];
    if (list->count > 0 && !best)
        return error_set(err, ATT_BAD_INPUT, path,
                         "no student of --variants occurs in the name of this file");
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    att_status status = best ? att_string_append(out, best, strlen(best))
                             : att_string_append(out, name, length < MAX_ID ? length : MAX_ID);
    if (status == ATT_OK && out->length == 0)
        return error_set(err, ATT_BAD_INPUT, path, "expected a file with a name");
    return status == ATT_OK ? ATT_OK : error_memory(err);
}

att_status folder_make(const char *path, att_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return ATT_OK;
    return error_system(err, path, "make the folder", errno);
}

att_status folder_path(att_string *out, const char *folder, const char *name, const char *extension)
{
    size_t length = strlen(folder);
    bool slash = length > 0 && folder[length - 1] == '/';
    return string_join(out, (string_piece[]){ { folder, length },
                                              { "/", slash ? 0 : 1 },
                                              { name, strlen(name) },
                                              { extension, strlen(extension) },
                                              { 0 } });
}
