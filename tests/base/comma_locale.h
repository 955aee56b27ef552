/* A locale with a decimal comma, in which careless code writes 0,5 and reads 0.5 as 0. */
#ifndef TESTS_BASE_COMMA_LOCALE_H
#define TESTS_BASE_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define COMMA_LOCALE_FOLDER "/tmp/attend-locale-XXXXXX"

/* Makes the locale in the new folder named by the template `folder`, and switches to it. False
 * where localedef or its sources are missing. */
static inline bool comma_locale_enter(char *folder)
{
    char command[256];
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1",
             folder, folder);
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

/* Switches back and removes the folder. */
static inline bool comma_locale_leave(const char *folder)
{
    char command[64];
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0;
}

#endif
