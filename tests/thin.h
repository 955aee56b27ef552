/* Sanitizers make a program several times slower: tests that repeat the same work many times do
 * only one in THIN repetitions under a sanitizer. */
#ifndef TESTS_THIN_H
#define TESTS_THIN_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { THIN = 4 };
#else
enum { THIN = 1 };
#endif

#endif
