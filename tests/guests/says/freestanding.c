/* An assertion that is the host's to report. */
extern void __assert_fail(const char *expression, const char *file, int line, const char *function);

int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) {
    if (size > 2 && data[0] == 'a') __assert_fail("data[0] != 'a'", "freestanding.c", 5, __func__);
    return 0;
}
