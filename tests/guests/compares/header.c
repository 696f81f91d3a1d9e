// A header that is refused for all of its fields together, so that none of them shows whether it is right.
#include "guest.h"

static word number(const byte *at) {
    return (word)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

ENTRY {
    if (size < 16) return 0;
    word width = number(data), height = number(data + 4), kind = number(data + 8);
    int wrong = 0;
    wrong += width < 640;
    wrong += width > 2000;
    wrong += height < 480;
    wrong += height > 1500;
    wrong += kind != 0x52474241;
    wrong += data[12] > 6;
    wrong += data[13] != 0x40;
    wrong += data[14] != 3;
    wrong += data[15] > 1;
    if (wrong) return 0;
    __builtin_trap();
}
