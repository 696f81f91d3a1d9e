#include "calc.h"

#include <string.h>

#define DEPTH_MAX 200

static const char *error;
static int depth;
static struct token token;

typedef int (*builtin)(int, int);

static int b_min(int a, int b) { return a < b ? a : b; }
static int b_max(int a, int b) { return a > b ? a : b; }
static int b_abs(int a, int b) { (void)b; return a < 0 ? (int)-(unsigned)a : a; }
static int b_sum(int a, int b) { return (int)((unsigned)a + (unsigned)b); }

static const builtin builtins[] = {0, b_min, b_max, b_abs, b_sum};

static int fail(const char *why) {
    if (!error)
        error = why;
    return 0;
}

static int is_operator(int c) {
    return token.kind == OPERATOR && token.value == c;
}

static void expect(struct lexer *lexer, int c, const char *why) {
    if (is_operator(c))
        token = next_token(lexer);
    else
        fail(why);
}

static int expression(struct lexer *lexer);

static int call(struct lexer *lexer, int which) {
    int arguments[2] = {0, 0};
    token = next_token(lexer);
    expect(lexer, '(', "a function needs its arguments");
    arguments[0] = expression(lexer);
    if (is_operator(',')) {
        token = next_token(lexer);
        arguments[1] = expression(lexer);
    }
    expect(lexer, ')', "missing )");
    if (which < 1 || which >= (int)(sizeof builtins / sizeof *builtins))
        return fail("no such function");
    return builtins[which](clamp(arguments[0], -1000000, 1000000), arguments[1]);
}

static int primary(struct lexer *lexer) {
    struct token first = token;
    switch (first.kind) {
    case NUMBER:
        token = next_token(lexer);
        return first.value;
    case NAME:
        token = next_token(lexer);
        return *variable(first.text, first.length);
    case KEYWORD:
        return call(lexer, first.value);
    case OPERATOR:
        if (first.value == '(') {
            token = next_token(lexer);
            int value = expression(lexer);
            expect(lexer, ')', "missing )");
            return value;
        }
        if (first.value == '-') {
            token = next_token(lexer);
            return (int)-(unsigned)primary(lexer);
        }
        return fail("an operator where a value should be");
    default:
        return fail("no value");
    }
}

static int product(struct lexer *lexer) {
    int left = primary(lexer);
    while (!error && (is_operator('*') || is_operator('/') || is_operator('%'))) {
        int operator= token.value;
        token = next_token(lexer);
        int right = primary(lexer);
        if (operator== '*')
            left = (int)((unsigned)left * (unsigned)right);
        else if (right == 0 || (right == -1 && left < 0))
            return fail("division by zero, or too large");
        else
            left = operator== '/' ? left / right : left % right;
    }
    return left;
}

static int expression(struct lexer *lexer) {
    if (++depth > DEPTH_MAX) {
        depth--;
        return fail("too deep");
    }
    int left = product(lexer);
    while (!error && (is_operator('+') || is_operator('-'))) {
        int operator= token.value;
        token = next_token(lexer);
        int right = product(lexer);
        left = (int)(operator== '+' ? (unsigned)left + (unsigned)right : (unsigned)left - (unsigned)right);
    }
    depth--;
    return left;
}

int run_line(struct lexer *lexer, int *result) {
    error = NULL;
    depth = 0;
    token = next_token(lexer);
    if (token.kind == END)
        return 0;
    struct token first = token;
    struct lexer before = *lexer;
    if (first.kind == NAME) {
        token = next_token(lexer);
        if (is_operator('=')) {
            token = next_token(lexer);
            int value = expression(lexer);
            if (!error)
                *variable(first.text, first.length) = value;
            *result = value;
            return error ? -1 : 1;
        }
        *lexer = before;
        token = first;
    }
    *result = expression(lexer);
    if (!error && token.kind != END)
        fail("something after the end");
    return error ? -1 : 1;
}

const char *last_error(void) {
    return error ? error : "no error";
}
