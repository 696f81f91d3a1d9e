//! Real programs, as other people built them: their own inputs and mutants of these.

use super::law::Guest;
use fuzzbox::settings::{Settings, Stub};
use fuzzbox_tests::modules;

/// Name and arguments of each, a short input and a long one. Some take more than the limit on fuel for the long one, Python for any.
const PROGRAMS: [(&str, &[&str], [&str; 2]); 8] = [
    ("icepack", &[], ["", include_str!("../../../xtask/modules/inputs/settings.asc")]),
    ("sqlite", &[], ["", include_str!("../../../xtask/modules/inputs/queries.sql")]),
    ("quickjs", &["@@"], ["print([1, 2].map((n) => n + 1))", include_str!("../../../xtask/modules/inputs/program.js")]),
    ("php", &["-q", "@@"], ["<?php echo strrev('abc');", include_str!("../../../xtask/modules/inputs/program.php")]),
    (
        "esbuild",
        &["--loader=ts", "--minify"],
        ["let x: number = 1 + 2; console.log(x)", include_str!("../../../xtask/modules/inputs/program.ts")],
    ),
    ("ruby", &["--disable=gems", "-"], ["puts (1..9).sum", include_str!("../../../xtask/modules/inputs/program.rb")]),
    ("python", &["-"], ["", include_str!("../../../xtask/modules/inputs/program.py")]),
    (
        "clang",
        &["clang", "-S", "-O2", "-ffreestanding", "-o", "-", "-x", "c", "@@"],
        ["int f(int n) { return n * 3; }", include_str!("../../../xtask/modules/inputs/program.c")],
    ),
];

/// Takes ten minutes, and up to 4 GB; `FUZZBOX_LAW_MODULES=sqlite,php` chooses some.
#[test]
#[ignore = "large downloads, and minutes to compile"]
fn real_programs() {
    let chosen = std::env::var("FUZZBOX_LAW_MODULES").ok();
    for (name, args, inputs) in PROGRAMS {
        if chosen.as_ref().is_some_and(|chosen| chosen.split(',').all(|chosen| chosen != name)) {
            continue;
        }
        let module = std::fs::read(modules::provide(name).unwrap()).unwrap();
        let mut guest = Guest::new(name, module, inputs.map(Into::into).into(), Settings::FUEL_MAX);
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
