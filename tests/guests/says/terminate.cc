// A container that is asked for what it does not have, where there are no exceptions.
#include <cstddef>
#include <cstdint>
#include <vector>

__attribute__((noinline)) static int parse(const uint8_t *data, size_t size) {
    std::vector<int> numbers(data, data + size);
    return size > 2 && data[0] == 'a' ? numbers.at(size + 4) : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return parse(data, size) == 77; }
