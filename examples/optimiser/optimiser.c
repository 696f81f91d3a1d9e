#include "optimiser.h"

#include <stddef.h>

#define EXPRESSIONS_MAX 65536

static struct expression pool[EXPRESSIONS_MAX];
static size_t used;

struct expression *new_expression(enum kind kind, int32_t constant, const struct expression *left, const struct expression *right) {
    if (used == EXPRESSIONS_MAX) __builtin_trap();
    struct expression *e = &pool[used++];
    e->kind = kind;
    e->constant = constant;
    e->left = left;
    e->right = right;
    return e;
}

static int32_t divide(int32_t a, int32_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int32_t)(0u - (uint32_t)a);
    return a / b;
}

static int32_t compute(enum kind kind, int32_t a, int32_t b) {
    switch (kind) {
    case ADD: return (int32_t)((uint32_t)a + (uint32_t)b);
    case SUBTRACT: return (int32_t)((uint32_t)a - (uint32_t)b);
    case MULTIPLY: return (int32_t)((uint32_t)a * (uint32_t)b);
    default: return divide(a, b);
    }
}

int32_t evaluate(const struct expression *e, int32_t x) {
    switch (e->kind) {
    case CONSTANT: return e->constant;
    case VARIABLE: return x;
    case SHIFT_LEFT: return (int32_t)((uint32_t)evaluate(e->left, x) << e->constant);
    case SHIFT_RIGHT: return evaluate(e->left, x) >> e->constant;
    default: return compute(e->kind, evaluate(e->left, x), evaluate(e->right, x));
    }
}

static const struct expression *constant(int32_t value) { return new_expression(CONSTANT, value, NULL, NULL); }

static int is_constant(const struct expression *e, int32_t value) { return e->kind == CONSTANT && e->constant == value; }

/* Which power of two it is; 0 if it is none, or 1. */
static int power_of_two(const struct expression *e) {
    if (e->kind != CONSTANT || e->constant < 2 || (e->constant & (e->constant - 1)) != 0) return 0;
    return __builtin_ctz((unsigned)e->constant);
}

const struct expression *optimise(const struct expression *e) {
    if (e->kind == CONSTANT || e->kind == VARIABLE || e->kind == SHIFT_LEFT || e->kind == SHIFT_RIGHT) return e;
    const struct expression *left = optimise(e->left), *right = optimise(e->right);
    if (left->kind == CONSTANT && right->kind == CONSTANT) return constant(compute(e->kind, left->constant, right->constant));
    int power = power_of_two(right);
    switch (e->kind) {
    case ADD:
        if (is_constant(right, 0)) return left;
        if (is_constant(left, 0)) return right;
        break;
    case SUBTRACT:
        if (is_constant(right, 0)) return left;
        if (left->kind == VARIABLE && right->kind == VARIABLE) return constant(0);
        break;
    case MULTIPLY:
        if (is_constant(left, 0) || is_constant(right, 0)) return constant(0);
        if (is_constant(right, 1)) return left;
        if (is_constant(left, 1)) return right;
        if (power) return new_expression(SHIFT_LEFT, power, left, NULL);
        break;
    case DIVIDE:
        if (is_constant(left, 0)) return constant(0);
        if (is_constant(right, 1)) return left;
        /* The planted bug: division rounds towards zero, shifting down. */
        if (power) return new_expression(SHIFT_RIGHT, power, left, NULL);
        break;
    default: break;
    }
    return new_expression(e->kind, 0, left, right);
}
