// A file with its size, and a directory of where things lie in it and how long they are: they follow each other.
#include "../compares/guest.h"

ENTRY {
    if (size < 8 || word_at(data) != size) return 0;
    word count = word_at(data + 4);
    if (count < 1 || count > 8 || size < 8 + 8 * count) return 0;
    word at = 8 + 8 * count;
    for (word entry = 0; entry < count; entry++) {
        word offset = word_at(data + 8 + 8 * entry), length = word_at(data + 12 + 8 * entry);
        if (offset != at || length > size - at || length == 0) return 0;
        for (word byte = 0; byte < length; byte++) if (data[at + byte] < 32) return 0;
        at += length;
    }
    if (at != size) return 0;
    if (word_at(data + 12) > 40 && count > 1 && word_at(data + 20) == 30) __builtin_trap();
    return 0;
}
