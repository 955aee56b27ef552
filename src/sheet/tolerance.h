/* Tolerance rules of `expect` and `compare`, and the messages of their checks. */
#ifndef ATT_SHEET_TOLERANCE_H
#define ATT_SHEET_TOLERANCE_H

#include "sheet/interpreter.h"

typedef struct att_tolerance {
    att_rule rule;
    double tolerance; /* ATT_RULE_WITHIN, ATT_RULE_PERCENT, ATT_RULE_DEFAULT */
    int digits;       /* ATT_RULE_DIGITS, ATT_RULE_DECIMALS */
    const double
        *half_units; /* ATT_RULE_PRINTED: half a unit of each written number's last digit */
} att_tolerance;

/* Copies the rule into the check. */
void att_check_set_rule(att_check *check, const att_tolerance *nearness);

/* within T | to N digits | to N decimals | as printed | nothing. */
att_status att_parse_tolerance(att_interpreter *interpreter, att_parser *parser,
                               att_tolerance *out);

/* For `as printed`: reads the number of digits of each number in `written`. */
att_status att_tolerance_read_printed(att_interpreter *interpreter, const att_expr *written,
                                      att_tolerance *nearness);

/* Compares check->actual with check->expected by the rule and sets the other members of the check.
 * A single expected number is broadcast. Different shapes fail `expect` and `expect not`: the
 * latter is about numbers and must not pass by accident. */
att_status att_check_compare(att_interpreter *interpreter, att_check *check,
                             att_tolerance *nearness);

/* Ends a statement with a check: counts the check and adds its step. */
att_status att_interpreter_add_check(att_interpreter *interpreter, const att_parser *parser,
                                     const att_check *check);

#endif
