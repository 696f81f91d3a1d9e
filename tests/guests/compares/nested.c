// Comparisons in comparisons: of all widths, in both byte orders, signed and not, the later ones where the earlier ones say.
#include "guest.h"

ENTRY {
    if (size < 24) return 0;
    if (word_at(data) != 0x4b1d5eed) return 0;
    word at = data[4] << 8 | data[5];
    if (at < 1003 || at > 1005) return 0;
    if (*(const long long *)(data + 8) != -7234567890123ll) return 0;
    if ((short)(data[16] | data[17] << 8) != -12345) return 0;
    if ((word_at(data + 18) ^ 0x5a5a0ff0) - 77 != at * 3) return 0;
    __builtin_trap();
}
