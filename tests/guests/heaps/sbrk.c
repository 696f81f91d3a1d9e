// A heap from the end of the data to the end of memory, which grows with it: as Emscripten's.
#include <stddef.h>
#include <stdint.h>

extern unsigned char __heap_base;
static uintptr_t top;

static unsigned char *sbrk(size_t bytes) {
    if (!top) top = (uintptr_t)&__heap_base;
    uintptr_t old = top, end = old + ((bytes + 15) & ~(size_t)15);
    uintptr_t size = __builtin_wasm_memory_size(0) << 16;
    if (end > size && __builtin_wasm_memory_grow(0, (end - size + 65535) >> 16) == (size_t)-1) __builtin_trap();
    top = end;
    return (unsigned char *)old;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char *copy = sbrk(size);
    for (size_t i = 0; i < size; i++) copy[i] = data[i];
    size_t bytes = size ? (size_t)data[0] << BLOCK_LOG2 : 100;
    unsigned char *block = sbrk(bytes);
    for (size_t i = 0; i < bytes; i += 8) *(volatile uint64_t *)(block + i) = ~0ull;
    for (size_t i = 0; i < size; i++)
        if (copy[i] != data[i]) __builtin_trap();
#ifdef PLANTED
    if (size > 1 && data[1] == 'x') {
        volatile uint8_t behind = data[size];
        (void)behind;
    }
#endif
    return 0;
}
