/* A WebAssembly memory has no pages to advise on: alloc.c finds no MADV_HUGEPAGE here. */
