// Draws one row of a sprite onto a canvas. The sprite comes from a file, so from anybody:
//
//     'S' 'P' 'R'       magic
//     flags             one byte; 0x80: the pixels are run-length encoded
//     x, y              where the row begins; two bytes each, low byte first
//     pixels            one grey value per byte; or pairs of (count, grey) if run-length encoded
//
// There is one bug, and it takes all of the above to reach it. Can you see it before the fuzzer does?

#include <stddef.h>
#include <stdint.h>

#define WIDTH 256
#define HEIGHT 64

// What the rest of a program would show.
uint32_t canvas[HEIGHT * WIDTH];
int last_error;

struct sprite {
    unsigned x, y;
    const uint8_t *pixels;
    size_t len;
};

static unsigned u16(const uint8_t *p) { return p[0] | (unsigned)p[1] << 8; }

static uint32_t grey(uint8_t level) { return 0xff000000u | level * 0x010101u; }

// What does not fit on the canvas is clipped.
__attribute__((noinline)) static int draw_plain(const struct sprite *s) {
    if (s->y >= HEIGHT) return -1;
    for (size_t i = 0; i < s->len && s->x + i < WIDTH; i++) {
        canvas[s->y * WIDTH + s->x + i] = grey(s->pixels[i]);
    }
    return 0;
}

// The same for pairs of (count, grey).
__attribute__((noinline)) static int draw_runs(const struct sprite *s) {
    unsigned x = s->x;
    for (size_t i = 0; i + 1 < s->len; i += 2) {
        for (unsigned n = s->pixels[i]; n > 0 && x < WIDTH; n--, x++) {
            canvas[s->y * WIDTH + x] = grey(s->pixels[i + 1]);
        }
    }
    return 0;
}

// Each wrong byte has an error code of its own, as in many decoders.
__attribute__((noinline)) static int draw(const uint8_t *data, size_t size) {
    if (size < 1 || data[0] != 'S') return -2;
    if (size < 2 || data[1] != 'P') return -3;
    if (size < 3 || data[2] != 'R') return -4;
    if (size < 9) return -5;
    struct sprite s = {u16(data + 4), u16(data + 6), data + 8, size - 8};
    return data[3] & 0x80 ? draw_runs(&s) : draw_plain(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    last_error = draw(data, size);
    return 0;
}
