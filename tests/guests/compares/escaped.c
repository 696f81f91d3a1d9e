// A text in which all but letters is escaped.
#include "guest.h"

static int digit(byte digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
}

ENTRY {
    byte text[32];
    size_t count = 0;
    for (size_t at = 0; at < size && count < 31;) {
        byte next = data[at++];
        if (next == '%') {
            if (size - at < 2) return 0;
            int high = digit(data[at]), low = digit(data[at + 1]);
            if (high < 0 || low < 0) return 0;
            next = high << 4 | low;
            at += 2;
        } else if ((next | 32) < 'a' || (next | 32) > 'z') {
            return 0;
        }
        text[count++] = next;
    }
    if (count >= 13 && same(text, (const byte *)"/home/\x7fmounts", 13)) __builtin_trap();
    return 0;
}
