// Adds up an expression such as `(1+2)+[3+x]`, and uses setjmp and longjmp as C programs do that know no exceptions:
// for errors that many calls away, to undo and try again, and to throw on what was caught.
//
// Built twice by build.sh, with legacy exceptions and with those of WebAssembly 3.0: both must do the same.

typedef unsigned char byte;
typedef unsigned long size;

typedef struct {
    unsigned words[4]; // see runtime.c
} jump[1];

__attribute__((returns_twice)) int setjmp(void *);
__attribute__((noreturn)) void longjmp(void *, int);

enum { TEXT = 1, DEPTH, SUM };

static const byte *at, *end;
static int depth;
static jump *handler;

static int sum(void);

// A value in brackets is 0 if something is wrong with it; an error in the depth goes on to the caller.
static int optional(void) {
    jump here, *outer = handler;
    const byte *volatile start = at;
    int volatile old = depth;
    handler = &here;
    int code = setjmp(here);
    if (code == 0) {
        int value = sum();
        if (at == end || *at++ != ']') longjmp(here, TEXT);
        handler = outer;
        return value;
    }
    handler = outer;
    depth = old;
    if (code == DEPTH) longjmp(*outer, DEPTH);
    for (at = start; at != end && *at != ']';) at++;
    if (at != end) at++;
    if (code == SUM && at == end) __builtin_trap(); // the bug: `[99+1]` with nothing behind it
    return 0;
}

static int value(void) {
    if (at == end) longjmp(*handler, TEXT);
    if (++depth > 6) longjmp(*handler, DEPTH);
    byte c = *at++;
    int value = 0;
    if (c == '[') {
        value = optional();
    } else if (c == '(') {
        value = sum();
        if (at == end || *at++ != ')') longjmp(*handler, TEXT);
    } else if (c >= '0' && c <= '9') {
        value = c - '0';
        while (at != end && *at >= '0' && *at <= '9' && value < 100) value = value * 10 + *at++ - '0';
    } else {
        longjmp(*handler, TEXT);
    }
    depth--;
    return value;
}

static int sum(void) {
    int total = value();
    while (at != end && *at == '+') {
        at++;
        total += value();
        if (total >= 100) longjmp(*handler, SUM);
    }
    return total;
}

// The sum, or minus the error.
__attribute__((export_name("evaluate"))) int evaluate(const byte *text, size length) {
    jump here;
    at = text;
    end = text + length;
    depth = 0;
    handler = &here;
    int code = setjmp(here);
    if (code) return -code;
    int total = sum();
    if (at != end) longjmp(here, TEXT);
    return total;
}

static byte heap[65536];

__attribute__((export_name("malloc"))) void *malloc(size length) { return length <= sizeof heap ? heap : 0; }

__attribute__((export_name("free"))) void free(void *block) { (void)block; }

__attribute__((export_name("LLVMFuzzerTestOneInput"))) int LLVMFuzzerTestOneInput(const byte *text, size length) {
    evaluate(text, length);
    return 0;
}
