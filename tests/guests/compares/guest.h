// What the guests share: each traps on the one kind of input that it looks for.
typedef unsigned long size_t;
typedef unsigned char byte;
typedef unsigned short half;
typedef unsigned int word;

#define ENTRY __attribute__((export_name("LLVMFuzzerTestOneInput"))) int LLVMFuzzerTestOneInput(const byte *data, size_t size)

static inline word word_at(const byte *data) {
    return data[0] | data[1] << 8 | data[2] << 16 | (word)data[3] << 24;
}

__attribute__((noinline)) static int same(const byte *left, const byte *right, size_t length) {
    for (; length != 0 && *left == *right; length--, left++, right++) {}
    return length == 0;
}

__attribute__((unused)) static word crc32(const byte *data, size_t length) {
    word crc = ~0u;
    while (length--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}
