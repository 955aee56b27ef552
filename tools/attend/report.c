/* Error reports: on standard error, with the exit code that belongs to the status. */
#include "program.h"
#include "terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

exit_code report_code(att_status status)
{
    static const exit_code codes[] = {
        [ATT_OK] = EXIT_DONE,
        [ATT_BAD_INPUT] = EXIT_BAD_INPUT,
        [ATT_NO_MEMORY] = EXIT_SYSTEM,
        [ATT_SYSTEM] = EXIT_SYSTEM,
        [ATT_UNSUPPORTED] = EXIT_BAD_INPUT,
        [ATT_CANCELLED] = EXIT_SYSTEM,
    };
    return codes[status];
}

exit_code report(att_status status, const att_error *err)
{
    terminal_puts(stderr, err->place[0] ? err->place : "attend");
    if (err->line > 0)
        fprintf(stderr, ":%d", err->line);
    if (err->line > 0 && err->column > 0)
        fprintf(stderr, ":%d", err->column);
    terminal_printf(stderr, ": %s\n", err->message[0] ? err->message : att_status_name(status));
    if (err->excerpt[0])
        terminal_printf(stderr, "%s\n", err->excerpt);
    return report_code(status);
}

exit_code report_usage(const struct verb *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "attend%s%s: ", verb ? " " : "", verb ? verb->name : "");
    terminal_vprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry 'attend help%s%s'.\n", verb ? " " : "", verb ? verb->name : "");
    return EXIT_BAD_INPUT;
}

att_status error_set(att_error *err, att_status status, const char *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *err = (att_error){ .status = status };
    snprintf(err->place, sizeof err->place, "%s", place);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return status;
}

att_status error_system(att_error *err, const char *place, const char *doing, int code)
{
    static const int input_errors[] = { ENOENT,       ENOTDIR, EACCES, EPERM,  EISDIR,
                                        ENAMETOOLONG, ELOOP,   ENXIO,  ETXTBSY };
    att_status status = ATT_SYSTEM;
    for (size_t i = 0; i < sizeof input_errors / sizeof *input_errors; i++)
        if (code == input_errors[i])
            status = ATT_BAD_INPUT;
    return error_set(err, status, place, "cannot %s: %s", doing, strerror(code));
}

att_status error_memory(att_error *err)
{
    return error_set(err, ATT_NO_MEMORY, "", "out of memory");
}

/* Messages about the model itself, whatever it reads. */
static bool concerns_model(const char *message)
{
    static const char *const phrases[] = { "the weights of the model are too large or damaged",
                                           "this is an int8 model", "needs an RNN language model",
                                           "a shortlist does not support a model" };
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (strstr(message, phrases[i]))
            return true;
    return false;
}

void error_blame_model(att_error *err, att_status status, const char *path)
{
    if (status != ATT_BAD_INPUT || err->place[0] || !concerns_model(err->message))
        return;
    snprintf(err->place, sizeof err->place, "%s", path);
    err->line = 0;
}

void error_set_place(att_error *err, att_status status, const char *place)
{
    if (status == ATT_BAD_INPUT && !err->place[0])
        snprintf(err->place, sizeof err->place, "%s", place);
}

exit_code worse(exit_code a, exit_code b)
{
    return a > b ? a : b;
}
