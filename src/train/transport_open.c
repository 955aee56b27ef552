/* Finds and loads the plugin of a transport. MPI libraries differ in their binary interface, so
 * each has a plugin of its own, and whoever does not start several processes needs none. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dladdr */
#endif
#include "attend.h"

#ifdef __wasi__ /* no processes, no plugins */

att_status att_transport_open(att_transport **out, att_error *err)
{
    (void)err;
    *out = NULL;
    return ATT_OK;
}

void att_transport_close(att_transport *transport)
{
    (void)transport;
}

#else

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How to see which launcher started the process. Slurm's own variables do not say whether its tasks
 * are meant to work together. */
typedef struct launcher {
    const char *variable;
    const char *name, *plugin, *package;
} launcher;

static const launcher launchers[] = {
    { "OMPI_COMM_WORLD_SIZE", "Open MPI", "attend-mpi-openmpi.so", "libopenmpi-dev" },
    { "PMI_SIZE", "MPICH", "attend-mpi-mpich.so", "libmpich-dev" },
    { "PMIX_RANK", "PMIx (srun --mpi=pmix)", "attend-mpi-openmpi.so", "libopenmpi-dev" },
};

static const launcher *find_launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *value = getenv(launchers[i].variable);
        if (value && *value)
            return &launchers[i];
    }
    return NULL;
}

/* ---- where plugins are */

/* The folder of the program or shared library that has this function, with a slash. */
static att_status own_folder(att_string *out)
{
    Dl_info info;
    char path[4096];
    ssize_t length = -1;
    const char *file = NULL;
    if (dladdr(__extension__(void *) att_transport_open, &info) && info.dli_fname &&
        strchr(info.dli_fname, '/'))
        file = info.dli_fname;
    if (!file || !strstr(file, ".so")) { /* the program: its name may be relative */
        length = readlink("/proc/self/exe", path, sizeof path - 1);
        if (length > 0) {
            path[length] = 0;
            file = path;
        }
    }
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? att_string_append(out, file, (size_t)(slash - file) + 1)
                 : att_string_puts(out, "./");
}

/* Beside the program or library, as in a build; beneath the library; and from bin to LIBDIR. */
static const char *const folders[] = { "", "plugins/", "attend/", "../" ATT_LIBDIR "/attend/",
                                       NULL };

static att_status find_plugin(att_string *out, const char *name, att_error *err)
{
    att_string folder = { 0 };
    att_status status = own_folder(&folder);
    bool found = false;
    for (size_t i = 0; status == ATT_OK && !found && folders[i]; i++) {
        out->length = 0;
        status = att_string_printf(out, "%s%s%s", folder.data, folders[i], name);
        found = status == ATT_OK && access(out->data, R_OK) == 0;
    }
    att_string_free(&folder);
    if (status != ATT_OK)
        return att_fail_memory(err);
    if (!found)
        out->length = 0;
    return ATT_OK;
}

/* ---- loading */

typedef struct opened {
    att_transport transport; /* first: what the caller holds */
    void *library;
} opened;

static att_status load(opened *out, const char *path, att_error *err)
{
    /* RTLD_GLOBAL: Open MPI loads components of its own that need its symbols. */
    out->library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!out->library)
        return att_fail(err, ATT_UNSUPPORTED, path, "cannot be loaded: %s", dlerror());
    void *symbol = dlsym(out->library, "attend_transport");
    if (!symbol)
        return att_fail(err, ATT_BAD_INPUT, path,
                        "is no transport plugin: expected the function attend_transport");
    att_transport_plugin *plugin;
    memcpy(&plugin, &symbol, sizeof plugin);
    out->transport.size = sizeof out->transport;
    return plugin(&out->transport, ATT_VERSION, err);
}

static att_status choose_plugin(att_string *path, const launcher *by, att_error *err)
{
    const char *given = getenv("ATTEND_TRANSPORT");
    if (given && *given)
        return att_string_puts(path, given) == ATT_OK ? ATT_OK : att_fail_memory(err);
    ATT_TRY(find_plugin(path, by->plugin, err));
    if (path->length > 0)
        return ATT_OK;
    return att_fail(
        err, ATT_UNSUPPORTED, NULL,
        "started by %s (%s is set), but its plugin %s was not found: build attend where "
        "the package %s is installed, or unset %s to train in one process",
        by->name, by->variable, by->plugin, by->package, by->variable);
}

att_status att_transport_open(att_transport **out, att_error *err)
{
    const char *given = getenv("ATTEND_TRANSPORT");
    const launcher *by = find_launcher();
    att_string path = { 0 };
    *out = NULL;
    if (!by && !(given && *given))
        return ATT_OK;
    att_status status = choose_plugin(&path, by, err);
    opened *made = NULL;
    if (status == ATT_OK) {
        made = att_alloc_zero(1, sizeof *made);
        status = made ? load(made, path.data, err) : att_fail_memory(err);
    }
    att_string_free(&path);
    if (status == ATT_OK) {
        *out = &made->transport;
        return ATT_OK;
    }
    if (made && made->library)
        dlclose(made->library);
    att_free(made);
    return status;
}

/* The library stays loaded: MPI leaves functions to be called at exit. */
void att_transport_close(att_transport *transport)
{
    if (!transport)
        return;
    if (transport->close)
        transport->close(transport->context);
    att_free(transport);
}

#endif
