// What compares bytes, by its name or by its shape, and what only looks so.
typedef unsigned long size_t;
typedef unsigned char byte;

#define EXPORT(name) __attribute__((export_name(#name), noinline))

EXPORT(memcmp) int memcmp(const void *left, const void *right, size_t length) {
    const byte *l = left, *r = right;
    for (; length != 0 && *l == *r; length--, l++, r++) {}
    return length != 0 ? *l - *r : 0;
}

EXPORT(strcmp) int strcmp(const char *left, const char *right) {
    for (; *left == *right && *left; left++, right++) {}
    return *(const byte *)left - *(const byte *)right;
}

// The same under other names, and written in other ways.
EXPORT(same_bytes) int same_bytes(const byte *left, const byte *right, size_t length) {
    for (size_t at = 0; at < length; at++) {
        if (left[at] != right[at]) return 0;
    }
    return 1;
}

EXPORT(same_in_constant_time) int same_in_constant_time(const byte *left, const byte *right, size_t length) {
    byte difference = 0;
    for (size_t at = 0; at < length; at++) difference |= left[at] ^ right[at];
    return difference == 0;
}

EXPORT(order_of_names) int order_of_names(const byte *left, const byte *right) {
    while (*left && *left == *right) left++, right++;
    return (*left > *right) - (*left < *right);
}

static byte lower(byte c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

EXPORT(same_but_for_case) int same_but_for_case(const byte *left, const byte *right) {
    for (; *left && *right; left++, right++) {
        if (lower(*left) != lower(*right)) break;
    }
    return lower(*left) - lower(*right);
}

byte folded[256];

EXPORT(same_in_table) int same_in_table(const byte *left, const byte *right, long length) {
    while (length-- > 0 && *left != 0 && folded[*left] == folded[*right]) left++, right++;
    return length < 0 ? 0 : folded[*left] - folded[*right];
}

EXPORT(starts_with) int starts_with(const byte *text, const byte *start) {
    for (; *start; text++, start++) {
        if (*text != *start) return 0;
    }
    return 1;
}

// These are none.
EXPORT(copy_bytes) void *copy_bytes(byte *to, const byte *from, size_t length) {
    for (size_t at = 0; at < length; at++) {
        __asm__ volatile("");
        to[at] = from[at];
    }
    return to;
}

EXPORT(copy_changed) int copy_changed(byte *to, const byte *from, size_t length) {
    int changed = 0;
    for (size_t at = 0; at < length; at++) {
        if (to[at] != from[at]) to[at] = from[at], changed++;
    }
    return changed;
}

EXPORT(copy_string) byte *copy_string(byte *to, const byte *from) {
    byte *end = to;
    while ((*end++ = *from++)) {}
    return to;
}

EXPORT(find_byte) int find_byte(const byte *bytes, int wanted, size_t length) {
    for (size_t at = 0; at < length; at++) {
        if (bytes[at] == (byte)wanted) return (int)at;
    }
    return -1;
}

EXPORT(order_of_numbers) int order_of_numbers(const int *left, const int *right) {
    return (*left > *right) - (*left < *right);
}

EXPORT(sum_of_both) int sum_of_both(const byte *left, const byte *right, size_t length) {
    int sum = 0;
    for (size_t at = 0; at < length; at++) sum += left[at] + right[at];
    return sum;
}

// A reader of a format that begins with a magic string.
static byte input[256];

EXPORT(input) byte *input_place(void) { return input; }

EXPORT(read) int read(size_t length) {
    if (length < 24) return 1;
    if (memcmp(input, "MAGIC\0\1", 8) != 0) return 2;
    if (strcmp((const char *)input + 8, "version-seven") != 0) return 3;
    if (!starts_with(input + 22, (const byte *)"OK")) return 4;
    return 0;
}
