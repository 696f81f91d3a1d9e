//! Files that are mistaken for modules, told by how they begin.

use anyhow::{Result, bail};
use wasmparser::{Parser, Payload};

/// How files of other formats begin, what they are, and what to do with them.
const BEGINNINGS: [(&[u8], &str, &str); 13] = [
    (b"\x7fELF", "a native program or object file (ELF)", COMPILE),
    (b"MZ", "a native program (PE)", COMPILE),
    (b"\xfe\xed\xfa\xce", "a native program or object file (Mach-O)", COMPILE),
    (b"\xfe\xed\xfa\xcf", "a native program or object file (Mach-O)", COMPILE),
    (b"\xce\xfa\xed\xfe", "a native program or object file (Mach-O)", COMPILE),
    (b"\xcf\xfa\xed\xfe", "a native program or object file (Mach-O)", COMPILE),
    (b"\xca\xfe\xba\xbe", "a native program (Mach-O for several machines)", COMPILE),
    (b"!<arch>\n", "a library of object files (ar)", LINK),
    (b"BC\xc0\xde", "LLVM bitcode", LINK),
    (b"\x1f\x8b", "compressed by gzip", UNPACK),
    (b"PK\x03\x04", "a zip archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", UNPACK),
    (b"#!", "a script", COMPILE),
];

const COMPILE: &str = "compile it to wasm: `clang --target=wasm32-wasi`, `cargo build --target wasm32-unknown-unknown`";

const LINK: &str = "link it to a module, with what it is to be fuzzed by: `clang --target=wasm32-wasi`";

const UNPACK: &str = "unpack it first";

/// Refuses files of other formats, by their names.
pub(crate) fn refuse(bytes: &[u8]) -> Result<()> {
    match BEGINNINGS.iter().find(|(beginning, ..)| bytes.starts_with(beginning)) {
        Some((_, what, help)) => bail!("it is no wasm module but {what}\nhelp: {help}"),
        None => Ok(()),
    }
}

/// Refuses a module that is not linked yet: it has relocations to apply, and exports nothing.
pub(crate) fn refuse_object(wasm: &[u8]) -> Result<()> {
    let mut links = false;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload {
            Ok(Payload::CustomSection(section)) => links |= section.name() == "linking",
            // Linked modules may keep their relocations. What is broken or a component is for others to say.
            Ok(Payload::ExportSection(_) | Payload::ComponentSection { .. } | Payload::ModuleSection { .. })
            | Err(_) => {
                return Ok(());
            }
            _ => {}
        }
    }
    if links { bail!("it is a wasm object file (section `linking`), not linked yet\nhelp: {LINK}") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_called_by_their_names() {
        let said = |bytes: &[u8]| refuse(bytes).unwrap_err().to_string();
        assert!(said(b"\x7fELF\x02\x01").contains("(ELF)\nhelp: compile it"));
        assert!(said(b"!<arch>\nfoo.o/").contains("(ar)\nhelp: link it"));
        for bytes in [&b"\0asm\x01\0\0\0"[..], b"(module)", b"", b"\x7fEL", b"M"] {
            assert!(refuse(bytes).is_ok());
        }
    }

    #[test]
    fn objects_are_told_from_what_is_linked() {
        let object = wat::parse_str(r#"(module (func) (@custom "linking" "\02"))"#).unwrap();
        assert!(refuse_object(&object).unwrap_err().to_string().contains("`linking`"));
        for linked in [r#"(module (func (export "f")) (@custom "linking" "\02"))"#, "(module (func))", "(component)"] {
            assert!(refuse_object(&wat::parse_str(linked).unwrap()).is_ok());
        }
        assert!(refuse_object(b"\0asm\x01\0\0\0\xff").is_ok());
    }
}
