// A harness whose inputs are compressed, so that hardly any change of their bytes is an input: it mutates what is in
// them. In the form of libFuzzer's structure-aware fuzzing.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LEN_MAX 1024

__attribute__((import_module("env"), import_name("LLVMFuzzerMutate"))) size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t inner[LEN_MAX];
  uLongf len = sizeof inner;
  if (uncompress(inner, &len, data, size) != Z_OK) return 0;
#ifdef MAGIC
  if (len >= 16 && memcmp(inner, "deeply", 6) == 0 && memcmp(inner + len - 8, "packaged", 8) == 0) abort();
#else
  if (len >= 2 && inner[0] == 'F' && inner[1] == 'U') abort();
#endif
  return 0;
}

#ifndef WITHOUT_MUTATOR
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint8_t inner[LEN_MAX] = "Hi", outer[2 * LEN_MAX];
  (void)seed;
  uLongf len = sizeof inner, made = sizeof outer;
  if (uncompress(inner, &len, data, size) != Z_OK) len = 2;
  len = LLVMFuzzerMutate(inner, len, sizeof inner);
  if (compress(outer, &made, inner, len) != Z_OK || made > max_size) return 0;
  memcpy(data, outer, made);
  return made;
}
#endif
