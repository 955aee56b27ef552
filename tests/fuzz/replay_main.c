/* Runs a fuzz target on the files of its corpus, as an ordinary test: replay_x FOLDER. */
#include "fuzz/fuzz.h"

#include "base/file.h"

#include <dirent.h>

enum { LARGEST_INPUT = 1 << 20 };

static int skip_dots(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The input is in a block of exactly its size, so that the sanitizer detects reads beyond it. */
static bool replay(const char *path)
{
    att_string file = { 0 };
    att_error err;
    if (att_file_read(&file, path, LARGEST_INPUT, &err) != ATT_OK) {
        printf("# %s: %s\n", path, err.message);
        return false;
    }
    uint8_t *input = malloc(file.length ? file.length : 1);
    if (input) {
        memcpy(input, file.data, file.length);
        LLVMFuzzerTestOneInput(input, file.length);
        free(input);
    }
    att_string_free(&file);
    return input != NULL;
}

int main(int argc, char **argv)
{
    struct dirent **names = NULL;
    int count = argc == 2 ? scandir(argv[1], &names, skip_dots, alphasort) : -1;
    int failures = count <= 0; /* a corpus that is missing or empty tests nothing */
    printf("1..%d\n", count > 0 ? count : 1);
    if (failures)
        printf("not ok 1 - the corpus has files\n");
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]->d_name);
        bool good = replay(path);
        printf("%s %d - %s\n", good ? "ok" : "not ok", i + 1, names[i]->d_name);
        fflush(stdout);
        failures += !good;
        free(names[i]);
    }
    free(names);
    return failures > 0;
}
