/* The one call of pthread.h that the library makes outside of the thread pool, without threads. */
#ifndef ATT_PORT_PTHREAD_H
#define ATT_PORT_PTHREAD_H

typedef int pthread_once_t;
#define PTHREAD_ONCE_INIT 0

static inline int pthread_once(pthread_once_t *once, void (*initialize)(void))
{
    if (!*once) {
        *once = 1;
        initialize();
    }
    return 0;
}

#endif
