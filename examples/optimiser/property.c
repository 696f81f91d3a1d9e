#define FUZZBOX_MAIN
#include "../../guest-sdk/c/fuzzbox.h"
#include "optimiser.h"

#include <stddef.h>

#define DEPTH_MAX 32

/* Constants come first, so that an expression ends when its choices do. */
static const struct expression *draw(int depth) {
    fbx_span_begin(fbx_label("expression"));
    enum kind kind = (enum kind)fbx_choice(depth == DEPTH_MAX ? CONSTANT + 1 : DIVIDE + 1, NULL);
    const struct expression *e;
    if (kind == CONSTANT) {
        e = new_expression(kind, (int32_t)fbx_int(INT32_MIN, INT32_MAX, 0), NULL, NULL);
    } else if (kind == VARIABLE) {
        e = new_expression(kind, 0, NULL, NULL);
    } else {
        const struct expression *left = draw(depth + 1);
        e = new_expression(kind, 0, left, draw(depth + 1));
    }
    fbx_span_end(0);
    return e;
}

/* Text for the report, as far as there is room. */
static char text[4096];
static size_t len;

static void put(char c) {
    if (len < sizeof text) text[len++] = c;
}

static void put_number(int32_t number) {
    char digits[10];
    int count = 0;
    uint32_t left = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    do digits[count++] = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0) put('-');
    while (count > 0) put(digits[--count]);
}

static void put_expression(const struct expression *e) {
    if (e->kind == CONSTANT) {
        put_number(e->constant);
    } else if (e->kind == VARIABLE) {
        put('x');
    } else {
        static const char *operators[] = {"", "", "+", "-", "*", "/", "<<", ">>"};
        put('(');
        put_expression(e->left);
        put(' ');
        for (const char *c = operators[e->kind]; *c; c++) put(*c);
        put(' ');
        if (e->right) put_expression(e->right);
        else put_number(e->constant);
        put(')');
    }
}

static void note(const char *name, const struct expression *e) {
    len = 0;
    for (; *name; name++) put(*name);
    put_expression(e);
    fbx_note_text(text, (uint32_t)len);
}

/* An expression has the same value before and after. */
FBX_PROPERTY(same_value) {
    const struct expression *e = draw(0);
    int32_t x = (int32_t)fbx_int(INT32_MIN, INT32_MAX, 0);
    const struct expression *optimised = optimise(e);
    if (fbx_is_reporting()) {
        const struct expression at = {CONSTANT, x, NULL, NULL};
        note("expression: ", e);
        note("optimised: ", optimised);
        note("x = ", &at);
    }
    if (evaluate(e, x) != evaluate(optimised, x)) fbx_fail("another value after optimising");
}

FBX_MAIN(FBX_NAME(same_value))
