// Feeds cJSON: parses, prints in both styles, minifies.

#include "cJSON.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cJSON *value = cJSON_ParseWithLengthOpts((const char *)data, size, NULL, 0);
    if (value) {
        free(cJSON_PrintUnformatted(value));
        free(cJSON_PrintBuffered(value, 16, 1));
    }
    cJSON_Delete(value);

    // Minifying works in place on text that ends in a zero byte.
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = 0;
    cJSON_Minify(text);
    free(text);
    return 0;
}
