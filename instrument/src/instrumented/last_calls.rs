//! What functions were given, of those that [`Options::arguments`](crate::Options::arguments) names.

use crate::layout::{CALLED, CALLED_PARAMS, CALLED_SLOT_BYTES, CALLED_SLOTS, CALLED_START};

/// A function that was entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Its index.
    pub function: u32,
    /// Its first parameters, 7 at most: integers as they are, 0 for all others.
    pub params: Vec<u64>,
}

/// The functions that were entered last, the last one first, 16 at most. `injected` is the content of the injected
/// memory.
///
/// ```
/// # use fuzzbox_instrument::{Options, called, instrument};
/// let module = r#"(module (func $fail (param i32 i64)) (func (export "f") i32.const 7 i64.const 8 call $fail))"#;
/// let mut options = Options::default();
/// options.arguments = Some(|name| name == "fail");
/// let new = instrument(&wat::parse_str(module)?, &options)?;
/// let memory = vec![0; new.injected.pages as usize * 65_536]; // from an instance
/// for call in called(&memory) {
///     println!("{}: {:?}", call.function, call.params);
/// }
/// # anyhow::Ok(())
/// ```
pub fn called(injected: &[u8]) -> Vec<Called> {
    let chunk = |at: u32| injected.get(at as usize..).and_then(|bytes| bytes.first_chunk());
    let narrow = |at| chunk(at).map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let wide = |at: u32| {
        injected.get(at as usize..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let count = narrow(CALLED);
    let last = (0..count.min(CALLED_SLOTS)).map(|back| (count - back) % CALLED_SLOTS);
    let read = |slot| {
        let start = CALLED_START + slot * CALLED_SLOT_BYTES;
        let count = narrow(start + 4).min(CALLED_PARAMS);
        let params = (1..=count).map(|param| wide(start + 8 * param)).collect();
        Called { function: narrow(start), params }
    };
    last.map(read).collect()
}
