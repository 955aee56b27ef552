/* Recording of SIGINT, SIGTERM, SIGUSR1 and SIGHUP; see signals.h for the contract. The handler
 * only stores the number: anything more is not safe inside a signal handler. */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught_signal;

static void on_signal(int number)
{
    caught_signal = number;
}

/* A terminal that closes sends SIGHUP more than once, from the kernel and from the shell, so a
 * second one must not end the program while it saves. nohup(1) runs programs with SIGHUP ignored.
 */
static void catch_hangup(struct sigaction action)
{
    struct sigaction inherited;
    action.sa_flags = 0;
    if (sigaction(SIGHUP, NULL, &inherited) == 0 && inherited.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

void signals_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    catch_hangup(action);
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
