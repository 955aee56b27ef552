/* Maps for tests. */
#ifndef TEST_MAPS_H
#define TEST_MAPS_H

#include "attend.h"

#include <math.h>

static const double one_row[] = { 0.263242, 0.328020, 0.408738 };
static const char *const english[] = { "I", "go", "home" };
static const char *const decoder[] = { "s_t" };

static const att_map dot_map = {
    .title = "Attention of the decoder",
    .panels = 1,
    .queries = 1,
    .keys = 3,
    .weights = one_row,
    .query_labels = decoder,
    .key_labels = english,
};

/* Two heads with a causal mask, an unmasked zero and a NaN. */
static const double causal_weights[] = { 1, 0, 0, 0.25, 0.75, 0, 0,   0.4, 0.6,
                                         1, 0, 0, 0.9,  0.1,  0, 0.2, NAN, 0.5 };
static const uint8_t causal_allowed[] = { 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1 };
static const char *const bengali[] = { "আমি", "স্কুলে", "যাই" };
static const char *const awkward[] = { "<b>&\"'", "日本語",
                                       "a very long label that goes on and on" };

static const att_map causal_map = {
    .title = "আমি <স্কুলে> & যাই",
    .panels = 2,
    .queries = 3,
    .keys = 3,
    .weights = causal_weights,
    .allowed = causal_allowed,
    .query_labels = bengali,
    .key_labels = awkward,
};

/* Weights with a very small one, and scores with infinities. */
static const double small_values[] = { 0.99915, 0.00085, 0.0049, 0.0051 };
static const att_map small_map = { .panels = 1, .queries = 2, .keys = 2, .weights = small_values };
static const double infinite_values[] = { INFINITY, -INFINITY, 1, -1 };
static const att_map infinite_map = {
    .panels = 1, .queries = 2, .keys = 2, .weights = infinite_values
};

static const double signed_values[] = { -2, 1, 0.5, 3, -0.1, 0 };
static const att_map signed_map = {
    .panels = 1, .queries = 2, .keys = 3, .weights = signed_values
};

#endif
