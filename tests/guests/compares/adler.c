// A record whose length says where its Adler-32 lies, and a command in it.
#include "guest.h"

ENTRY {
    if (size < 12 || word_at(data) != 0x31434552) return 0;
    size_t length = data[4] | data[5] << 8;
    if (length < 4 || length + 10 > size) return 0;
    word low = 1, high = 0;
    for (size_t at = 0; at < length; at++) {
        low = (low + data[6 + at]) % 65521;
        high = (high + low) % 65521;
    }
    if (word_at(data + 6 + length) != (high << 16 | low)) return 0;
    if (data[6] == 'O' && data[7] == 'K' && data[8] == 0x7f) __builtin_trap();
    return 0;
}
