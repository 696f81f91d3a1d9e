/* Built by lines.sh; the test in src/report/symbols/tests.rs knows these line numbers. */
#include "lines.h"

static volatile int sink;

static inline __attribute__((always_inline)) int number(const unsigned char *text, int length) {
    int value = 0;
    for (int at = 0; at < length; at++)
        value = value * 10 + digit(text, at);
    return value;
}

__attribute__((noinline)) int parse_value(const unsigned char *text, int length) {
    sink = length;
    return number(text, length) + sink;
}

__attribute__((noinline)) int parse_array(const unsigned char *text, int length) {
    int sum = parse_value(text, length);
    return sum + parse_value(text, length / 2);
}

int LLVMFuzzerTestOneInput(const unsigned char *text, unsigned long length) {
    sink = parse_array(text, (int)length);
    return 0;
}
