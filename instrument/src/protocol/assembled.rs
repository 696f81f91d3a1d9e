//! The bodies of the protocol's functions: wasm text, assembled when first needed.
//!
//! The text is in `bodies/`. Six things are put into it: the numbers of [`layout::stream`], as `%NAME`; how a draw
//! takes an item, between `%TAKE` and `%TAKEN` what the index is if it is random (with `%CLOSED` before `%TAKEN` if the
//! end of the stream can have another index than 0); how it takes one that fits, `%ITEM`, with a branch to `$slow` if
//! there is none; the order of integers, `%ZIGZAG`; how it is recorded,
//! `%RECORD kind %LO lo %HI hi %MORE more %RECORDED`; and how the beginning or the end of a span is, if that leaves
//! room for all draws that there can be: `%MARK head %MARK_LABEL label %MARKED`, behind which `$at` is where the record
//! ends, or 0 if it had no room.

use std::sync::OnceLock;

use anyhow::{Result, bail};
use wasmparser::{ExternalKind, FuncType, FunctionBody, Operator, Parser, Payload, TypeRef};

use crate::layout::stream as s;

/// Functions among the bodies that are not imported, but called by probes.
pub(crate) const OWN: [&str; 3] = ["enter", "leave", "caught"];

/// The functions, as a module of their own.
pub(crate) struct Assembled {
    /// Those that they need from elsewhere, by name.
    pub(crate) imports: Vec<(String, &'static FuncType)>,
    /// The functions; their indices follow those of the imports.
    pub(crate) functions: Vec<Assembly>,
    /// Names of those that the protocol has, and of those that found spans call.
    exports: Vec<(String, u32)>,
    /// The global that says whether draws are recorded, and that which has the start of the area.
    pub(crate) recording: u32,
    pub(crate) start: u32,
}

/// One of the functions.
pub(crate) struct Assembly {
    pub(crate) ty: &'static FuncType,
    pub(crate) body: FunctionBody<'static>,
    /// Whom it calls, in order, each once.
    pub(crate) callees: Vec<u32>,
    /// It is short, and makes no call but one in its place: it can be written where it is called.
    pub(crate) inlined: bool,
}

impl Assembled {
    /// All of them.
    pub(crate) fn get() -> &'static Assembled {
        static ASSEMBLED: OnceLock<Assembled> = OnceLock::new();
        ASSEMBLED.get_or_init(|| Assembled::read().expect("the text is tested"))
    }

    fn read() -> Result<Assembled> {
        let wasm: &'static [u8] = wat::parse_str(text())?.leak();
        let mut types: Vec<&'static FuncType> = Vec::new();
        let mut declared = Vec::new();
        let mut out =
            Assembled { imports: Vec::new(), functions: Vec::new(), exports: Vec::new(), recording: 0, start: 0 };
        let mut globals = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(section) => {
                    for ty in section.into_iter_err_on_gc_types() {
                        types.push(Box::leak(Box::new(ty?)));
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        match import.ty {
                            TypeRef::Func(ty) => out.imports.push((import.name.to_owned(), types[ty as usize])),
                            TypeRef::Global(_) => {
                                let place = if import.name == "start" { &mut out.start } else { &mut out.recording };
                                *place = globals;
                                globals += 1;
                            }
                            _ => {}
                        }
                    }
                }
                Payload::FunctionSection(section) => {
                    for ty in section {
                        declared.push(types[ty? as usize]);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        if export.kind != ExternalKind::Func {
                            bail!("exports something other than a function");
                        }
                        out.exports.push((export.name.to_owned(), export.index));
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let ty = declared[out.functions.len()];
                    let (callees, inlined) = callees(&body)?;
                    out.functions.push(Assembly { ty, callees, inlined, body });
                }
                _ => {}
            }
        }
        Ok(out)
    }

    /// The function with this name, by its index.
    pub(crate) fn export(&self, name: &str) -> Option<u32> {
        self.exports.iter().find(|(other, _)| other == name).map(|&(_, index)| index)
    }

    /// The names that modules can import.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.exports.iter().map(|(name, _)| name.as_str()).filter(|name| !OWN.contains(name))
    }

    /// An export's name.
    pub(crate) fn name(&self, index: u32) -> &str {
        self.exports.iter().find(|&&(_, other)| other == index).map_or("", |(name, _)| name)
    }

    /// Whether a function is one that draws.
    pub(crate) fn draws(&self, index: u32) -> bool {
        let name = self.name(index);
        name.starts_with("draw_") || name == "feature"
    }

    /// Whom a function calls.
    pub(crate) fn callees(&self, index: u32) -> &[u32] {
        (index as usize).checked_sub(self.imports.len()).map_or(&[], |place| &self.functions[place].callees)
    }

    /// A function that can be written where it is called.
    pub(crate) fn inlined(&self, index: u32) -> Option<&Assembly> {
        let place = (index as usize).checked_sub(self.imports.len())?;
        Some(&self.functions[place]).filter(|function| function.inlined)
    }

    /// A function's type.
    pub(crate) fn ty(&self, index: u32) -> &'static FuncType {
        let index = index as usize;
        let imports = self.imports.len();
        if index < imports { self.imports[index].1 } else { self.functions[index - imports].ty }
    }
}

/// Whom a body calls, in order, each once; and whether all that are tail calls.
fn callees(body: &FunctionBody<'_>) -> Result<(Vec<u32>, bool)> {
    let (mut callees, mut calls) = (Vec::new(), false);
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        calls |= matches!(operator, Operator::Call { .. });
        if let Operator::Call { function_index } | Operator::ReturnCall { function_index } = operator {
            callees.push(function_index);
        }
    }
    callees.sort_unstable();
    callees.dedup();
    let inlined = !calls && !callees.is_empty();
    Ok((callees, inlined))
}

/// All of the text, as a module.
fn text() -> String {
    let parts = [
        include_str!("bodies/control.wat"),
        include_str!("bodies/random.wat"),
        include_str!("bodies/numbers.wat"),
        include_str!("bodies/floats.wat"),
        include_str!("bodies/blobs.wat"),
        include_str!("bodies/spans.wat"),
        include_str!("bodies/entries.wat"),
    ];
    let text = format!("(module\n{}\n)", parts.concat());
    // Texts have numbers in them.
    let text = TEXTS.iter().fold(text, |text, (name, with)| replaced(&text, name, with));
    let text = NUMBERS.iter().fold(text, |text, (name, number)| replaced(&text, name, &number.to_string()));
    HASHES.iter().fold(text, |text, (name, number)| replaced(&text, name, &number.to_string()))
}

/// The text with `%name` replaced, where that is all of the name.
fn replaced(text: &str, name: &str, with: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split(name);
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let whole = !piece.starts_with(|next: char| next.is_ascii_uppercase() || next == '_' || next.is_ascii_digit());
        out.push_str(if whole { with } else { name });
        out.push_str(piece);
    }
    out
}

/// What stands for more than a number.
const TEXTS: [(&str, &str); 13] = [
    (
        "%ITEM",
        "(br_if $slow
          (i32.ge_u
            (local.tee $at (i32.load offset=%POSITION (i32.const 0)))
            (i32.load offset=%END (i32.const 0))))
        (local.set $index (i64.load offset=%ITEMS (local.get $at)))
        (br_if $slow (i64.gt_u (local.get $index) (local.get $max)))
        (br_if $slow (i32.load offset=%ITEM_BLOB (local.get $at)))
        (i32.store offset=%POSITION (i32.const 0) (i32.add (local.get $at) (i32.const %ITEM_BYTES)))",
    ),
    (
        "%ZIGZAG",
        "(local.set $lo (i64.sub (local.get $towards) (local.get $lo)))
        (local.set $hi (i64.sub (local.get $hi) (local.get $towards)))
        (local.set $max (select (local.get $lo) (local.get $hi) (i64.lt_u (local.get $lo) (local.get $hi))))
        (if (result i64) (i64.le_u (local.get $index) (i64.shl (local.get $max) (i64.const 1)))
          (then
            (i64.sub
              (local.get $towards)
              (i64.xor
                (i64.shr_u (local.get $index) (i64.const 1))
                (i64.sub (i64.const 0) (i64.and (local.get $index) (i64.const 1))))))
          (else
            (local.set $index (i64.sub (local.get $index) (local.get $max)))
            (select
              (i64.add (local.get $towards) (local.get $index))
              (i64.sub (local.get $towards) (local.get $index))
              (i64.gt_u (local.get $hi) (local.get $lo)))))",
    ),
    (
        "%TAKE",
        "(local.set $at (i32.load offset=%POSITION (i32.const 0)))
        (if (i32.lt_u (local.get $at) (i32.load offset=%END (i32.const 0)))
          (then
            (local.set $index (i64.load offset=%ITEMS (local.get $at)))
            (if (i32.or
                  (i64.gt_u (local.get $index) (local.get $max))
                  (i32.load offset=%ITEM_BLOB (local.get $at)))
              (then
                (local.set $index (call $misfit (local.get $at) (local.get $index) (local.get $max))))))
          (else
            (if (call $goes_on (local.get $at))
              (then (local.set $index",
    ),
    (
        "%CLOSED",
        "))
              (else
                (local.set $index (call $closing (local.get $site) (local.get $max))",
    ),
    (
        "%TAKEN",
        ")))))
        (i32.store offset=%POSITION (i32.const 0) (i32.add (local.get $at) (i32.const %ITEM_BYTES)))",
    ),
    (
        "%RECORD",
        "(if (global.get $recording)
          (then
            (local.set $at (i32.load offset=%RECORDS_USED (i32.const 0)))
            (i64.store offset=%RECORD_INDEX (local.get $at) (local.get $index))
            (i64.store offset=%RECORD_HEAD (local.get $at)
              (i64.or
                (i64.shl (i64.extend_i32_u (local.get $site)) (i64.const 32))
                (i64.const",
    ),
    ("%LO", "))) (i64.store offset=%RECORD_LO (local.get $at)"),
    ("%HI", ") (i64.store offset=%RECORD_HI (local.get $at)"),
    ("%MORE", ") (i64.store offset=%RECORD_MORE (local.get $at)"),
    (
        "%RECORDED",
        ")
        (i32.store offset=%RECORDS_USED (i32.const 0)
          (i32.add (local.get $at) (i32.const %RECORD_BYTES)))))",
    ),
    (
        "%MARK",
        "(local.set $at (i32.load offset=%RECORDS_USED (i32.const 0)))
        (if (i32.lt_u (local.get $at) (i32.const %SPANS_BYTES))
          (then
            (i64.store offset=%RECORD_HEAD (local.get $at)",
    ),
    ("%MARK_LABEL", ") (i64.store offset=%RECORD_INDEX (local.get $at)"),
    (
        "%MARKED",
        ")
            (local.set $at (i32.add (local.get $at) (i32.const %RECORD_BYTES)))
            (i32.store offset=%RECORDS_USED (i32.const 0) (local.get $at)))
          (else
            (i32.store offset=%SPANS_LOST (i32.const 0) (i32.const 1))
            (local.set $at (i32.const 0))))",
    ),
];

/// Numbers for hashes.
const HASHES: [(&str, u64); 3] = [
    ("%LABEL_HASH", s::LABEL_HASH),
    ("%LABEL_HASH_PRIME", s::LABEL_HASH_PRIME),
    ("%REPORT_HASH", s::label_hash(s::REPORT_NAME.as_bytes())),
];

/// Numbers, by name.
const NUMBERS: [(&str, u32); 83] = [
    ("%STATUS", s::STATUS),
    ("%REJECTED", s::REJECTED),
    ("%FAILED", s::FAILED),
    ("%OVERRUN", s::OVERRUN),
    ("%STOPPED", s::STOPPED),
    ("%MISUSED", s::MISUSED),
    ("%POSITION", s::POSITION),
    ("%END", s::END),
    ("%MISALIGNED", s::MISALIGNED),
    ("%TAIL", s::TAIL),
    ("%TAIL_STOP", s::TAIL_STOP),
    ("%WRAP", s::WRAP),
    ("%RANDOM_END", s::RANDOM_END),
    ("%RECORDS_USED", s::RECORDS_USED),
    ("%RNG", s::RNG),
    ("%BLOBS_USED", s::BLOBS_USED),
    ("%DEPTH", s::DEPTH),
    ("%ENTRIES_USED", s::ENTRIES_USED),
    ("%ENTRIES_LOST", s::ENTRIES_LOST),
    ("%SPANS_LOST", s::SPANS_LOST),
    ("%FEATURES_USED", s::FEATURES_USED),
    ("%SWARM", s::SWARM),
    ("%REPORT", s::REPORT),
    ("%FEATURES", s::FEATURES),
    ("%FEATURES_MAX", s::FEATURES_MAX),
    ("%ASKED", s::ASKED),
    ("%CLOSINGS_END", s::CLOSINGS_END),
    ("%CLOSINGS", s::CLOSINGS),
    ("%DEPTHS", s::DEPTHS),
    ("%COUNTS", s::COUNTS),
    ("%ITEMS", s::ITEMS),
    ("%ITEM_BLOB", s::ITEMS + 8),
    ("%ITEM_BYTES", s::ITEM_BYTES),
    ("%ITEM_LOG2", s::ITEM_BYTES.ilog2()),
    ("%ITEMS_BYTES", s::CHOICES_MAX * s::ITEM_BYTES),
    ("%BLOBS_IN", s::BLOBS_IN),
    ("%BLOBS_OUT", s::BLOBS_OUT),
    ("%BLOBS_BYTES", s::BLOBS_BYTES),
    ("%ENTRIES", s::ENTRIES),
    ("%ENTRY_LEN", s::ENTRIES + 4),
    ("%ENTRY_A", s::ENTRIES + 8),
    ("%ENTRY_B", s::ENTRIES + 16),
    ("%ENTRY_SITE", s::ENTRIES + 24),
    ("%ENTRY_DRAWS", s::ENTRIES + 28),
    ("%ENTRIES_TEXT", s::ENTRIES + s::ENTRY_HEAD),
    ("%ENTRY_HEAD", s::ENTRY_HEAD),
    ("%ENTRIES_BYTES", s::ENTRIES_BYTES),
    ("%ENTRIES_LIMIT", s::ENTRIES_LIMIT),
    ("%LABEL_MAX", s::LABEL_MAX),
    ("%NOTE_MAX", s::NOTE_MAX),
    ("%WEIGHTS_MAX", s::WEIGHTS_MAX),
    ("%RANGES_MAX_LESS_1", s::RANGES_MAX - 1),
    ("%RECORD_HEAD", s::RECORDS),
    ("%RECORD_INDEX", s::RECORDS + 8),
    ("%RECORD_LO", s::RECORDS + 16),
    ("%RECORD_HI", s::RECORDS + 24),
    ("%RECORD_MORE", s::RECORDS + 32),
    ("%RECORD_BYTES", s::RECORD_BYTES),
    ("%SPANS_BYTES", s::SPANS_BYTES),
    ("%KIND_INT", s::KIND_INT as u32),
    ("%KIND_UINT", s::KIND_UINT as u32),
    ("%KIND_BOOL", s::KIND_BOOL as u32),
    ("%KIND_CHOICE", s::KIND_CHOICE as u32),
    ("%KIND_F64", s::KIND_F64 as u32),
    ("%KIND_BYTES", s::KIND_BYTES as u32),
    ("%KIND_STR", s::KIND_STR as u32),
    ("%KIND_MORE", s::KIND_MORE as u32),
    ("%KIND_PAYLOAD", s::KIND_PAYLOAD as u32),
    ("%KIND_BEGIN", s::KIND_BEGIN as u32),
    ("%KIND_END", s::KIND_END as u32),
    ("%KIND_ENTER", s::KIND_ENTER as u32),
    ("%KIND_LEAVE", s::KIND_LEAVE as u32),
    ("%KIND_CATCH", s::KIND_CATCH as u32),
    ("%ENTRY_EVENT", s::ENTRY_EVENT),
    ("%ENTRY_TARGET", s::ENTRY_TARGET),
    ("%ENTRY_KEYFRAME", s::ENTRY_KEYFRAME),
    ("%ENTRY_NAME", s::ENTRY_NAME),
    ("%NAME_KEYFRAME", s::NAME_KEYFRAME),
    ("%ENTRY_NOTE", s::ENTRY_NOTE),
    ("%ENTRY_VALUE", s::ENTRY_VALUE),
    ("%ENTRY_FEATURE", s::ENTRY_FEATURE),
    ("%ENTRY_REJECT", s::ENTRY_REJECT),
    ("%ENTRY_FAIL", s::ENTRY_FAIL),
];
