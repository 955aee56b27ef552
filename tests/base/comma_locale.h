/* A locale with a decimal comma, in which printf() writes 0,5 and strtod() parses 0.5 as 0. */
#ifndef TESTS_BASE_COMMA_LOCALE_H
#define TESTS_BASE_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define COMMA_LOCALE_FOLDER "/tmp/attend-locale-XXXXXX"

/* Creates the locale in a new directory named by the template `directory`, and switches to it.
 * Returns false where localedef or its sources are missing. */
static inline bool comma_locale_enter(char *directory)
{
    char command[256];
    if (!mkdtemp(directory))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1",
             directory, directory);
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", directory, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

/* Switches back and removes the directory. */
static inline bool comma_locale_leave(const char *directory)
{
    char command[64];
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command) == 0;
}

#endif
