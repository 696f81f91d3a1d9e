//! Legacy exceptions: modules that no engine at hand runs must do, once translated, what their authors meant.

#[path = "../rewriter/mod.rs"]
mod rewriter;
mod script;
mod unfold;

use std::path::Path;

use rewriter::engine;
use script::{Report, Variant};
use wasmtime::OptLevel;

#[test]
fn scripts_find_what_they_expect() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rewriter_legacy")];
    // The official scripts: `test/legacy/exceptions/core` in a checkout of WebAssembly's specification.
    folders.extend(std::env::var_os("FUZZBOX_LEGACY_SCRIPTS").map(Into::into));
    let engine = engine(OptLevel::None, |_| {});
    let mut report = Report::default();
    for folder in folders {
        let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "wast"));
        paths.sort();
        assert!(!paths.is_empty(), "no scripts in {}", folder.display());
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.display().to_string();
            let translated = script::run(&engine, &name, &text, Variant::Translated, &mut report);
            let instrumented = script::run(&engine, &name, &text, Variant::Instrumented, &mut report);
            assert_eq!(translated, instrumented, "{name}");
        }
    }
    println!("{} directives", report.directives);
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n"));
}
