// Elements of three kinds inside of each other, none directly in one of its own kind, and texts between them. All have to
// be closed; what is wanted is deep, and has some of each.
#include "../compares/guest.h"

ENTRY {
    byte open[24];
    unsigned depth = 0, deepest = 0, texts = 0, counts[3] = {0, 0, 0};
    for (size_t at = 0; at < size; at++) {
        byte kind = data[at] & 15;
        switch (data[at] >> 4) {
        case 4:
            if (kind > 2 || depth == sizeof open || (depth && open[depth - 1] == kind)) return 0;
            open[depth++] = kind;
            counts[kind]++;
            if (depth > deepest) deepest = depth;
            break;
        case 5:
            if (!depth || open[--depth] != kind) return 0;
            break;
        case 6:
            if (!depth) return 0;
            texts++;
            break;
        default:
            return 0;
        }
    }
    if (depth || deepest < 7) return 0;
    for (unsigned kind = 0; kind < 3; kind++) if (counts[kind] < 3) return 0;
    if (texts >= 4) __builtin_trap();
    return 0;
}
