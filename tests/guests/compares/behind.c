// Tables are made before anything is read, with more comparisons than a trace has room for.
#include "guest.h"

static word table[15000];

ENTRY {
    word sum = 1;
    for (word at = 0; at < sizeof table / sizeof *table; at++) {
        table[at] = sum;
        sum = table[at] % 7 == at % 11 ? sum + at : 3 * sum + 1;
        if (sum > 0xfffffff0) sum ^= at;
    }
    if (size < 24) return 0;
    word key = word_at(data + 8), lock = word_at(data + 16);
    if (key != 0x1badb002 + table[3] || lock != (key ^ 0x5a5a1234)) return 0;
    if (same(data, (const byte *)"openlate", 8)) __builtin_trap();
    return 0;
}
