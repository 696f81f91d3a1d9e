// Fields of a tag, a length and a content, of which two are wanted, in whatever order; one is five bytes that compilers
// compare as a word and a byte, to choose a number by.
#include "guest.h"

static const byte *at, *end;

static int number(word *value) {
    *value = 0;
    for (int shift = 0; shift < 32 && at < end; shift += 7) {
        byte next = *at++;
        *value |= (word)(next & 127) << shift;
        if (next < 128) return 1;
    }
    return 0;
}

ENTRY {
    at = data;
    end = data + size;
    int count = 0, named = 0;
    while (at < end) {
        word tag, value;
        if (!number(&tag) || !number(&value)) return 0;
        if ((tag & 7) == 0) {
            if (tag >> 3 == 17 && value == 3000000) count = 1;
        } else if ((tag & 7) == 2) {
            if (value > end - at) return 0;
            if (tag >> 3 == 3 && value == 5) named = ((*(const word *)at ^ 0x656b6f74) | (at[4] ^ 'n')) ? named : 1;
            at += value;
        } else {
            return 0;
        }
    }
    if (count && named) __builtin_trap();
    return 0;
}
