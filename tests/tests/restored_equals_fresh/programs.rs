//! Real programs, as other people built them: their own inputs and mutants of these.

use super::law::Guest;
use fuzzbox::sandbox::{Settings, Stub};
use fuzzbox_tests::modules;

/// Name, arguments and input of each.
const PROGRAMS: [(&str, &[&str], &str); 8] = [
    ("icepack", &[], include_str!("../../src/modules/inputs/settings.asc")),
    ("sqlite", &[], include_str!("../../src/modules/inputs/queries.sql")),
    ("quickjs", &["@@"], include_str!("../../src/modules/inputs/program.js")),
    ("php", &["-q", "@@"], include_str!("../../src/modules/inputs/program.php")),
    ("esbuild", &["--loader=ts", "--minify"], include_str!("../../src/modules/inputs/program.ts")),
    ("ruby", &["-"], include_str!("../../src/modules/inputs/program.rb")),
    ("python", &["-"], include_str!("../../src/modules/inputs/program.py")),
    ("clang", &["-S", "-O2", "-o", "-", "-x", "c", "@@"], include_str!("../../src/modules/inputs/program.c")),
];

/// Takes a quarter of an hour; `FUZZBOX_LAW_MODULES=sqlite,php` chooses some.
#[test]
#[ignore = "large downloads, and minutes to compile"]
fn real_programs() {
    let chosen = std::env::var("FUZZBOX_LAW_MODULES").ok();
    for (name, args, input) in PROGRAMS {
        if chosen.as_ref().is_some_and(|chosen| chosen.split(',').all(|chosen| chosen != name)) {
            continue;
        }
        let module = std::fs::read(modules::provide(name).unwrap()).unwrap();
        let mut guest = Guest::new(name, module, vec![input.into(), Vec::new()], 2_000_000_000);
        guest.settings = Settings {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            stub_imports: Some(Stub::Trap),
            memory_bytes_max: 512 << 20,
            input_bytes_max: 1 << 16,
            ..guest.settings
        };
        guest.inputs = 5;
        guest.check();
    }
}
