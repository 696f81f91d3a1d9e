//! The committed modules do what their sources say: each example is rebuilt and both are run on the same inputs.

use crate::plain::{End, Guest};
use anyhow::Result;
use fuzzbox_tests::guests::code_sections;
use fuzzbox_tests::{documents, example, guest};
use std::fs;
use wasmtime::Trap;

const INPUTS: usize = 200;
const MODULE_BYTES_MAX: u64 = 300_000;

/// Draws a sprite whose corner is on the canvas to the left, and far below it.
const SPRITE: &[u8] = b"SPR\x80\x05\0\xff\xff\x01\x40";
const TABLE: &[u8] = b"name,age\nann,40\n";

#[test]
fn first_bug_behaves_like_its_source() -> Result<()> {
    same_behaviour("first-bug", &[SPRITE.to_vec(), b"SPR\0\x01\0\x02\0row".to_vec()])
}

#[test]
fn json_behaves_like_its_source() -> Result<()> {
    let documents = documents("cjson")?.into_iter().map(|(_, content)| content);
    same_behaviour("json", &documents.collect::<Vec<_>>())
}

#[test]
fn stdin_tool_behaves_like_its_source() -> Result<()> {
    same_behaviour("stdin-tool", &[b"a,b\n1,2\n3,x\n".to_vec(), TABLE.to_vec(), b"\n\n".to_vec()])
}

#[test]
fn the_first_bug_is_an_access_out_of_bounds_in_draw_runs() -> Result<()> {
    let guest = Guest::load(&example("first-bug")?)?;
    let run = guest.run(SPRITE)?;
    assert_eq!(run.end, End::Trapped(Trap::MemoryOutOfBounds));
    assert_eq!(run.frames, ["draw_runs", "draw", "LLVMFuzzerTestOneInput"]);
    // Each of the checks in front of it matters, and so does the other path's check of the row.
    for at in [0, 1, 2, 3, 5, 8] {
        let mut near = SPRITE.to_vec();
        near[at] = if at == 5 { 1 } else { 0 };
        assert_eq!(guest.run(&near)?.end, End::Returned(0), "byte {at}");
    }
    assert_eq!(guest.run(&SPRITE[..8])?.end, End::Returned(0));
    Ok(())
}

#[test]
fn the_stdin_tool_divides_by_zero_for_a_column_with_one_number() -> Result<()> {
    let guest = Guest::load(&example("stdin-tool")?)?;
    let run = guest.run(TABLE)?;
    assert_eq!(run.end, End::Trapped(Trap::IntegerDivisionByZero));
    let two = guest.run(b"name,age\nann,40\nbob,44\n")?;
    assert_eq!(two.end, End::Returned(0));
    assert_eq!(String::from_utf8(two.output)?, "name: no numbers\nage: 2 numbers, mean 42, variance 8\n");
    assert_eq!(guest.run(b"")?.end, End::Exited(1));
    Ok(())
}

/// Runs the committed module and a rebuilt one on variations of `bases`.
fn same_behaviour(name: &str, bases: &[Vec<u8>]) -> Result<()> {
    let (committed, rebuilt) = (example(name)?, guest(name)?);
    assert!(fs::metadata(&committed)?.len() < MODULE_BYTES_MAX, "the module of {name} is too large to be committed");
    if code_sections(&fs::read(&committed)?)? != code_sections(&fs::read(&rebuilt)?)? {
        // Another version of the compiler, most likely. What counts is what it does.
        eprintln!("{name}: code differs from the committed module's; `xtask guests {name} --bless` would replace it");
    }
    let (committed, rebuilt) = (Guest::load(&committed)?, Guest::load(&rebuilt)?);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..INPUTS {
        let input = variation(&bases[number % bases.len()], number / bases.len(), &mut random);
        let (old, new) = (committed.run(&input)?, rebuilt.run(&input)?);
        assert_eq!((old.end, old.output), (new.end, new.output), "{name}, input {number}: {input:?}");
    }
    Ok(())
}

/// The document itself at first, then with more and more random edits.
fn variation(base: &[u8], edits: usize, random: &mut Random) -> Vec<u8> {
    let mut input = base.to_vec();
    for _ in 0..edits.min(16) {
        let (at, byte) = (random.below(input.len() + 1), random.below(256) as u8);
        match random.below(4) {
            0 => input.insert(at, byte),
            1 => input.truncate(at.max(input.len() / 2)),
            2 if at < input.len() => drop(input.remove(at)),
            _ if at < input.len() => input[at] = byte,
            _ => {}
        }
    }
    input
}

/// Xorshift; the sequence is the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}
