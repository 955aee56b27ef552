/* A verb that several processes share: how it ends. */
#include "processes.h"

#include <stdio.h>

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
    if (transport && transport->ranks > 1 && status != ATT_OK && !transport->agreed) {
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
