// Feeds MD4C: four bytes of parser flags, then Markdown that becomes HTML.

#include "md4c-html.h"
#include <stdint.h>
#include <string.h>

// How much HTML there was; kept so that the calls are not optimised away.
size_t html_bytes;

static void take(const MD_CHAR *html, MD_SIZE size, void *user) {
    (void)html, (void)user;
    html_bytes += size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t flags;
    if (size < sizeof flags) return 0;
    memcpy(&flags, data, sizeof flags);
    // Not a copy: a read past the end of the Markdown is one past the end of the input.
    md_html((const MD_CHAR *)data + sizeof flags, (MD_SIZE)(size - sizeof flags), take, NULL, flags, 0);
    return 0;
}
