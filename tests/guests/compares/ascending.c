// Four bytes, each above the one before it, with a sum that no one of them can bring about.
#include "guest.h"

ENTRY {
    if (size < 4) return 0;
    word sum = data[0];
    for (int at = 1; at < 4; at++) {
        if (data[at] <= data[at - 1]) return 0;
        sum += data[at];
    }
    if (sum != 964) return 0;
    __builtin_trap();
}
