// What Jansson's configure script would write for this target.
#define JSON_INLINE inline
#define JSON_INTEGER_IS_LONG_LONG 1
#define JSON_HAVE_LOCALECONV 0
#define JSON_HAVE_ATOMIC_BUILTINS 0
#define JSON_HAVE_SYNC_BUILTINS 0
// Deeper documents are refused. Jansson's own limit is 2048, for stacks of several MiB.
#define JSON_PARSER_MAX_DEPTH 512
