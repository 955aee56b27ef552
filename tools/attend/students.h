/* Students of a class: their names from a CSV file, and which of them handed a file in. */
#ifndef STUDENTS_H
#define STUDENTS_H

#include "attend.h"

typedef struct student_list {
    char **ids; /* [count] */
    size_t count;
} student_list;

/* Reads the names of a CSV file, one per line, separated by commas, semicolons or tabs: the column
 * that its first line calls id, student, variant, username, email or name, in this order of
 * preference; otherwise the first column. Release with students_free() in any case. */
att_status students_load(student_list *out, const char *path, att_error *err);
void students_free(student_list *list);

/* Appends the name of the student who handed the file in: the longest of the list that occurs in
 * the file's name, or without a list the file's name without its extension. */
att_status students_of_file(att_string *out, const student_list *list, const char *path,
                            att_error *err);

/* Makes the folder unless it exists. */
att_status folder_make(const char *path, att_error *err);

/* Appends folder/name.extension. */
att_status folder_path(att_string *out, const char *folder, const char *name,
                       const char *extension);

#endif
