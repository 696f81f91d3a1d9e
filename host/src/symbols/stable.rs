//! Names that the next build has too: of functions, and of places in them.
//!
//! | what | by | example |
//! | --- | --- | --- |
//! | a function | its name, from the module or else from debug information | `parse_value` |
//! | a nameless function | its [fingerprint](fuzzbox_instrument::identity), no linker numbers | `func[5d03ac91]` |
//! | a place whose line is known | the lines below the first of its function | `parse_value:+14` |
//! | a place in a file other than the function's | file and line | `parse_value:tokens.inc:7` |
//! | any other place | how many instructions of the function are before it | `parse_value@42` |
//!
//! So a function that is added in front changes neither: not numbers of functions, not lines that are counted from the
//! function's own first one, and not instructions, whatever the numbers in them take to be written.

use super::is_library;
use super::{Place, Symbols, demangle, simplify};
use crate::outcome::Frame;
use fuzzbox_instrument::identity::Identity;
use wasmparser::{BinaryReader, FunctionBody};

/// Digits of fingerprints that are shown. As many functions as the largest programs have share them once in a while;
/// that their failures then agree in all else, too, is left to chance.
const FINGERPRINT_DIGITS: usize = 8;

/// An active call by names that stay. One that was inlined is a call too, if that is known.
#[derive(Clone, Debug)]
pub(crate) struct StableCall {
    /// The function's simplified name.
    pub(crate) name: String,
    /// Whether it is a library's.
    pub(crate) is_library: bool,
    /// Whether it is a frame of its own, and not inlined in the next.
    pub(crate) is_frame: bool,
    frame: Frame,
    place: Option<Place>,
}

impl Symbols {
    /// Names the calls of `frames`, innermost first; with `lines`, as far as debug information helps.
    pub(crate) fn stable_calls(&self, frames: &[Frame], lines: bool) -> Vec<StableCall> {
        if !lines {
            return frames.iter().map(|frame| self.plain_call(*frame)).collect();
        }
        let places = self.find_places(frames);
        let calls = frames.iter().flat_map(|frame| match places.get(&frame.offset).map(Vec::as_slice) {
            None | Some([]) => vec![self.plain_call(*frame)],
            Some(places) => self.placed_calls(*frame, places),
        });
        calls.collect()
    }

    /// Whether the module says what a function is called.
    pub(crate) fn has_name(&self, function: u32) -> bool {
        self.named(function).is_some()
    }

    /// Where a call is in its function: `:+14`, `@42`, or nothing if the frame is no function's.
    pub(crate) fn stable_place(&self, call: &StableCall) -> String {
        match &call.place {
            Some(Place { below: Some(below), .. }) => format!(":{below:+}"),
            // A line of a function that begins nobody knows where moves with all that is in front.
            Some(Place { exact: true, is_elsewhere: true, file: Some(file), line: Some(line), .. }) => {
                format!(":{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file))
            }
            _ => self.instruction(call.frame).map_or_else(String::new, |number| format!("@{number}")),
        }
    }

    fn plain_call(&self, frame: Frame) -> StableCall {
        let name = match self.named(frame.function) {
            Some(_) => self.simple_name(frame.function).into_owned(),
            None => self.fingerprint(frame.function),
        };
        StableCall {
            is_library: is_library(&self.name(frame.function), None),
            name,
            is_frame: true,
            frame,
            place: None,
        }
    }

    fn placed_calls(&self, frame: Frame, places: &[Place]) -> Vec<StableCall> {
        let outermost = places.len() - 1;
        let call = |(depth, place): (usize, &Place)| {
            let plain = self.plain_call(frame);
            let own = self.named(frame.function).is_some() && depth == outermost;
            let name = match &place.function {
                _ if own => plain.name,
                Some(name) => simplify(&demangle(name)),
                None if depth == outermost => plain.name,
                None => "(inlined)".to_owned(),
            };
            let is_library = is_library(&name, place.file.as_deref());
            StableCall { name, is_library, is_frame: depth == outermost, frame, place: Some(place.clone()) }
        };
        places.iter().enumerate().map(call).collect()
    }

    /// What a function without a name is called.
    fn fingerprint(&self, function: u32) -> String {
        let identity = self.identity.get_or_init(|| Identity::of(&self.module).ok());
        let Some((fingerprint, copy)) = identity.as_ref().and_then(|identity| identity.nameless(function)) else {
            return self.name(function).into_owned();
        };
        let mut digits = fingerprint.to_string();
        digits.truncate(FINGERPRINT_DIGITS);
        if copy == 0 { format!("func[{digits}]") } else { format!("func[{digits}.{copy}]") }
    }

    /// How many instructions are before a frame's in its function.
    fn instruction(&self, frame: Frame) -> Option<usize> {
        let range = self.code.body(frame.function).filter(|body| body.contains(&frame.offset))?;
        let body = self.module.get(range.start as usize..range.end as usize)?;
        let mut operators =
            FunctionBody::new(BinaryReader::new(body, range.start.into())).get_operators_reader().ok()?;
        let mut number = 0;
        while operators.original_position() < u64::from(frame.offset) && operators.read().is_ok() {
            number += 1;
        }
        Some(number)
    }
}
