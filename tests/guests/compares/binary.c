// A name that is told by binary digits, eight for each byte.
#include "guest.h"

static const char *const names[] = {"shift", "reset", "level", "query"};

__attribute__((noinline)) static int order(const char *left, const char *right) {
    for (; *left != 0 && *left == *right; left++, right++) {}
    return (byte)*left - (byte)*right;
}

ENTRY {
    char text[17];
    size_t length = size / 8;
    if (length >= sizeof text) return 0;
    for (size_t at = 0; at < 8 * length; at++) {
        if (data[at] != '0' && data[at] != '1') return 0;
        text[at / 8] = (char)(text[at / 8] << 1 | (data[at] - '0'));
    }
    text[length] = 0;
    for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
        if (order(text, names[name]) == 0 && name == 2) __builtin_trap();
    }
    return 0;
}
