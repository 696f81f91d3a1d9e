/* A function that compilers inline, in a file of its own. */
static inline __attribute__((always_inline)) int digit(const unsigned char *text, int at) {
    if (text[at] < '0')
        __builtin_trap();
    return text[at] - '0';
}
