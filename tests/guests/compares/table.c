// What is compared was looked up in a table: four bytes, of which each becomes another one.
#include "guest.h"

static byte table[256];

ENTRY {
    if (!table[1])
        for (word at = 0; at < 256; at++) table[at] = at * 167 + 13 ^ at >> 3;
    if (size < 6) return 0;
    word found = table[data[0]] | table[data[1]] << 8 | table[data[2]] << 16 | (word)table[data[3]] << 24;
    if (found != 0x9e37795a) return 0;
    if (table[data[4]] + 2 * table[data[5]] != 601) return 0;
    __builtin_trap();
}
