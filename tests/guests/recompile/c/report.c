#include "calc.h"

#include <assert.h>
#include <string.h>

static char buffer[4096];
static size_t used;
static const char digits[] = "0123456789abcdef";

static void put(char c) {
    if (used < sizeof buffer)
        buffer[used++] = c;
}

__attribute__((noinline)) static void put_text(const char *text) {
    while (*text)
        put(*text++);
}

__attribute__((noinline)) static void put_number(int number) {
    char reversed[16];
    int n = 0;
    unsigned rest = number < 0 ? 0u - (unsigned)number : (unsigned)number;
    do
        reversed[n++] = digits[rest % 10];
    while (rest /= 10);
    if (number < 0)
        put('-');
    while (n)
        put(reversed[--n]);
}

/* `#` is the number, `@` the text. */
void report(const char *format, int number, const char *text) {
    for (; *format; format++) {
        if (*format == '#')
            put_number(number);
        else if (*format == '@')
            put_text(text);
        else
            put(*format);
    }
}

int report_length(void) {
    return (int)used;
}

__attribute__((export_name("report_start"))) const char *report_start(void) {
    return buffer;
}

__attribute__((export_name("report_clear"))) void report_clear(void) {
    assert(used <= sizeof buffer);
    memset(buffer, 0, used);
    used = 0;
}
