//! The outside guests do what they are for: they read their documents, and are not easily shaken.

use crate::plain::{End, Guest};
use anyhow::Result;
use fuzzbox_tests::{documents, guest};

#[test]
fn cjson_reads_its_documents_and_refuses_garbage() -> Result<()> {
    reads_its_documents("cjson")
}

#[test]
fn expat_reads_its_documents_and_refuses_garbage() -> Result<()> {
    reads_its_documents("expat")
}

fn reads_its_documents(name: &str) -> Result<()> {
    let guest = Guest::load(&self::guest(name)?)?;
    for (document, content) in documents(name)? {
        assert_eq!(guest.run(&content)?.end, End::Returned(0), "{document}");
        assert_eq!(guest.run(&content[..content.len() / 2])?.end, End::Returned(0), "half of {document}");
    }
    assert_eq!(guest.run(b"")?.end, End::Returned(0));
    // As deep as the parsers go, and deeper.
    assert_eq!(guest.run(&b"[".repeat(5000))?.end, End::Returned(0));
    assert_eq!(guest.run(&b"<a>".repeat(5000))?.end, End::Returned(0));
    Ok(())
}

#[test]
fn icepack_turns_its_documents_into_bitstreams() -> Result<()> {
    const PREAMBLE: &[u8] = &[0x7e, 0xaa, 0x99, 0x7e];
    let guest = Guest::load(&self::guest("icepack")?)?;
    for (document, content) in documents("icepack")? {
        let run = guest.run(&content)?;
        assert_eq!(run.end, End::Returned(0), "{document}");
        assert!(run.output.windows(4).any(|bytes| bytes == PREAMBLE), "{document}: no bitstream");
        assert!(run.output.len() > 7_000, "{document}: {} bytes", run.output.len());
    }
    assert_eq!(guest.run(b"garbage")?.end, End::Exited(1));
    assert_eq!(guest.run(b"")?.end, End::Exited(1));
    Ok(())
}

#[test]
fn many_may_ask_for_a_guest_at_the_same_time() -> Result<()> {
    std::thread::scope(|scope| {
        let askers: Vec<_> = (0..4).map(|_| scope.spawn(|| guest("first-bug"))).collect();
        for asker in askers {
            let path = asker.join().expect("an asker panicked")?;
            assert!(std::fs::read(path)?.starts_with(b"\0asm"));
        }
        Ok(())
    })
}
