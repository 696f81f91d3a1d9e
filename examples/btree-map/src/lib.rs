//! A B-tree map does what the map of the standard library does. Almost.

pub mod btree;
#[cfg(test)]
mod minimum;

use btree::Map;
use fuzzbox_guest::{Generate, property};
use std::collections::BTreeMap;

/// Something that is done to a map.
#[derive(Clone, Debug, Generate)]
pub enum Action {
    /// Adds an entry, twice as often as one is removed.
    #[generate(weight = 2)]
    Insert {
        /// Few keys, so that they meet again.
        #[generate(with = |source| source.int(0..=31))]
        key: u8,
        /// Any.
        value: u8,
    },
    /// Removes an entry if it is there.
    Remove {
        /// Of the same keys.
        #[generate(with = |source| source.int(0..=31))]
        key: u8,
    },
}

property! {
    /// Both maps give the same answers and have the same entries, whatever was done to them.
    #[should_panic(expected = "the entries")]
    pub fn agrees_with_model(source) {
        let (mut map, mut model) = (Map::default(), BTreeMap::new());
        source.begin(fuzzbox_guest::label("actions"));
        while source.more_averaging(.., 40.0) {
            let action: Action = source.draw();
            source.note_value("do", &action);
            match action {
                Action::Insert { key, value } => {
                    assert_eq!(map.insert(key, value), model.insert(key, value), "what inserting gives back");
                }
                Action::Remove { key } => {
                    assert_eq!(map.remove(key), model.remove(&key), "what removing gives back");
                }
            }
            assert_eq!(map.len(), model.len(), "the length");
            let entries: Vec<(u8, u8)> = model.iter().map(|(key, value)| (*key, *value)).collect();
            assert_eq!(map.entries(), entries, "the entries");
            assert!(model.keys().all(|&key| map.get(key).is_some()), "a key is not found");
        }
        source.end(false);
    }
}
