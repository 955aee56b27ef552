/* attend train as one of several processes: how it ends. */
#include "train.h"

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

exit_code train_end(att_transport *transport, att_status status, const att_error *err,
                    bool finished)
{
    exit_code code = finished ? EXIT_DONE : EXIT_STOPPED;
    if (status != ATT_OK)
        code = report_failure(transport, status, err);
    if (transport && status != ATT_OK && !transport->agreed) {
        fflush(NULL);
        transport->abort(transport->context, (int)code);
    }
    att_transport_close(transport);
    return code;
}

att_status train_refuse_search(att_transport *transport, att_error *err)
{
    transport->agreed = true; /* every process was started with it */
    return error_set(err, ATT_BAD_INPUT, "",
                     "--try cannot be shared by several processes: run the "
                     "search in one, then train the best with mpirun");
}
