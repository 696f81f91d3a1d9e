//! What functions are called: names are a convenience, so nothing here fails.

use wasmparser::{BinaryReader, Name, NameSectionReader};

use crate::module::sections::custom_sections;

/// The longest name that is kept, in bytes; mangled names of generic code can be very long, and they go into reports.
const NAME_BYTES_MAX: usize = 1 << 16;

/// Whether a custom section with this content, its name included, names functions.
pub(crate) fn is_name_section(content: &[u8]) -> bool {
    BinaryReader::new(content, 0).read_unlimited_string().is_ok_and(|name| name == "name")
}

/// Function names by index, the best source first: whoever names a function first wins.
#[derive(Default)]
pub(crate) struct Names {
    names: Vec<Option<String>>,
}

impl Names {
    /// Starts with `functions` unnamed functions, and takes what the module's name section says.
    pub(crate) fn new(wasm: &[u8], functions: usize) -> Names {
        let mut names = Names { names: vec![None; functions] };
        for (_, content) in custom_sections(wasm).filter(|(name, _)| *name == "name") {
            names.read(content);
        }
        names
    }

    /// Reads a name section as far as it is well-formed.
    fn read(&mut self, content: &[u8]) {
        for subsection in NameSectionReader::new(BinaryReader::new(content, 0)).map_while(Result::ok) {
            if let Name::Function(map) = subsection {
                for naming in map.map_while(Result::ok) {
                    self.propose(naming.index, naming.name.to_owned());
                }
            }
        }
    }

    /// Names a function unless it has a name.
    pub(crate) fn propose(&mut self, index: u32, mut name: String) {
        if let Some(slot @ None) = self.names.get_mut(index as usize) {
            name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
            *slot = Some(name);
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Option<String>> {
        self.names
    }
}
