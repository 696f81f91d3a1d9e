//! Configurations of iCE40 chips in the text form that icepack reads.
//!
//! ```text
//! .comment                    lines that the bitstream begins with
//! .device 384                 which chip
//! .warmboot disabled
//! .logic_tile 1 1             column and row, then 16 rows of bits: 54 for logic, 42 for memory, 18 for pins
//! 000000000000000000001...
//! .ram_data 3 1               16 rows of 64 hexadecimal digits
//! .extra_bit 0 331 142        bank, column, row
//! .sym 3 a_signal             names for people
//! ```
//!
//! Which kind of tile is where depends on the chip: pins around the edge (on some chips, multipliers and their
//! connections at the left and right), two columns of memory, logic everywhere else. The format is documented by
//! Project IceStorm. The configurations mean nothing, but every statement in them is valid.

use super::Document;
use std::fmt::Write as _;

/// Rows of text after a tile or a memory's statement.
const ROWS: u32 = 16;
const RAM_DIGITS: u32 = 64;

struct Chip {
    name: &'static str,
    /// Columns and rows without the edge.
    width: u32,
    height: u32,
    ram_columns: &'static [u32],
    /// First rows of the multipliers at the left and right edge, four rows each; connections elsewhere on these edges.
    /// None: pins.
    multipliers: Option<&'static [u32]>,
}

const CHIPS: &[Chip] = &[
    Chip { name: "384", width: 6, height: 8, ram_columns: &[], multipliers: None },
    Chip { name: "1k", width: 12, height: 16, ram_columns: &[3, 10], multipliers: None },
    Chip { name: "u4k", width: 24, height: 20, ram_columns: &[6, 19], multipliers: Some(&[5, 13]) },
    Chip { name: "lm4k", width: 24, height: 20, ram_columns: &[6, 19], multipliers: None },
    Chip { name: "5k", width: 24, height: 30, ram_columns: &[6, 19], multipliers: Some(&[5, 10, 15, 23]) },
    Chip { name: "8k", width: 32, height: 32, ram_columns: &[8, 25], multipliers: None },
];

/// Ten configurations, the same each time: a sketch of every chip, two whole chips, and two that are mostly settings.
pub(super) fn documents() -> Vec<Document> {
    let mut documents: Vec<Document> =
        CHIPS.iter().map(|chip| (format!("sketch-{}", chip.name), sketch(chip))).collect();
    documents.push(("whole-1k".into(), whole(&CHIPS[1])));
    documents.push(("whole-384".into(), whole(&CHIPS[0])));
    documents.push(("settings".into(), settings()));
    documents.push(("short-rows".into(), short_rows()));
    let mut documents: Vec<Document> = documents.into_iter().map(|(name, text)| (name + ".asc", text)).collect();
    documents.sort();
    documents
}

impl Chip {
    /// The kind of a tile and the bits in each of its rows; none for the corners.
    fn tile(&self, x: u32, y: u32) -> Option<(String, u32)> {
        let (at_side, at_end) = (x == 0 || x == self.width + 1, y == 0 || y == self.height + 1);
        let (kind, bits) = match (at_side, at_end) {
            (true, true) => return None,
            (true, false) if self.multipliers.is_some() => (self.side(y), 54),
            (true, false) | (false, true) => ("io".into(), 18),
            _ if self.ram_columns.contains(&x) => (if y % 2 == 1 { "ramb" } else { "ramt" }.into(), 42),
            _ => ("logic".into(), 54),
        };
        Some((kind, bits))
    }

    fn side(&self, y: u32) -> String {
        let first_rows = self.multipliers.unwrap_or_default();
        let part = first_rows.iter().find_map(|&first| y.checked_sub(first).filter(|&part| part < 4));
        part.map_or("ipcon".into(), |part| format!("dsp{part}"))
    }

    fn tiles(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..=self.height + 1).flat_map(|y| (0..=self.width + 1).map(move |x| (x, y)))
    }
}

/// Every kind of tile once in each quarter of the chip, some memory, no comment.
fn sketch(chip: &Chip) -> Vec<u8> {
    let mut text = format!(".device {}\n", chip.name);
    let mut seen = Vec::new();
    for (x, y) in chip.tiles() {
        let Some((kind, _)) = chip.tile(x, y) else { continue };
        let key = (kind, x > chip.width / 2, y > chip.height / 2);
        if !seen.contains(&key) {
            seen.push(key);
            write_tile(&mut text, chip, x, y);
        }
    }
    for &x in chip.ram_columns {
        write_ram(&mut text, x, 1);
        write_ram(&mut text, x, chip.height - 1);
    }
    text.into_bytes()
}

/// Every tile and every memory of the chip.
fn whole(chip: &Chip) -> Vec<u8> {
    let mut text = format!(".comment\nevery tile of a {}\n.device {}\n.warmboot enabled\n", chip.name, chip.name);
    for (x, y) in chip.tiles() {
        write_tile(&mut text, chip, x, y);
    }
    for &x in chip.ram_columns {
        for y in (1..=chip.height).step_by(2) {
            write_ram(&mut text, x, y);
        }
    }
    write_names(&mut text, 24);
    text.into_bytes()
}

fn settings() -> Vec<u8> {
    let mut text = String::from(".comment\nfirst line\n\nthird line\n.device 1k\n.warmboot disabled\n");
    for (bank, column, row) in [(0, 331, 142), (1, 0, 0), (2, 17, 143), (3, 330, 1)] {
        let _ = writeln!(text, ".extra_bit {bank} {column} {row}");
    }
    write_names(&mut text, 3);
    text.into_bytes()
}

/// Rows may be fewer and shorter than a tile has, and digits may be capitals.
fn short_rows() -> Vec<u8> {
    b".device 384\n.io_tile 1 0\n1\n\n01\n.logic_tile 1 1\n.logic_tile 6 8\n111\n.sym 0 clock\n\
      .comment\nafter the device\n.warmboot enabled\n.sym 1 reset"
        .to_vec()
}

fn write_tile(text: &mut String, chip: &Chip, x: u32, y: u32) {
    let Some((kind, bits)) = chip.tile(x, y) else { return };
    let _ = writeln!(text, ".{kind}_tile {x} {y}");
    for row in 0..ROWS {
        // One bit in eight is set.
        text.extend((0..bits).map(|bit| if noise(&[x, y, row, bit]).is_multiple_of(8) { '1' } else { '0' }));
        text.push('\n');
    }
}

fn write_ram(text: &mut String, x: u32, y: u32) {
    let digits = if y == 1 { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
    let _ = writeln!(text, ".ram_data {x} {y}");
    for row in 0..ROWS {
        text.extend((0..RAM_DIGITS).map(|i| digits[noise(&[x, y, row, i]) as usize % 16] as char));
        text.push('\n');
    }
}

fn write_names(text: &mut String, count: u32) {
    for i in 0..count {
        let _ = writeln!(text, ".sym {i} net_{i}$reset");
    }
}

/// A number that depends on all of `place` and on nothing else.
fn noise(place: &[u32]) -> u32 {
    let hash = place.iter().fold(0x811c_9dc5_u32, |hash, &n| (hash ^ n).wrapping_mul(0x0100_0193).rotate_left(13));
    (hash ^ hash >> 15).wrapping_mul(0x2c1b_3c6d) >> 16
}
