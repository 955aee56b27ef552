/* The sanitisers make everything several times slower: what does the same work over and over does a
 * part of it there. */
#ifndef TESTS_THIN_H
#define TESTS_THIN_H

/* One in so many. */
#ifdef __SANITIZE_ADDRESS__
enum { THIN = 4 };
#else
enum { THIN = 1 };
#endif

#endif
