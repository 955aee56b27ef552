/* Locks: files in memory have one process, so every lock is free (port.c). */
#ifndef ATT_PORT_SYS_FILE_H
#define ATT_PORT_SYS_FILE_H

enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };
int flock(int fd, int operation);

#endif
