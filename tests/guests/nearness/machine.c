// A machine with a few registers; its program halts when one of them has a certain number.
#include "../compares/guest.h"

ENTRY {
    unsigned registers[4] = {0, 0, 0, 0};
    for (size_t at = 0, steps = 0; at < size; steps++) {
        unsigned own = data[at] & 3, other = data[at] >> 2 & 3;
        byte operation = data[at++] >> 4;
        if (steps == 32) return 0;
        if (operation == 1 && at < size) registers[own] = data[at++];
        else if (operation == 2) registers[own] += registers[other];
        else if (operation == 3) registers[own] *= registers[other];
        else if (operation == 4) registers[own] ^= registers[other];
        else if (operation == 7) {
            if (at != size || registers[0] < 200) return 0;
            if (registers[3] == 48271) __builtin_trap();
            return 0;
        } else return 0;
    }
    return 0;
}
