// A word with a given hash: what its first letters count for is larger than the number is, so no letter is nearer than
// another; and what is too short has none.
#include "guest.h"

ENTRY {
    word hash = 5381;
    size_t at = 0;
    for (; at < size && data[at] != ' '; at++) {
        if (data[at] < 'a' || data[at] > 'z') return 0;
        hash = hash * 33 + data[at];
    }
    if (at == size || at > 10) return 0;
    if (hash == 0x10a7e35f) __builtin_trap();
    return 0;
}
