/* Expressions with one variable, and their simplification. */
#ifndef OPTIMISER_H
#define OPTIMISER_H

#include <stdint.h>

enum kind { CONSTANT, VARIABLE, ADD, SUBTRACT, MULTIPLY, DIVIDE, SHIFT_LEFT, SHIFT_RIGHT };

struct expression {
    enum kind kind;
    int32_t constant; /* also how far to shift */
    const struct expression *left, *right;
};

/* The value where the variable is x. Arithmetic wraps; what is divided by 0 is 0. */
int32_t evaluate(const struct expression *e, int32_t x);

/* An expression with the same value for every x, if all goes well. */
const struct expression *optimise(const struct expression *e);

/* Room for an expression; it stays. */
struct expression *new_expression(enum kind kind, int32_t constant, const struct expression *left, const struct expression *right);

#endif
