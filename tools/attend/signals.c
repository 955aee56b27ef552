/* Recording of SIGINT and SIGTERM; see signals.h for the contract. The handler only stores the
 * number: anything more is not safe inside a signal handler. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught_signal;

static void on_signal(int number)
{
    caught_signal = number;
}

void signals_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int signals_caught(void)
{
    return caught_signal;
}

void signals_raise(void)
{
    if (!caught_signal)
        return;
    signal(caught_signal, SIG_DFL);
    raise(caught_signal);
}
