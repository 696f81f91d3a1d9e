// Bytes in order whose sum is checked first: what is wanted behind that, no byte can be moved to alone.
#include "guest.h"

ENTRY {
    if (size < 12) return 0;
    word sum = data[0];
    for (size_t at = 1; at < 12; at++) {
        if (data[at] <= data[at - 1]) return 0;
        sum += data[at];
    }
    if (sum != 1234) return 0;
    if (data[11] - data[0] == 200) __builtin_trap();
    return 0;
}
