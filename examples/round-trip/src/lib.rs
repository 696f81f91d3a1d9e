//! What is encoded and decoded again is what it was. Almost.

pub mod codec;

use fuzzbox_guest::{Generate, Source, Value, label, property, text};

/// What the encoding is for.
#[derive(Clone, Debug, PartialEq, Generate, Value)]
pub enum Data {
    /// Nothing.
    Unit,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(i64),
    /// A text.
    Text(#[generate(with = name)] String),
    /// Several.
    List(Vec<Data>),
    /// Several with names.
    Record(Vec<Field>),
}

/// Part of a record.
#[derive(Clone, Debug, PartialEq, Generate, Value)]
pub struct Field {
    /// Up to three letters.
    #[generate(with = name)]
    pub name: String,
    /// What it is.
    pub data: Data,
}

fn name(source: &mut Source) -> String {
    source.span(label("round_trip::name"), |source| source.string_of(text::LOWER, ..=3))
}

property! {
    /// In two parts, so that a failure is kept as a value.
    #[should_panic(expected = "came back as")]
    pub fn comes_back(source) -> Data {
        source.draw()
    }
    check(data) {
        let bytes = codec::encode(&data);
        let back = codec::decode(&bytes);
        assert!(back.as_ref() == Some(&data), "{data:?} came back as {back:?}, by {bytes:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuzzbox_guest::native::{Choice, run};
    use fuzzbox_guest::value::{from_bytes, to_bytes};

    /// `Record([Field { name: "aa", data: Text("aa") }])`: the variant, one field, its name, the variant, its text, no more.
    fn smallest() -> Vec<Choice> {
        let aa = || Choice::Blob(vec![0, 0]);
        vec![Choice::Index(5), Choice::Index(1), aa(), Choice::Index(3), aa(), Choice::Index(0)]
    }

    #[test]
    fn a_text_like_a_name_is_the_smallest_that_does_not_come_back() {
        let run = run(smallest().into(), comes_back);
        assert!(run.outcome.is_failure() && run.misaligned.is_none(), "{run:?}");
        let value = run.value.expect("the first part gave it away");
        let text = || String::from("aa");
        let data = Data::Record(vec![Field { name: text(), data: Data::Text(text()) }]);
        assert_eq!(from_bytes::<Data>(&value.bytes), Some(data.clone()));
        assert_eq!(value.bytes, to_bytes(&data));
    }

    #[test]
    fn what_does_not_repeat_a_name_comes_back() {
        let text = |text: &str| Data::Text(text.into());
        let data = Data::List(vec![
            text("abc"),
            Data::Record(vec![Field { name: "ab".into(), data: Data::Number(i64::MIN) }]),
            text("abc"),
            Data::Flag(true),
            text(""),
        ]);
        assert_eq!(codec::decode(&codec::encode(&data)), Some(data));
    }
}
