/* Draws everything there is, and notes it bit by bit. */
#define FUZZBOX_MAIN
#include "../../../guest-sdk/c/fuzzbox.h"

#include <math.h>
#include <string.h>

static void note_bits(const char *what, uint64_t bits) {
    char text[64];
    uint32_t len = 0;
    for (; *what; what++) text[len++] = *what;
    text[len++] = ' ';
    for (int at = 60; at >= 0; at -= 4) text[len++] = "0123456789abcdef"[bits >> at & 15];
    fbx_note_text(text, len);
}

static void note_f64(const char *what, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    note_bits(what, isnan(value) ? 0x7ff8000000000000u : bits);
}

static const uint32_t letters[] = {'a', 'z', 0xe0, 0xff, 0x4e00, 0x9fff, 0x1f600, 0x1f64f};

static void draw(void) {
    static const uint32_t weights[] = {1, 0, 5};
    char text[64];
    uint32_t len;
    switch (fbx_choice(21, NULL)) {
    case 0: note_bits("int", (uint64_t)fbx_int(INT64_MIN, INT64_MAX, 0)); break;
    case 1: note_bits("int -9 to 3 towards 7", (uint64_t)fbx_int(-9, 3, 7)); break;
    case 2: note_bits("uint", fbx_uint(0, UINT64_MAX, 0)); break;
    case 3: note_bits("uint 10 to 300 towards 100", fbx_uint(10, 300, 100)); break;
    case 4: note_bits("certain", (uint64_t)fbx_bool(UINT32_MAX)); break;
    case 5: note_bits("impossible", (uint64_t)fbx_bool(0)); break;
    case 6: note_bits("bool", (uint64_t)fbx_bool(1u << 30)); break;
    case 7: note_bits("weighted", fbx_choice(3, weights)); break;
    case 8: note_f64("f64", fbx_f64(-INFINITY, INFINITY, FBX_NAN | FBX_INFINITE | FBX_NEGATIVE_ZERO | FBX_SUBNORMAL)); break;
    case 9: note_f64("f64 -1 to 2.5", fbx_f64(-1, 2.5, FBX_SUBNORMAL)); break;
    case 10: note_f64("f64 4", fbx_f64(4, 4, FBX_SUBNORMAL)); break;
    case 11:
        len = fbx_bytes(text, 2, 60);
        for (uint32_t at = 0; at < len; at++) note_bits("byte", (uint8_t)text[at]);
        break;
    case 12:
        len = fbx_str(text, sizeof text, 1, 10, letters, 4);
        fbx_note_text(text, len);
        break;
    case 20:
        len = fbx_str(text, sizeof text, 0, 15, NULL, 0);
        for (uint32_t at = 0; at < len; at++) note_bits("byte of a text", (uint8_t)text[at]);
        break;
    case 13: note_bits("payload", fbx_payload(64)); break;
    case 14: note_bits("payload of 5 bits", fbx_payload(5)); break;
    case 15:
        fbx_span_begin(fbx_label("list"));
        while (fbx_more(1, 4, 2 * 256)) {
            fbx_span_begin(fbx_label("element"));
            note_bits("element", fbx_uint(0, 9, 0));
            fbx_span_end(0);
        }
        fbx_span_end(0);
        break;
    case 16: note_f64("f64 1e15 to 1e300", fbx_f64(1e15, 1e300, FBX_SUBNORMAL)); break;
    case 17: note_f64("f64 -1e-300 to 1e-308", fbx_f64(-1e-300, 1e-308, FBX_SUBNORMAL)); break;
    case 18:
        /* Two lists in one span. */
        for (int list = 0; list < 2; list++)
            while (fbx_more(0, 3, 2 * 256)) note_bits("element", fbx_uint(0, 9, 0));
        break;
    case 19: {
        static const char *names[] = {"red", "green", "blue"};
        note_bits("feature", (uint64_t)fbx_feature(names[fbx_choice(3, NULL)]));
        break;
    }
    default: note_bits("remaining", fbx_remaining() != 0); break;
    }
}

FBX_PROPERTY(draws) {
    while (fbx_more(0, 1000, 30 * 256)) {
        fbx_span_begin(fbx_label("draw"));
        draw();
        fbx_span_end(0);
    }
    fbx_assume(fbx_uint(0, 9, 0) != 9);
    if (fbx_uint(0, 9, 0) == 9) fbx_fail("nine");
}

FBX_MAIN(FBX_NAME(draws))
