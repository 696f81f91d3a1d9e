// Feeds Expat: once plainly and whole, once with namespaces and in two chunks; DTDs and external entities included.

#include "expat_config.h"

#include <expat.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// What the handlers saw; kept so that the calls are not optimised away.
size_t seen_bytes;

static void XMLCALL start_element(void *user, const XML_Char *name, const XML_Char **attributes) {
    (void)user;
    seen_bytes += strlen(name);
    for (; *attributes; attributes++) seen_bytes += strlen(*attributes);
}

static void XMLCALL end_element(void *user, const XML_Char *name) {
    (void)user;
    seen_bytes += strlen(name);
}

static void XMLCALL text(void *user, const XML_Char *s, int len) {
    (void)user, (void)s;
    seen_bytes += (size_t)len;
}

static void XMLCALL instruction(void *user, const XML_Char *target, const XML_Char *data) {
    (void)user;
    seen_bytes += strlen(target) + strlen(data);
}

static void XMLCALL comment(void *user, const XML_Char *data) {
    (void)user;
    seen_bytes += strlen(data);
}

static void XMLCALL cdata(void *user) {
    (void)user;
    seen_bytes++;
}

static void XMLCALL start_doctype(void *user, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                                  int has_internal_subset) {
    (void)user, (void)system, (void)public, (void)has_internal_subset;
    seen_bytes += strlen(name);
}

static void XMLCALL element_declaration(void *user, const XML_Char *name, XML_Content *model) {
    seen_bytes += strlen(name);
    XML_FreeContentModel((XML_Parser)user, model);
}

static void XMLCALL attribute_declaration(void *user, const XML_Char *element, const XML_Char *name,
                                          const XML_Char *type, const XML_Char *value, int required) {
    (void)user, (void)value, (void)required;
    seen_bytes += strlen(element) + strlen(name) + strlen(type);
}

static void XMLCALL entity_declaration(void *user, const XML_Char *name, int is_parameter, const XML_Char *value,
                                       int len, const XML_Char *base, const XML_Char *system, const XML_Char *public,
                                       const XML_Char *notation) {
    (void)user, (void)is_parameter, (void)value, (void)base, (void)system, (void)public, (void)notation;
    seen_bytes += strlen(name) + (size_t)len;
}

// Every external entity says the same.
static int XMLCALL external_entity(XML_Parser parser, const XML_Char *context, const XML_Char *base,
                                   const XML_Char *system, const XML_Char *public) {
    (void)base, (void)system, (void)public;
    static const char declaration[] = "<!ENTITY outside 'text'>";
    static const char content[] = "<outside>text</outside>";
    // Parameter entities, and the DTD itself, have no context.
    const char *entity = context ? content : declaration;
    XML_Parser inner = XML_ExternalEntityParserCreate(parser, context, NULL);
    if (!inner) return XML_STATUS_ERROR;
    int status = XML_Parse(inner, entity, (int)strlen(entity), 1);
    XML_ParserFree(inner);
    return status;
}

// An encoding in which every byte is the character of that number.
static int XMLCALL unknown_encoding(void *user, const XML_Char *name, XML_Encoding *info) {
    (void)user;
    if (strncmp(name, "x-", 2) != 0) return XML_STATUS_ERROR;
    for (int i = 0; i < 256; i++) info->map[i] = i;
    info->data = NULL;
    info->convert = NULL;
    info->release = NULL;
    return XML_STATUS_OK;
}

static void set_handlers(XML_Parser parser) {
    XML_SetUserData(parser, parser);
    XML_SetHashSalt(parser, 1);
    XML_SetParamEntityParsing(parser, XML_PARAM_ENTITY_PARSING_ALWAYS);
    XML_SetBillionLaughsAttackProtectionActivationThreshold(parser, 64 * 1024);
    XML_SetElementHandler(parser, start_element, end_element);
    XML_SetCharacterDataHandler(parser, text);
    XML_SetProcessingInstructionHandler(parser, instruction);
    XML_SetCommentHandler(parser, comment);
    XML_SetCdataSectionHandler(parser, cdata, cdata);
    XML_SetStartDoctypeDeclHandler(parser, start_doctype);
    XML_SetElementDeclHandler(parser, element_declaration);
    XML_SetAttlistDeclHandler(parser, attribute_declaration);
    XML_SetEntityDeclHandler(parser, entity_declaration);
    XML_SetExternalEntityRefHandler(parser, external_entity);
    XML_SetUnknownEncodingHandler(parser, unknown_encoding, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;

    XML_Parser plain = XML_ParserCreate(NULL);
    if (!plain) return 0;
    set_handlers(plain);
    XML_Parse(plain, bytes, (int)size, 1);
    XML_ParserFree(plain);

    XML_Parser spaces = XML_ParserCreateNS(NULL, '|');
    if (!spaces) return 0;
    set_handlers(spaces);
    XML_SetReturnNSTriplet(spaces, 1);
    size_t half = size / 2;
    if (XML_Parse(spaces, bytes, (int)half, 0) == XML_STATUS_OK) {
        XML_Parse(spaces, bytes + half, (int)(size - half), 1);
    }
    XML_ParserFree(spaces);
    return 0;
}
