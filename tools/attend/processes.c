/* A verb that several processes share: how it ends. */
#include "processes.h"

#include <stdio.h>

static bool is_open; /* this process has met the others, or is alone */

att_status processes_open(att_transport **out, att_error *err)
{
    att_status status = att_transport_open(out, err);
    is_open |= status == ATT_OK;
    return status;
}

static bool has_failed(exit_code code)
{
    return code == EXIT_BAD_INPUT || code == EXIT_SYSTEM;
}

/* The failure is reported already. The others wait for this process where MPI starts, and MPICH's
 * launcher would let them wait for ever. */
exit_code processes_leave(exit_code code)
{
    att_transport *transport = NULL;
    if (is_open || !has_failed(code) || att_transport_open(&transport, NULL) != ATT_OK)
        return code;
    if (transport && transport->ranks > 1) {
        fprintf(stderr, "process %d on %s failed before the run started\n", transport->rank,
                transport->host);
        fflush(NULL);
        transport->abort(transport->context, (int)code);
    }
    att_transport_close(transport);
    return code;
}

/* A failure that all processes agree on is reported by the first of them. */
static exit_code report_failure(att_transport *transport, att_status status, const att_error *err)
{
    if (!transport || transport->rank == 0 || !transport->agreed) {
        if (transport && transport->rank > 0)
            fprintf(stderr, "process %d on %s: ", transport->rank, transport->host);
        return report(status, err);
    }
    return report_code(status);
}

exit_code processes_end(att_transport *transport, att_status status, const att_error *err,
                        exit_code code)
{
    if (status != ATT_OK)
        code = report_failure(transport, status, err);
    bool alone = status == ATT_OK ? has_failed(code) : transport && !transport->agreed;
    if (transport && transport->ranks > 1 && alone) {
        fflush(NULL);
        transport->abort(transport->context, (int)code);
    }
    att_transport_close(transport);
    return code;
}

bool processes_are_silent(const att_transport *transport)
{
    return transport && transport->rank > 0;
}
