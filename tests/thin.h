/* Tests that repeat the same work do only a part of it with the sanitizers, which are several times
 * slower, and in the minimal build, which differs from the full one only in the libraries it has.
 */
#ifndef TESTS_THIN_H
#define TESTS_THIN_H

/* One in THIN of the repetitions is done. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ATTEND_TEST_MINIMAL)
enum { THIN = 8 };
#else
enum { THIN = 1 };
#endif

#endif
