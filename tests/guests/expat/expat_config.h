// What Expat's configure script would write for this target.
#define BYTEORDER 1234
#define HAVE_UNISTD_H 1
#define XML_CONTEXT_BYTES 1024
#define XML_DTD 1
#define XML_GE 1
#define XML_NS 1
// The harness sets the salt of the hash tables; no entropy is asked for.
#define XML_POOR_ENTROPY 1
