//! Records of findings.

#[path = "../../../../host/src/store/finding/readme.rs"]
mod readme;
#[path = "../../../../host/src/store/finding/record.rs"]
mod record;
#[path = "../../../../host/src/store/seal.rs"]
mod seal;

pub use record::{FindingRecord, Former};

use crate::symbols::unresolved;
use crate::text;
use readme::readme;
use record::Parsed;
use serde_json::Value;

/// Reads a record as it is, and with the checksum that whoever means harm gives it.
pub(crate) fn finding(data: &[u8]) {
    if let Ok(Parsed::Record(record)) = FindingRecord::parse(data) {
        check(*record);
    }
    let Ok(value @ Value::Object(_)) = serde_json::from_slice(data) else { return };
    let Ok(sealed) = seal::seal(&value) else { return };
    match FindingRecord::parse(sealed.as_bytes()) {
        Ok(Parsed::Record(record)) => check(*record),
        Ok(Parsed::Future(version)) => assert!(version > FindingRecord::VERSION),
        // Its members are not those of a record, or their values are of other types.
        Err(_) => {}
    }
}

fn check(record: FindingRecord) {
    // Numbers with a fraction may be read as their neighbours.
    let record = FindingRecord { settings: Value::Null, ..record };
    let sealed = record.sealed().expect("it is a map");
    match FindingRecord::parse(sealed.as_bytes()) {
        Ok(Parsed::Record(again)) => assert_eq!(*again, record),
        other => panic!("{other:?}"),
    }
    let readme = readme(&record);
    assert!(!readme.contains(|c: char| c.is_control() && c != '\n'), "{readme:?}");
    assert!(unresolved(&record.frames).len() <= record.frames.len());
    assert!(record.signature().is_same(&record.signature()));
    let said = record.said.iter().flat_map(|said| said.lines(None).into_iter().chain(said.summary(None)));
    said.for_each(|line| assert!(line.chars().all(text::is_printable), "{line:?}"));
}
