// A length in digits, and behind what it counts a comma: no byte can be changed alone.
#include "guest.h"

ENTRY {
    word length = 0;
    size_t at = 0;
    for (; at < size && data[at] >= '0' && data[at] <= '9' && at < 4; at++) length = 10 * length + data[at] - '0';
    if (at == 0 || at == size || data[at++] != ':' || size - at < length + 1 || data[at + length] != ',') return 0;
    if (length == 23 && same(data + at + 4, (const byte *)"counted in digits", 17)) __builtin_trap();
    return 0;
}
