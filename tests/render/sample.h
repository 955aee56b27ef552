/* A trace made by hand with one of everything that renderers must show, including hostile text. It
 * does not depend on the messages of the evaluator. Include after cmocka.h. */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "render/maps.h"
#include "sheet/function.h"
#include "sheet/trace.h"

#include <stdlib.h>

enum { SAMPLE_LARGE_ROWS = 30, SAMPLE_LARGE_COLS = 40 };

static double h_data[] = { 0.1, 0.2, 0.3, 0.4, 0.5, -0.6 };
static const char *const h_labels[] = { "আমি", "日本", "a_b&<c>" };
static const att_matrix h_value = { .rows = 3, .cols = 2, .data = h_data, .row_labels = h_labels };

static double tiny_data[] = { 0.99995, 4.8e-05, 0 };
static const att_matrix tiny_value = { .rows = 1, .cols = 3, .data = tiny_data };

static double scores_data[] = { 0.6, 0.82, -INFINITY, 1.04, -0.25, 2 };
static const uint8_t scores_allowed[] = { 1, 1, 0, 1, 1, 1 };
static const char *const scores_rows[] = { "s", "t" };
static const att_matrix scores_value = { .rows = 2,
                                         .cols = 3,
                                         .data = scores_data,
                                         .allowed = scores_allowed,
                                         .row_labels = scores_rows,
                                         .col_labels = h_labels };

static double output_data[] = { 1.0 / 3, 2.0 / 3 };
static const att_matrix output_value = { .rows = 1, .cols = 2, .data = output_data };

static double scalar_data[] = { 0.123456789 };
static const att_matrix scalar_value = { .rows = 1, .cols = 1, .data = scalar_data };

static double large_data[SAMPLE_LARGE_ROWS * SAMPLE_LARGE_COLS];
static const att_matrix large_value = { .rows = SAMPLE_LARGE_ROWS,
                                        .cols = SAMPLE_LARGE_COLS,
                                        .data = large_data };

typedef struct sample {
    att_sheet sheet;
    att_trace_step steps[20];
    att_trace_part parts[6];
    att_calculation calculations[2];
    att_check checks[5];
} sample;

static const att_expr *formula(sample *s, const char *text)
{
    return att_formula(&s->sheet.arena, text);
}

/* e with two indices, as in calculations. */
static const att_expr *element(sample *s, const char *name, int row, int col)
{
    att_expr *nodes = att_arena_alloc(&s->sheet.arena, 3, sizeof *nodes);
    att_expr **child = att_arena_alloc(&s->sheet.arena, 2, sizeof *child);
    for (int i = 0; i < 2; i++) {
        nodes[i + 1] = (att_expr){ .kind = ATT_EXPR_NUMBER, .number = i ? col : row };
        child[i] = &nodes[i + 1];
    }
    nodes[0] = (att_expr){ .kind = ATT_EXPR_INDEXED, .text = name, .child = child, .children = 2 };
    return nodes;
}

static void add_parts(sample *s)
{
    s->calculations[0] = (att_calculation){ .left = element(s, "e", 1, 1),
                                            .right = formula(s, "0.4 * 0.1 + 0.5 * 0.2"),
                                            .value = &scalar_value,
                                            .row = 1 };
    s->calculations[1] = (att_calculation){ .left = element(s, "e", 2, 1),
                                            .right = formula(s, "0.4 * -0.6"),
                                            .value = &scalar_value,
                                            .row = 2 };
    s->parts[0] = (att_trace_part){ .name = "q",
                                    .description = "the queries",
                                    .formula = formula(s, "s"),
                                    .value = &output_value };
    s->parts[1] = (att_trace_part){ .name = "scores",
                                    .description = "one score per query & key",
                                    .formula = formula(s, "q * k' / sqrt(d_k)"),
                                    .value = &scores_value,
                                    .calculations = s->calculations,
                                    .calculation_count = 2 };
    s->parts[2] = (att_trace_part){ .name = "output",
                                    .description = "added up",
                                    .formula = formula(s, "weights * v"),
                                    .value = &output_value };
    s->parts[3] = (att_trace_part){ .name = "weights",
                                    .head = 1,
                                    .formula = formula(s, "softmax(scores)"),
                                    .value = &output_value };
    s->parts[4] = (att_trace_part){
        .name = "weights", .head = 2, .formula = formula(s, "softmax(scores)"), .value = &tiny_value
    };
    s->parts[5] = (att_trace_part){ .name = "heads",
                                    .description = "side by side",
                                    .formula = formula(s, "[weights_1, weights_2]"),
                                    .value = &large_value };
}

static void add_checks(sample *s)
{
    s->checks[0] = (att_check){ .passed = true,
                                .left = formula(s, "a.scores"),
                                .right = formula(s, "[0.6 0.82]"),
                                .tolerance = 0.005,
                                .actual = &output_value,
                                .expected = &output_value,
                                .message = "all agree" };
    s->checks[1] = (att_check){ .passed = false,
                                .left = formula(s, "h"),
                                .right = formula(s, "[1 2]"),
                                .rule = ATT_RULE_DECIMALS,
                                .digits = 2,
                                .actual = &h_value,
                                .expected = &output_value,
                                .mismatch_count = 1,
                                .row = 3,
                                .col = 2,
                                .max_difference = 2.6,
                                .message = "element [3,2] is -0.6, expected 2" };
    s->checks[2] = (att_check){ .passed = true,
                                .negated = true,
                                .left = formula(s, "b.weights"),
                                .right = formula(s, "1"),
                                .rule = ATT_RULE_PRINTED,
                                .message = "differs, as it should" };
    s->checks[3] = (att_check){ .passed = true,
                                .left = formula(s, "tiny"),
                                .right = formula(s, "x"),
                                .rule = ATT_RULE_DIGITS,
                                .digits = 1 };
    s->checks[4] = (att_check){ .passed = false,
                                .file = "dump_1 <&>.npz",
                                .tolerance = 1e-6,
                                .part = "a.scores",
                                .max_difference = INFINITY,
                                .message = "a.scores is the first that differs" };
}

static void add_step(sample *s, att_trace_step step)
{
    step.line = (int)s->sheet.step_count + 1;
    s->steps[s->sheet.step_count++] = step;
}

static void add_steps(sample *s)
{
    add_step(s,
             (att_trace_step){ .kind = ATT_STEP_HEADING, .level = 1, .text = "Dot & <attention>" });
    add_step(s, (att_trace_step){
                    .kind = ATT_STEP_PROSE,
                    .text = "100 % of $5 is #1: a_b, {x}, ~y^2, \"q\", `code`, *not bold*,\n"
                            "\\input{x} | <script>alert(1)</script> &amp; আমি স্কুলে যাই "
                            "日本語 é ≤ √2 \033[31m" });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_HEADING, .level = 2, .text = "Values" });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_VALUE,
                                  .name = "h",
                                  .source = "h = [0.1 0.2; …]",
                                  .comment = "the states",
                                  .formula = formula(s, "[0.1 0.2; 0.3 0.4; 0.5 -0.6]"),
                                  .value = &h_value });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_VALUE,
                                  .name = "tiny",
                                  .formula = formula(s, "softmax(h[1])"),
                                  .value = &tiny_value });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_VALUE,
                                  .name = "a",
                                  .formula = formula(s, "attention(s, h, h, score = dot)"),
                                  .value = &output_value,
                                  .parts = s->parts,
                                  .part_count = 3 });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_VALUE,
                                  .name = "b",
                                  .formula = formula(s, "multihead(X, {A, B})"),
                                  .value = &scalar_value,
                                  .parts = s->parts + 3,
                                  .part_count = 3 });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_VALUE,
                                  .formula = formula(s, "sum(h)"),
                                  .value = &scalar_value });
    for (size_t i = 0; i < 5; i++)
        add_step(s, (att_trace_step){ .kind = ATT_STEP_CHECK,
                                      .check = &s->checks[i],
                                      .source = "expect …",
                                      .comment = i == 1 ? "so it is <in the lecture>" : NULL });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_ERROR,
                                  .source = "expect error h * h",
                                  .comment = "sizes & shapes",
                                  .formula = formula(s, "h * h"),
                                  .text = "h is 3 × 2 & <cannot>" });
    add_step(s, (att_trace_step){ .kind = ATT_STEP_PLOT,
                                  .comment = "as_a map",
                                  .formula = formula(s, "a.scores"),
                                  .map = &causal_map });
}

static sample *sample_new(void)
{
    sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (int i = 0; i < SAMPLE_LARGE_ROWS * SAMPLE_LARGE_COLS; i++)
        large_data[i] = i * 0.25;
    add_parts(s);
    add_checks(s);
    s->sheet.name = "sample_<&>.att";
    s->sheet.steps = s->steps;
    add_steps(s);
    s->sheet.checks = 6;
    s->sheet.failures = 2;
    return s;
}

static void sample_free(sample *s)
{
    att_arena_free(&s->sheet.arena);
    free(s);
}

#endif
