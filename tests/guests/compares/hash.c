// A switch on a hash of a word, as compilers make of a switch on strings: the words are not in the module.
#include "guest.h"

ENTRY {
    if (size < 5) return 0;
    word hash = 5381;
    for (size_t at = 0; at < 4; at++) hash = hash * 33 + data[at];
    switch (hash) {
        case 2090478981: return 1;
        case 2090736459: return 2;
        case 2090868250: __builtin_trap();
        default: return 0;
    }
}
