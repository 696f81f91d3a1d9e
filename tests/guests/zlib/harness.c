// Feeds zlib's inflate: the first byte says how the rest is wrapped. Inflates at most 1 MiB, a window at a time.

#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum { OUTPUT_BYTES_MAX = 1 << 20 };

// What inflate finds by itself (zlib or gzip), raw, zlib only.
static const int window_bits[] = {15 + 32, -15, 15};

static unsigned char output[1 << 15];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (inflateInit2(&stream, window_bits[data[0] % 3]) != Z_OK) return 0;
    stream.next_in = (Bytef *)data + 1;
    stream.avail_in = (uInt)(size - 1);
    int status;
    do {
        stream.next_out = output;
        stream.avail_out = sizeof output;
        status = inflate(&stream, Z_NO_FLUSH);
        // Whatever dictionary is asked for, this one is offered.
        if (status == Z_NEED_DICT) status = inflateSetDictionary(&stream, (const Bytef *)"fuzzbox", 7);
    } while (status == Z_OK && stream.total_out < OUTPUT_BYTES_MAX);
    inflateEnd(&stream);
    return 0;
}
