#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void parse(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return;
    memcpy(text, data, size);
    text[size] = 0;
    int depth = 0;
    for (const char *at = text; *at == '['; at++) {
        depth++;
        assert(depth < 3);
    }
    free(text);
}
