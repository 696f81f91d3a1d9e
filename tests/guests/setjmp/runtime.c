// What clang calls for setjmp and longjmp (WebAssembly/tool-conventions, "setjmp/longjmp support").
typedef struct {
    void *invocation;
    unsigned label;
    struct { void *buffer; int value; } thrown;
} jump[1];

__asm__(".globl __c_longjmp\n.tagtype __c_longjmp i32\n__c_longjmp:\n");

void __wasm_setjmp(void *buffer, unsigned label, void *invocation) {
    (*(jump *)buffer)->invocation = invocation;
    (*(jump *)buffer)->label = label;
}

unsigned __wasm_setjmp_test(void *buffer, void *invocation) {
    return (*(jump *)buffer)->invocation == invocation ? (*(jump *)buffer)->label : 0;
}

void __wasm_longjmp(void *buffer, int value) {
    (*(jump *)buffer)->thrown.buffer = buffer;
    (*(jump *)buffer)->thrown.value = value ? value : 1;
    __builtin_wasm_throw(1, &(*(jump *)buffer)->thrown);
}
