/* A verb that several processes share: how it ends. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "program.h"

/* Opens the transport if a launcher started several processes (att_transport_open). */
att_status processes_open(att_transport **out, att_error *err);

/* Closes the transport, if any, and returns `code`, or reports a failure once for all processes
 * that agree on it and returns its exit code. A process that failed alone ends all. */
exit_code processes_end(att_transport *transport, att_status status, const att_error *err,
                        exit_code code);

/* The end of a verb that can be shared: returns `code`. If this process failed before it opened the
 * transport (its options, a config file that its host does not have), it ends the others. */
exit_code processes_leave(exit_code code);

/* Whether this process is one of several that does not print. */
bool processes_are_silent(const att_transport *transport);

#endif
