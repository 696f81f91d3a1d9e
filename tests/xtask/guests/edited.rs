//! Programs as they are and after edits of a line or two, each with two bugs, of which some edits mend one: what shows
//! how much is left of what was learned from a build when the next one comes (`xtask survival`).

use super::recipe::{C, Entry, MD4C, MIB, Package, SQLITE3};
use super::{clang, debian, recompile};
use crate::{cache, workspace};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// A file below the program's sources, and what is replaced in it by what.
type Replaced = (&'static str, &'static str, &'static str);

/// A program that is edited.
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// How its library is called, if it has no harness.
    pub call: Option<&'static str>,
    /// Inputs that show its bugs.
    pub failing: &'static [&'static [u8]],
    /// The bug that stays, and the one that some edits mend.
    bugs: [Replaced; 2],
    sources: Sources,
}

enum Sources {
    /// Of Debian, with edits in a table.
    Package { package: Package, home: &'static str, edits: &'static [Edit] },
    /// In tests/guests/recompile, with edits as patches.
    Own(&'static str),
}

/// An edit of a package.
struct Edit {
    name: &'static str,
    replaced: &'static [Replaced],
    flags: &'static [&'static str],
}

/// A build of a program.
pub struct Build {
    /// The edit; empty for the program as it was.
    pub edit: String,
    /// The module's file.
    pub module: PathBuf,
}

const FLAGS: &[&str] = &["-O2", "-g"];

const fn edit(name: &'static str, replaced: &'static [Replaced]) -> Edit {
    Edit { name, replaced, flags: FLAGS }
}

/// All programs.
pub static PROGRAMS: &[Program] = &[
    Program {
        name: "c",
        call: None,
        failing: &[b"a = 1\nb = 2\nc = 3\n", b"a = 1\nb = 2\n"],
        bugs: [
            ("store.c", "    qsort(sorted", "    if (n == 3) __builtin_trap();\n    qsort(sorted"),
            ("store.c", "    count = 0;", "    if (count == 2) __builtin_trap();\n    count = 0;"),
        ],
        sources: Sources::Own("c"),
    },
    Program {
        name: "rust",
        call: Some("p = allocate(len); write(p, input); run(p, len)"),
        failing: &[b"all\n", b"hole 7\n"],
        bugs: [
            (
                "src/scene.rs",
                "[\"sum\"] =>",
                "[\"all\"] => core::arch::wasm32::unreachable(),\n            [\"sum\"] =>",
            ),
            ("src/shape.rs", "\"circle\" =>", "\"hole\" => core::arch::wasm32::unreachable(),\n        \"circle\" =>"),
        ],
        sources: Sources::Own("rust"),
    },
    Program {
        name: "md4c",
        call: None,
        failing: &[b"\0\0\0\0a\n========\n", b"\0\x01\0\0a|b|c\n---|---|---\n1|2|3\n"],
        bugs: [
            (
                "md4c.c",
                "    *p_level = (CH(beg) == _T('=')",
                "    if(off - beg >= 7) __builtin_trap();\n    *p_level = (CH(beg) == _T('=')",
            ),
            (
                "md4c.c",
                "    *p_col_count = col_count;",
                "    if(col_count == 3) __builtin_trap();\n    *p_col_count = col_count;",
            ),
        ],
        sources: Sources::Package { package: MD4C, home: "tests/guests/md4c", edits: MD4C_EDITS },
    },
    Program {
        name: "sqlite3",
        call: None,
        failing: &[b"SELECT abs(-777);", b"SELECT upper('abcde');"],
        bugs: [
            (
                "sqlite3.c",
                "static void absFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n",
                "static void absFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n  if( sqlite3_value_int(argv[0])==-777 ) __builtin_trap();\n",
            ),
            (
                "sqlite3.c",
                "static void upperFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n",
                "static void upperFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n  if( sqlite3_value_bytes(argv[0])==5 ) __builtin_trap();\n",
            ),
        ],
        sources: Sources::Package { package: SQLITE3, home: "tests/guests/sqlite3", edits: SQLITE3_EDITS },
    },
];

const MD4C_EDITS: &[Edit] = &[
    edit("01-constant", &[("md4c.c", "label_len > 63", "label_len > 31")]),
    edit(
        "02-function-before",
        &[
            (
                "md4c.c",
                "static int\nmd_is_hr_line(",
                "static __attribute__((noinline)) int\nmd_least(volatile int n)\n{\n    return n ^ 1;\n}\n\nstatic int\nmd_is_hr_line(",
            ),
            ("md4c.c", "    if(n < 3) {", "    if(n < md_least(2)) {"),
        ],
    ),
    edit(
        "03-function-after",
        &[
            (
                "md4c.c",
                "static int\nmd_is_opening_code_fence(",
                "static __attribute__((noinline)) int\nmd_fence(volatile int n)\n{\n    return n ^ 1;\n}\n\nstatic int\nmd_is_opening_code_fence(",
            ),
            (
                "md4c.c",
                "    if(off - beg < 3)\n        return FALSE;\n\n    ctx->code_fence_length",
                "    if(off - beg < md_fence(2))\n        return FALSE;\n\n    ctx->code_fence_length",
            ),
        ],
    ),
    edit(
        "04-body",
        &[(
            "md4c.c",
            "    if(1 <= off - beg  &&  off - beg <= 6) {",
            "    if(text[beg] == _T('0'))\n        return FALSE;\n    if(1 <= off - beg  &&  off - beg <= 6) {",
        )],
    ),
    edit("05-renamed", &[("md4c.c", "md_is_atxheader_line", "md_is_heading")]),
    Edit { name: "06-other-optimisation", replaced: &[], flags: &["-O1", "-g"] },
    edit("07-string", &[("md4c-html.c", "\"<strong>\"", "\"<strong class='b'>\"")]),
    edit("08-mended", MENDED_ALONE),
    edit("09-mended-and-body", &[("md4c.c", "label_len > 63", "label_len > 40 || label_len == 9")]),
    edit(
        "10-inlined",
        &[(
            "md4c.c",
            "static int\nmd_is_html_any(",
            "static inline __attribute__((always_inline)) int\nmd_is_html_any(",
        )],
    ),
];

const SQLITE3_EDITS: &[Edit] = &[
    edit("01-constant", &[("sqlite3.c", "# define SQLITE_PRINT_BUF_SIZE 70", "# define SQLITE_PRINT_BUF_SIZE 90")]),
    edit(
        "02-function-before",
        &[(
            "sqlite3.c",
            "static void roundFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n  int n = 0;",
            "static SQLITE_NOINLINE int atMost(volatile int n){\n  return n^1;\n}\nstatic void roundFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n  int n = atMost(1);",
        )],
    ),
    edit(
        "03-function-after",
        &[(
            "sqlite3.c",
            "static void lowerFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n",
            "static SQLITE_NOINLINE int isMany(volatile int n){\n  return n>99;\n}\nstatic void lowerFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n  if( isMany(argc) ) return;\n",
        )],
    ),
    // In its line: many functions have the number of theirs.
    edit(
        "04-body",
        &[(
            "sqlite3.c",
            "static void lowerFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n",
            "static void lowerFunc(sqlite3_context *context, int argc, sqlite3_value **argv){ if( sqlite3_value_bytes(argv[0])==3 ) return;\n",
        )],
    ),
    edit("05-renamed", &[("sqlite3.c", "roundFunc", "roundedFunc")]),
    Edit { name: "06-other-optimisation", replaced: &[], flags: &["-O1", "-g"] },
    edit("07-string", &[("sqlite3.c", "\"integer overflow\"", "\"an integer overflows\"")]),
    edit("08-mended", MENDED_ALONE),
    edit(
        "09-mended-and-body",
        &[(
            "sqlite3.c",
            "static void lowerFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n",
            "static void lowerFunc(sqlite3_context *context, int argc, sqlite3_value **argv){\n  if( sqlite3_value_bytes(argv[0])==2 ) return;\n",
        )],
    ),
    edit("10-inlined", &[("sqlite3.c", "static SQLITE_NOINLINE int btreeNext(", "static inline int btreeNext(")]),
];

/// What an edit has that mends the bug and nothing else.
const MENDED_ALONE: &[Replaced] = &[];

impl Program {
    /// The program as it was, then after each edit.
    ///
    /// # Errors
    ///
    /// If sources can't be had, or not compiled.
    pub fn builds(&self) -> Result<Vec<Build>> {
        let folder = cache().join("survival").join(self.name);
        fs::create_dir_all(&folder).with_context(|| format!("failed to create `{}`", folder.display()))?;
        let _lock = super::lock(&format!("survival-{}", self.name))?;
        match &self.sources {
            Sources::Package { package, home, edits } => {
                clang::provide()?;
                let unpacked = debian::source(package)?;
                let none = edit("", &[]);
                let all = std::iter::once(&none).chain(*edits);
                all.map(|edit| {
                    let copy = tempfile::tempdir_in(cache())?;
                    let sources = copy.path().join(package.folder);
                    fs::create_dir_all(&sources)?;
                    crate::disk::copy(&unpacked.folder.join(package.folder), &sources)?;
                    self.plant(&sources, edit.name, edit.replaced)?;
                    let c = C {
                        home,
                        package: Some(*package),
                        entry: Entry::LibFuzzer,
                        flags: edit.flags,
                        libraries: &["-lwasi-emulated-getpid"],
                        stack_bytes: MIB,
                        slim: false,
                    };
                    let folder_of = copy.path().to_owned();
                    let source =
                        debian::SourcePackage { folder: folder_of, version: unpacked.version.clone(), ..unpacked };
                    let from = format!("{:?} {} {}", edit.flags, source.version, hash(&sources)?);
                    built(&folder, edit.name, &from, || clang::build(self.name, &c, Some(&source)))
                })
                .collect()
            }
            Sources::Own(guest) => {
                let home = workspace().join("tests/guests/recompile").join(guest);
                let patches = recompile::patches(&home)?;
                let all = std::iter::once(None).chain(patches.iter().map(|patch| Some(patch.as_path())));
                all.map(|patch| {
                    let copy = recompile::edited_copy(&home, patch)?;
                    let name = patch.and_then(Path::file_stem).and_then(|stem| stem.to_str()).unwrap_or_default();
                    self.plant(copy.path(), name, &[])?;
                    let from = hash(copy.path())?;
                    built(&folder, name, &from, || recompile::build_planted(guest, copy.path(), patch))
                })
                .collect()
            }
        }
    }

    /// Edits sources, and puts bugs into them.
    fn plant(&self, sources: &Path, edit: &str, replaced: &[Replaced]) -> Result<()> {
        // The last three edits mend it: the patches, too, by their numbers.
        let mended = ["08", "09", "10"].iter().any(|number| edit.starts_with(number));
        let bugs = &self.bugs[..if mended { 1 } else { 2 }];
        for (file, from, to) in replaced.iter().chain(bugs) {
            let path = sources.join(file);
            let text = fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
            ensure!(text.contains(from), "`{file}` has no `{from}`");
            fs::write(&path, text.replace(from, to))?;
        }
        Ok(())
    }
}

/// A module that is compiled unless it is there, of the same sources.
fn built(folder: &Path, edit: &str, from: &str, build: impl FnOnce() -> Result<Vec<u8>>) -> Result<Build> {
    let name = if edit.is_empty() { "base" } else { edit };
    let module = folder.join(name).with_extension("wasm");
    if !super::is_current(&module, &module.with_extension("from"), from) {
        let bytes = build().with_context(|| format!("failed to build `{}`", module.display()))?;
        super::write_whole(&module, &bytes)?;
        super::write_whole(&module.with_extension("from"), from.as_bytes())?;
    }
    Ok(Build { edit: edit.to_owned(), module })
}

/// Of all files in a folder.
fn hash(folder: &Path) -> Result<String> {
    fn add(folder: &Path, hash: &mut blake3::Hasher) -> Result<()> {
        let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                add(&path, hash)?;
            } else {
                hash.update(&fs::read(&path)?);
            }
        }
        Ok(())
    }
    let mut hasher = blake3::Hasher::new();
    add(folder, &mut hasher)?;
    Ok(hasher.finalize().to_string())
}
