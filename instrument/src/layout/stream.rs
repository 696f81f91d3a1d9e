//! Where things are in the area of the choice stream, in bytes from its start, which
//! [`Injected::stream`](crate::Injected::stream) says.
//!
//! ```text
//! 0           4 KiB            64 KiB     +1 MiB     +1 MiB      +1 MiB    +1 MiB     +64 KiB
//! | control    | counts    | 0 | items     | blobs in | blobs out | entries | closings | records ... |
//! ```
//!
//! An area of zeros is the empty stream, on which zeros follow. Before an execution, the host writes [`END`], [`TAIL`],
//! [`WRAP`], [`RANDOM_END`], [`RNG`], [`REPORT`], [`CLOSINGS_END`], items and blobs, and the closings if they are not
//! there from an execution before; all else is zero.
//!
//! - An **item** is what the stream has for one draw: [`ITEM_BYTES`], of which the first eight are an index, or the length of a blob.
//!   The next four are 0 for an index; for a blob, where it starts in *blobs in*, plus 1.
//! - **Counts** are how many elements the collections of the open spans have, four bytes each, that of no span first.
//! - An **entry** is what the guest told: kind (`u32`), length of its text in bytes (`u32`), two numbers of eight bytes, the call site
//!   (`u32`), how many draws there were before (`u32`), the text. The next one starts at a multiple of 8.
//! - A **closing** is a byte for each call site, by its number: the index that a draw takes there where items and random draws have ended, if
//!   the site is below [`CLOSINGS_END`], the index possible, and the guest has not asked how many draws are left. Otherwise, and for numbers of other
//!   kinds than integers, booleans, alternatives and collections, that is 0.
//! - A **record** is a draw, or where a span begins or ends: five numbers of eight bytes. The first is the kind, and 2^32 times the call
//!   site; the others are:
//!
//! | kind | index | lo | hi | more |
//! | --- | --- | --- | --- | --- |
//! | int, uint | index | least | largest | the value of index 0 |
//! | bool | index | probability of 1 in 2^-32 | largest index | |
//! | choice, payload | index | 0 | largest index | |
//! | more | index | least elements | most elements | largest index |
//! | f64 | index | least, as bits | largest, as bits | flags |
//! | bytes | length | least | largest | where in *blobs out* |
//! | str | length of the blob | least scalars | most scalars | where in *blobs out*; 2^32 times how many scalars the alphabet has |
//! | span begins, ends | label, flags | | | |
//! | found span begins | label | | | |
//! | found span ends, catches | where the record of its beginning ends | | | |

/// How many choices an execution may draw.
pub const CHOICES_MAX: u32 = 1 << 16;

/// How many bytes the blobs that it draws may have together, and those that it is given.
pub const BLOBS_BYTES: u32 = 1 << 20;

/// How many spans may be open at a time, less 1 for that of none.
pub const DEPTHS: u32 = 1 << 12;

/// The most alternatives that may have weights.
pub const WEIGHTS_MAX: u32 = 1 << 12;

/// The most ranges that an alphabet may have.
pub const RANGES_MAX: u32 = 1 << 8;

/// The most bytes of a label or a reason that are kept.
pub const LABEL_MAX: u32 = 1 << 10;

/// The hash of a label without bytes.
pub const LABEL_HASH: u64 = 0xcbf2_9ce4_8422_2325;

/// What that hash is multiplied with for each byte.
pub const LABEL_HASH_PRIME: u64 = 0x0100_0000_01b3;

/// A hash that tells labels and names apart: 64-bit FNV-1a (Fowler, Noll and Vo).
pub const fn label_hash(text: &[u8]) -> u64 {
    let (mut hash, mut at) = (LABEL_HASH, 0);
    while at < text.len() {
        hash = (hash ^ text[at] as u64).wrapping_mul(LABEL_HASH_PRIME);
        at += 1;
    }
    hash
}

/// The name of the feature by which a guest asks whether what it reports is read. It is drawn by nobody; [`REPORT`]
/// says.
pub const REPORT_NAME: &str = "fuzzbox:report";

/// The most bytes of a note that are kept.
pub const NOTE_MAX: u32 = 1 << 16;

/// Why the execution ended, a `u32`; 0 if that has nothing to do with the protocol.
pub const STATUS: u32 = 0;

/// The guest rejected what it drew, or an assumption did not hold.
pub const REJECTED: u32 = 1;

/// The guest said that it failed.
pub const FAILED: u32 = 2;

/// The guest drew more than [`CHOICES_MAX`] or [`BLOBS_BYTES`], or opened more spans than there may be.
pub const OVERRUN: u32 = 3;

/// The stream was used up, and nothing was to follow.
pub const STOPPED: u32 = 4;

/// The guest asked for what there can't be: bounds in the wrong order, no alternatives, or the like.
pub const MISUSED: u32 = 5;

/// Where the next item is, a `u32` in bytes from the first: the choices that were drawn, times [`ITEM_BYTES`].
pub const POSITION: u32 = 4;

/// Where the items end that the host wrote, likewise.
pub const END: u32 = 8;

/// The first item that did not fit what was drawn, plus 1; 0 if all did.
pub const MISALIGNED: u32 = 12;

/// What follows where items and random draws end, a `u32`: 0 for zeros, or [`TAIL_STOP`].
pub const TAIL: u32 = 16;

/// The execution stops with [`STOPPED`].
pub const TAIL_STOP: u32 = 1;

/// Whether an index beyond what is possible counts round, a `u32`; otherwise it is 0.
pub const WRAP: u32 = 20;

/// Draws behind the items and up to this position, in bytes as [`POSITION`], are random.
pub const RANDOM_END: u32 = 24;

/// How many bytes of records there are.
pub const RECORDS_USED: u32 = 28;

/// The state of the random numbers, four `u64`.
pub const RNG: u32 = 32;

/// How many bytes of blobs were drawn.
pub const BLOBS_USED: u32 = 64;

/// How many spans are open that the guest told.
pub const DEPTH: u32 = 68;

/// How many bytes of entries there are.
pub const ENTRIES_USED: u32 = 72;

/// Whether an entry had no room.
pub const ENTRIES_LOST: u32 = 76;

/// Whether a span had no room.
pub const SPANS_LOST: u32 = 80;

/// How many features were asked for, a `u32`.
pub const FEATURES_USED: u32 = 84;

/// Whether features are switched off at random in this execution (swarm testing), a `u32`: 0 before that is decided, 1
/// if they are not, 2 if they are.
pub const SWARM: u32 = 88;

/// What [`REPORT_NAME`] is answered, a `u32`.
pub const REPORT: u32 = 92;

/// Whether the guest asked how many draws are left, a `u32`: then the length of the stream is part of what it was told.
pub const ASKED: u32 = 96;

/// How many call sites have a closing that counts, a `u32`, that of calls by reference included.
pub const CLOSINGS_END: u32 = 100;

/// Where the features are that were asked for, eight bytes each: the hash of the name, in which the lowest bit is the
/// answer.
pub const FEATURES: u32 = 1 << 10;

/// How many features there can be; all others are enabled.
pub const FEATURES_MAX: u32 = 128;

/// Where the counts are.
pub const COUNTS: u32 = 1 << 12;

/// Where the items are.
pub const ITEMS: u32 = 1 << 16;

/// The size of an item.
pub const ITEM_BYTES: u32 = 16;

/// Where the blobs are that the host wrote.
pub const BLOBS_IN: u32 = ITEMS + CHOICES_MAX * ITEM_BYTES;

/// Where the blobs are that were drawn.
pub const BLOBS_OUT: u32 = BLOBS_IN + BLOBS_BYTES;

/// Where the entries are.
pub const ENTRIES: u32 = BLOBS_OUT + BLOBS_BYTES;

/// How many bytes of entries there can be.
pub const ENTRIES_BYTES: u32 = 1 << 20;

/// The size of an entry without its text.
pub const ENTRY_HEAD: u32 = 32;

/// The last part of the entries is kept free for the reason why an execution ends.
pub const ENTRIES_LIMIT: u32 = ENTRIES_BYTES - ENTRY_HEAD - LABEL_MAX;

/// Where the closings are.
pub const CLOSINGS: u32 = ENTRIES + ENTRIES_BYTES;

/// How many call sites can have a closing, one byte each.
pub const CLOSINGS_MAX: u32 = 1 << 16;

/// Where the records are, if draws are recorded.
pub const RECORDS: u32 = CLOSINGS + CLOSINGS_MAX;

/// The size of a record.
pub const RECORD_BYTES: u32 = 40;

/// Spans are recorded up to here: behind it there is room for all draws.
pub const SPANS_BYTES: u32 = 2 * CHOICES_MAX * RECORD_BYTES;

/// The size of the area, without records and with them.
pub const BYTES: u32 = RECORDS;

/// See [`BYTES`].
pub const BYTES_WITH_RECORDS: u32 = RECORDS + SPANS_BYTES + CHOICES_MAX * RECORD_BYTES;

/// The kinds of records. Those of draws come first.
pub const KIND_INT: u8 = 1;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_UINT: u8 = 2;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_BOOL: u8 = 3;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_CHOICE: u8 = 4;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_F64: u8 = 5;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_BYTES: u8 = 6;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_STR: u8 = 7;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_MORE: u8 = 8;
#[expect(missing_docs, reason = "named after the imports")]
pub const KIND_PAYLOAD: u8 = 9;
/// `span_begin`.
pub const KIND_BEGIN: u8 = 10;
/// `span_end`.
pub const KIND_END: u8 = 11;
/// A function or an iteration begins.
pub const KIND_ENTER: u8 = 12;
/// It ends.
pub const KIND_LEAVE: u8 = 13;
/// A function has caught an exception: all spans that were found inside its own end.
pub const KIND_CATCH: u8 = 14;

/// The kind of names that key frames have, in `name`.
pub const NAME_KEYFRAME: u32 = 1;

/// The kinds of entries, named after the imports.
pub const ENTRY_EVENT: u32 = 1;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_TARGET: u32 = 2;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_KEYFRAME: u32 = 3;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_NAME: u32 = 4;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_NOTE: u32 = 5;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_VALUE: u32 = 6;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_FEATURE: u32 = 7;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_REJECT: u32 = 8;
#[expect(missing_docs, reason = "named after the imports")]
pub const ENTRY_FAIL: u32 = 9;
