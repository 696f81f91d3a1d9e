// Words of small letters between blanks: how many, how long the longest is, how many begin with the letter with which
// the one before ends.
#include "../compares/guest.h"

ENTRY {
    unsigned words = 0, longest = 0, linked = 0;
    byte before = 0;
    for (size_t at = 0; at < size;) {
        size_t begin = at;
        while (at < size && data[at] >= 'a' && data[at] <= 'z') at++;
        if (at == begin || (at < size && data[at] != ' ')) return 0;
        words++;
        if (at - begin > longest) longest = at - begin;
        if (data[begin] == before) linked++;
        before = data[at - 1];
        if (at < size && ++at == size) return 0;
    }
    if (words != 19 || longest > 6) return 0;
    if (linked < 12) return 0;
    if (before == 'z') __builtin_trap();
    return 0;
}
