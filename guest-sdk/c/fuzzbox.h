/* fuzzbox.h: properties for fuzzbox in C and C++. One file, no runtime.
 *
 *     #define FUZZBOX_MAIN                     // in one file of the program
 *     #include "fuzzbox.h"
 *
 *     FBX_PROPERTY(sorted) {
 *         int64_t n = fbx_int(0, 100, 0);
 *         ...
 *         if (wrong) fbx_fail("not sorted");   // or abort(), or any trap
 *     }
 *
 *     FBX_MAIN(FBX_NAME(sorted))               // every property of the program
 *
 * For wasm (clang --target=wasm32-wasi -mexec-model=reactor, or wasm32 with -nostdlib -Wl,--no-entry) each draw is an import
 * of the module `fuzzbox_v1` and each property an export `fbx_...`. Natively the same program takes a stored stream:
 *
 *     cc -g program.c && ./a.out sorted stream
 *
 * and does with it what it does in wasm, so that a debugger can watch. When the stream has ended, every draw gives its
 * simplest value. What index 0, 1, 2 ... of a draw mean is said with each; indices that are too large stand for 0.
 */
#ifndef FUZZBOX_H
#define FUZZBOX_H

#include <stdint.h>

#ifdef __cplusplus
#define FBX_C extern "C"
#else
#define FBX_C
#endif

#if defined(__wasm__)
#define FBX_IMPORT(name) FBX_C __attribute__((import_module("fuzzbox_v1"), import_name(#name)))
#define FBX_PROPERTY(name) FBX_C __attribute__((export_name("fbx_" #name))) void fbx_property_##name(void)
#define FBX_MAIN(...)
#else
#define FBX_IMPORT(name) FBX_C
#define FBX_PROPERTY(name) FBX_C void fbx_property_##name(void)
#define FBX_MAIN(...)                                                                    \
    int main(int argc, char **argv) {                                                    \
        static const struct fbx_property all[] = {__VA_ARGS__};                          \
        return fbx_main(argc, argv, all, (int)(sizeof all / sizeof *all));               \
    }
#endif
#define FBX_NAME(name) {#name, fbx_property_##name}

struct fbx_property {
    const char *name;
    void (*run)(void);
};

/* Draws. Ranges include both ends. */

/* lo to hi; `towards` is index 0, then towards + 1, towards - 1, towards + 2 ..., one side alone where the other has ended. */
FBX_IMPORT(draw_int) int64_t fbx_int(int64_t lo, int64_t hi, int64_t towards);
FBX_IMPORT(draw_uint) uint64_t fbx_uint(uint64_t lo, uint64_t hi, uint64_t towards);
/* True with a probability in units of 2^-32; 0 and UINT32_MAX leave no choice. Index 0 is false. */
FBX_IMPORT(draw_bool) int32_t fbx_bool(uint32_t p_true);
/* One of n, the first the simplest; weights are n numbers, or NULL. */
FBX_IMPORT(draw_choice) uint32_t fbx_choice(uint32_t n, const uint32_t *weights);
/* Integers first, by their distance from 0, then fractions, those with few binary places first; then what flags permit. */
FBX_IMPORT(draw_f64) double fbx_f64(double lo, double hi, uint32_t flags);
#define FBX_NAN 1u
#define FBX_INFINITE 2u
#define FBX_NEGATIVE_ZERO 4u
#define FBX_SUBNORMAL 8u
/* Writes min to max bytes, returns how many. */
FBX_IMPORT(draw_bytes) uint32_t fbx_bytes(void *to, uint32_t min, uint32_t max);
/* Writes min to max characters as UTF-8, at most cap bytes, returns how many bytes. The alphabet is ranges, each a first
 * and a last character; `ranges` is their number. NULL is all of Unicode: small letters, capitals, digits, the rest. */
FBX_IMPORT(draw_str) uint32_t fbx_str(char *to, uint32_t cap, uint32_t min, uint32_t max, const uint32_t *alphabet, uint32_t ranges);
/* Whether a collection in the innermost span goes on: `while (fbx_more(0, 10, 4 * 256)) ...`. Index 0 ends it. */
FBX_IMPORT(draw_more) int32_t fbx_more(uint32_t min, uint32_t max, uint32_t average_q8);
/* 1 to 64 bits that must not influence control flow. */
FBX_IMPORT(draw_payload) uint64_t fbx_payload(uint32_t bits);

/* Draws that belong together; the label says what kind of thing they make. */
FBX_IMPORT(span_begin) void fbx_span_begin(uint32_t label);
FBX_IMPORT(span_end) void fbx_span_end(uint32_t flags);
#define FBX_DISCARDED 1u

/* How it ends. */
FBX_IMPORT(assume) void fbx_assume(int32_t condition);
FBX_IMPORT(reject) __attribute__((noreturn)) void fbx_reject_text(const char *why, uint32_t len);
FBX_IMPORT(fail) __attribute__((noreturn)) void fbx_fail_text(const char *failure_class, uint32_t len);

/* What is seen of it. */
FBX_IMPORT(target) void fbx_target_text(const char *label, uint32_t len, double score);
FBX_IMPORT(event) void fbx_event_text(const char *label, uint32_t len, int64_t value);
FBX_IMPORT(keyframe) void fbx_keyframe(uint32_t id, int64_t arg);
FBX_IMPORT(name) void fbx_name_text(uint32_t kind, uint32_t id, const char *name, uint32_t len);
FBX_IMPORT(note) void fbx_note_text(const char *text, uint32_t len);
FBX_IMPORT(value) void fbx_value(uint64_t type_id, uint32_t encoding, const void *bytes, uint32_t len);
/* How many draws are still given or random. */
FBX_IMPORT(remaining) uint32_t fbx_remaining(void);
FBX_IMPORT(feature) int32_t fbx_feature_text(const char *name, uint32_t len);

/* The same with text that ends with a zero. */
static inline uint32_t fbx_len(const char *text) {
    uint32_t len = 0;
    if (__builtin_constant_p(__builtin_strlen(text))) return (uint32_t)__builtin_strlen(text);
    /* Volatile, so that no compiler makes a call of strlen of it: there may be no C library. */
    for (const volatile char *at = text; *at; at++) len++;
    return len;
}
__attribute__((noreturn)) static inline void fbx_reject(const char *why) { fbx_reject_text(why, fbx_len(why)); }
__attribute__((noreturn)) static inline void fbx_fail(const char *failure_class) { fbx_fail_text(failure_class, fbx_len(failure_class)); }
static inline void fbx_target(const char *label, double score) { fbx_target_text(label, fbx_len(label), score); }
static inline void fbx_event(const char *label, int64_t value) { fbx_event_text(label, fbx_len(label), value); }
static inline void fbx_note(const char *text) { fbx_note_text(text, fbx_len(text)); }
static inline int32_t fbx_feature(const char *name) { return fbx_feature_text(name, fbx_len(name)); }
/* Whether notes are read; see fbx_note. */
static inline int32_t fbx_is_reporting(void) { return fbx_feature("fuzzbox:report"); }
/* The label of a name: 32-bit FNV-1a. */
static inline uint32_t fbx_label(const char *name) {
    uint32_t hash = 0x811c9dc5u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x01000193u;
    return hash;
}

#if !defined(__wasm__)
FBX_C int fbx_main(int argc, char **argv, const struct fbx_property *all, int count);
#endif

#if !defined(__wasm__) && defined(FUZZBOX_MAIN)
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t *fbx_stream_at, *fbx_stream_end;
static uint32_t fbx_lens[4096];
static uint32_t fbx_depth;

/* A LEB128 number of at most 65 bits: the low bit apart, and the rest. */
static uint64_t fbx_read_item(int *is_blob) {
    uint64_t value = 0;
    *is_blob = 0;
    for (int at = 0; at < 10 && fbx_stream_at < fbx_stream_end; at++) {
        uint8_t byte = *fbx_stream_at++;
        uint64_t bits = byte & 0x7f;
        if (at == 0) {
            *is_blob = (int)(bits & 1);
            value = bits >> 1;
        } else {
            value |= bits << (7 * at - 1);
        }
        if (!(byte & 0x80)) break;
    }
    return value;
}

/* The next blob and its length; NULL if there is none. */
static const uint8_t *fbx_read_blob(uint64_t *len) {
    int is_blob;
    uint64_t value = fbx_read_item(&is_blob);
    *len = 0;
    if (!is_blob) return NULL;
    uint64_t left = (uint64_t)(fbx_stream_end - fbx_stream_at);
    *len = value < left ? value : left;
    const uint8_t *blob = fbx_stream_at;
    fbx_stream_at += *len;
    return blob;
}

static uint64_t fbx_index(uint64_t max) {
    int is_blob;
    uint64_t value = fbx_read_item(&is_blob);
    if (is_blob) {
        uint64_t left = (uint64_t)(fbx_stream_end - fbx_stream_at);
        fbx_stream_at += value < left ? value : left;
        return 0;
    }
    return value <= max ? value : 0;
}

static void fbx_misused(const char *what) {
    fprintf(stderr, "the guest asked for %s\n", what);
    exit(3);
}

static uint64_t fbx_zigzag_value(uint64_t index, uint64_t below, uint64_t above, uint64_t towards) {
    uint64_t both = below < above ? below : above;
    uint64_t step = index / 2 + index % 2;
    if (step > both) return below > above ? towards - (index - both) : towards + (index - both);
    return index % 2 ? towards + step : towards - step;
}

static uint64_t fbx_zigzag(uint64_t below, uint64_t above, uint64_t towards) {
    return fbx_zigzag_value(fbx_index(below + above), below, above, towards);
}

int64_t fbx_int(int64_t lo, int64_t hi, int64_t towards) {
    if (lo > hi) fbx_misused("an integer from an empty range");
    towards = towards < lo ? lo : towards > hi ? hi : towards;
    return (int64_t)fbx_zigzag((uint64_t)towards - (uint64_t)lo, (uint64_t)hi - (uint64_t)towards, (uint64_t)towards);
}

uint64_t fbx_uint(uint64_t lo, uint64_t hi, uint64_t towards) {
    if (lo > hi) fbx_misused("an integer from an empty range");
    towards = towards < lo ? lo : towards > hi ? hi : towards;
    return fbx_zigzag(towards - lo, hi - towards, towards);
}

int32_t fbx_bool(uint32_t p_true) {
    int is_certain = p_true == UINT32_MAX;
    uint64_t index = fbx_index(p_true != 0 && !is_certain);
    return is_certain || index != 0;
}

uint32_t fbx_choice(uint32_t n, const uint32_t *weights) {
    (void)weights;
    if (n == 0) fbx_misused("a choice among nothing");
    return (uint32_t)fbx_index((uint64_t)n - 1);
}

static double fbx_power(int n) { return ldexp(1.0, n); }

static int64_t fbx_ceil(double x) { return x > 0x1p53 ? INT64_MAX : (int64_t)ceil(x < -0x1p53 ? -0x1p53 : x); }

static int64_t fbx_floor(double x) { return x < -0x1p53 ? -INT64_MAX : (int64_t)floor(x > 0x1p53 ? 0x1p53 : x); }

/* Numbers from 0 to x; without subnormal ones, those below 2^-970 have 1022 binary places at most. */
static uint64_t fbx_numbers(double x, uint32_t flags) {
    const uint64_t few_places = 0x0350000000000000u;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (flags & FBX_SUBNORMAL) return bits + 1;
    uint64_t tiny = bits < few_places ? bits : few_places - 1;
    double least;
    memcpy(&least, &tiny, sizeof least);
    return bits - tiny + (uint64_t)floor(least * fbx_power(1022)) + 1;
}

/* How many numbers from first to last there are, or odd ones. */
static uint64_t fbx_count(int64_t first, int64_t last, int64_t by) {
    return first > last ? 0 : ((uint64_t)last - (uint64_t)first) / (uint64_t)by + 1;
}

/* The integer with this index from first to last, in the order of the distance from 0. */
static int64_t fbx_around_zero(uint64_t index, int64_t first, int64_t last) {
    int64_t towards = first > 0 ? first : last < 0 ? last : 0;
    uint64_t below = (uint64_t)(towards - first), above = (uint64_t)(last - towards);
    return (int64_t)fbx_zigzag_value(index, below, above, (uint64_t)towards);
}

/* The finite number with this index: integers, then fractions by their number of binary places, then what is beyond 2^53. */
static double fbx_finite(uint64_t index, double lo, double hi, uint32_t flags) {
    double least = lo, most = hi;
    for (int places = 0; places <= (flags & FBX_SUBNORMAL ? 1074 : 1022); places++, least += least, most += most) {
        int64_t first = fbx_ceil(least), last = fbx_floor(most);
        if (places == 0) {
            if (index < fbx_count(first, last, 1)) return (double)fbx_around_zero(index, first, last);
            index -= fbx_count(first, last, 1);
            continue;
        }
        first |= 1, last = (last - 1) | 1;
        uint64_t count = fbx_count(first, last, 2);
        if (index < count) {
            int64_t number = 1 - 2 * fbx_around_zero(index, (1 - last) / 2, (1 - first) / 2);
            return (double)number * fbx_power(-places);
        }
        index -= count;
    }
    for (int power = 1; power <= 1023; power++) {
        double unit = fbx_power(power);
        int64_t beyond = (int64_t)(0x1p53 / unit) + 1;
        for (int is_negative = 0; is_negative < 2; is_negative++) {
            int64_t first = is_negative ? fbx_ceil(-hi / unit) : fbx_ceil(lo / unit);
            int64_t last = is_negative ? fbx_floor(-lo / unit) : fbx_floor(hi / unit);
            first = (first > beyond ? first : beyond) | 1, last = (last - 1) | 1;
            uint64_t count = fbx_count(first, last, 2);
            if (index < count) {
                double magnitude = (double)(first + 2 * (int64_t)index) * unit;
                return is_negative ? -magnitude : magnitude;
            }
            index -= count;
        }
    }
    return NAN;
}

double fbx_f64(double lo, double hi, uint32_t flags) {
    double specials[4];
    uint64_t others = 0, finite = 0;
    if (flags & FBX_NEGATIVE_ZERO && lo <= 0 && hi >= 0) specials[others++] = -0.0;
    if (flags & FBX_INFINITE && hi == INFINITY) specials[others++] = INFINITY;
    if (flags & FBX_INFINITE && lo == -INFINITY) specials[others++] = -INFINITY;
    if (flags & FBX_NAN) specials[others++] = NAN;
    lo = (lo < -0x1.fffffffffffffp1023 ? -0x1.fffffffffffffp1023 : lo) + 0.0;
    hi = (hi > 0x1.fffffffffffffp1023 ? 0x1.fffffffffffffp1023 : hi) + 0.0;
    if (lo <= hi) {
        if (lo > 0) finite = fbx_numbers(hi, flags) - fbx_numbers(nextafter(lo, 0), flags);
        else if (hi < 0) finite = fbx_numbers(-lo, flags) - fbx_numbers(nextafter(-hi, 0), flags);
        else finite = fbx_numbers(hi, flags) + fbx_numbers(fabs(lo), flags) - 1;
    }
    if (finite + others == 0) fbx_misused("a number from a range without numbers");
    uint64_t index = fbx_index(finite + others - 1);
    return index < finite ? fbx_finite(index, lo, hi, flags) : specials[index - finite];
}

uint32_t fbx_bytes(void *to, uint32_t min, uint32_t max) {
    uint64_t len;
    const uint8_t *blob = fbx_read_blob(&len);
    if (len > max) len = max;
    if (len) memcpy(to, blob, len);
    if (len < min) memset((uint8_t *)to + len, 0, min - len);
    return (uint32_t)(len < min ? min : len);
}

static uint32_t fbx_character(const uint32_t *alphabet, uint32_t ranges, uint32_t index) {
    for (uint32_t at = 0; at < ranges; at++) {
        uint32_t len = alphabet[2 * at + 1] - alphabet[2 * at] + 1;
        if (index < len) return alphabet[2 * at] + index;
        index -= len;
    }
    return alphabet[0];
}

static uint32_t fbx_utf8(uint32_t c, uint8_t *utf8) {
    uint32_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (uint32_t at = bytes; at-- > 1; c >>= 6) utf8[at] = (uint8_t)(0x80 | (c & 0x3f));
    utf8[0] = (uint8_t)(bytes == 1 ? c : (0xf00u >> bytes & 0xffu) | c);
    return bytes;
}

uint32_t fbx_str(char *to, uint32_t cap, uint32_t min, uint32_t max, const uint32_t *alphabet, uint32_t ranges) {
    uint64_t len;
    const uint8_t *blob = fbx_read_blob(&len), *end = blob + len;
    static const uint32_t usual[] = {'a', 'z', 'A', 'Z', '0', '9', ' ', '/', ':', '@', '[', '`', '{', '~', 0, 0x1f, 0x7f, 0xd7ff, 0xe000, 0x10ffff};
    uint32_t written = 0;
    if (!alphabet) alphabet = usual, ranges = sizeof usual / sizeof *usual / 2;
    for (uint32_t characters = 0; characters < max && (blob < end || characters < min); characters++) {
        uint64_t index = 0;
        for (int at = 0; at < 5 && blob < end; at++) {
            uint8_t byte = *blob++;
            index |= (uint64_t)(byte & 0x7f) << (7 * at);
            if (!(byte & 0x80)) break;
        }
        uint8_t utf8[4];
        uint32_t bytes = fbx_utf8(fbx_character(alphabet, ranges, (uint32_t)index), utf8);
        if (written + bytes > cap) bytes = fbx_utf8(fbx_character(alphabet, ranges, 0), utf8);
        if (written + bytes > cap) break;
        memcpy(to + written, utf8, bytes);
        written += bytes;
    }
    return written;
}

int32_t fbx_more(uint32_t min, uint32_t max, uint32_t average_q8) {
    (void)average_q8;
    uint32_t *len = &fbx_lens[fbx_depth < 4096 ? fbx_depth : 4095];
    int is_forced = *len < min || *len >= max;
    uint64_t index = fbx_index(!is_forced);
    int32_t more = is_forced ? *len < min : index != 0;
    *len = more ? *len + 1 : 0;
    return more;
}

uint64_t fbx_payload(uint32_t bits) {
    if (bits < 1 || bits > 64) fbx_misused("a payload of no bits, or too many");
    return fbx_index(UINT64_MAX >> (64 - bits));
}

void fbx_span_begin(uint32_t label) {
    (void)label;
    fbx_depth++;
    if (fbx_depth < 4096) fbx_lens[fbx_depth] = 0;
}

void fbx_span_end(uint32_t flags) {
    (void)flags;
    if (fbx_depth) fbx_depth--;
}

void fbx_assume(int32_t condition) {
    if (!condition) fbx_reject("an assumption does not hold");
}

void fbx_reject_text(const char *why, uint32_t len) {
    fprintf(stderr, "rejected: %.*s\n", (int)len, why);
    exit(0);
}

void fbx_fail_text(const char *failure_class, uint32_t len) {
    fprintf(stderr, "failed: %.*s\n", (int)len, failure_class);
    abort();
}

void fbx_note_text(const char *text, uint32_t len) { fprintf(stderr, "  %.*s\n", (int)len, text); }

void fbx_target_text(const char *label, uint32_t len, double score) { (void)label, (void)len, (void)score; }
void fbx_event_text(const char *label, uint32_t len, int64_t value) { (void)label, (void)len, (void)value; }
void fbx_keyframe(uint32_t id, int64_t arg) { (void)id, (void)arg; }
void fbx_name_text(uint32_t kind, uint32_t id, const char *name, uint32_t len) { (void)kind, (void)id, (void)name, (void)len; }
void fbx_value(uint64_t type_id, uint32_t encoding, const void *bytes, uint32_t len) { (void)type_id, (void)encoding, (void)bytes, (void)len; }

uint32_t fbx_remaining(void) {
    /* Each item is counted; the place stays. */
    const uint8_t *start = fbx_stream_at;
    uint32_t items = 0;
    while (fbx_stream_at < fbx_stream_end) {
        fbx_index(0);
        items++;
    }
    fbx_stream_at = start;
    return items;
}

int32_t fbx_feature_text(const char *name, uint32_t len) {
    /* By the hash of the name (FNV-1a), in whose place the lowest bit is the answer. */
    static uint64_t features[128];
    static int used;
    uint64_t hash = 0xcbf29ce484222325u;
    if (len == 14 && !memcmp(name, "fuzzbox:report", 14)) return 1;
    for (uint32_t at = 0; at < len && at < 1024; at++) hash = (hash ^ (uint8_t)name[at]) * 0x100000001b3u;
    hash &= ~(uint64_t)1;
    for (int at = 0; at < used; at++)
        if ((features[at] ^ hash) <= 1) return (int32_t)(features[at] & 1);
    if (used == 128) return 1;
    features[used] = hash | !fbx_index(1);
    return (int32_t)(features[used++] & 1);
}

int fbx_main(int argc, char **argv, const struct fbx_property *all, int count) {
    const struct fbx_property *property = NULL;
    for (int at = 0; argc == 3 && at < count; at++)
        if (!strcmp(argv[1], all[at].name)) property = &all[at];
    FILE *file = property ? fopen(argv[2], "rb") : NULL;
    if (!file) {
        if (property) fprintf(stderr, "failed to open `%s`\n", argv[2]);
        else fprintf(stderr, "usage: %s PROPERTY STREAM-FILE; properties:", argv[0]);
        for (int at = 0; !property && at < count; at++) fprintf(stderr, " %s", all[at].name);
        fprintf(stderr, "\n");
        return 2;
    }
    uint8_t *stream = NULL;
    size_t len = 0, got;
    do {
        stream = (uint8_t *)realloc(stream, len + 65536);
        got = stream ? fread(stream + len, 1, 65536, file) : 0;
        len += got;
    } while (got);
    fclose(file);
    fbx_stream_at = stream;
    fbx_stream_end = stream + len;
    property->run();
    fprintf(stderr, "passed\n");
    return 0;
}
#endif
#endif
