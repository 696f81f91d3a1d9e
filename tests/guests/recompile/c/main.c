#include "calc.h"

#include <stdint.h>

/* What `assert` calls; the C library's own would print, and with it come files. */
_Noreturn void __assert_fail(const char *what, const char *file, int line, const char *function) {
    (void)what, (void)file, (void)line, (void)function;
    __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct lexer lexer = {(const char *)data, (const char *)data + size, 1};
    int lines = 0;
    while (lexer.at < lexer.end && lines < 1000) {
        int line = lexer.line, result = 0;
        int outcome = run_line(&lexer, &result);
        if (outcome > 0)
            report("= #\n", result, "");
        else if (outcome < 0)
            report("line #: @\n", line, last_error());
        while (lexer.line == line && lexer.at < lexer.end)
            next_token(&lexer);
        lines++;
    }
    report("# variables, ", variable_count(), "");
    report("# tokens, the last of kind @, ", tokens_seen, kind_name(next_token(&lexer).kind));
    report("checksum #\n", checksum(), "");
    forget_variables();
    return report_length() > 4000;
}
