/* Included before every source: declares the POSIX calls that wasi-libc lacks (port.c). */
#ifndef ATT_PORT_H
#define ATT_PORT_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

int dup(int fd);
int fchmod(int fd, mode_t mode);
pid_t getpgid(pid_t pid);
char *realpath(const char *path, char *resolved);

#endif
