//! A component that nobody here compiled.

use super::{named, refusal, settings};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::{Settings, Stub};
use fuzzbox_tests::modules;
use std::sync::Arc;

/// JavaScript in QuickJS in Rust, 11 MB, with imports of preview 2 and of its platform's own.
#[test]
#[ignore = "a download of 4 MB, and half a minute to compile"]
fn the_engine_of_an_agent_platform_is_linked_and_runs() {
    let component = std::fs::read(modules::provide_component("agent-guest").unwrap()).unwrap();
    let error = refusal(&component, settings());
    for word in ["no entry", "golem:agent/guest@1.5.0#get-definition: func()", "list<u8> or string"] {
        assert!(error.contains(word), "{error}");
    }
    let entry = "golem:api/save-snapshot#save";
    let error = refusal(&component, named(entry));
    assert!(error.contains("nobody provides the imports ") && error.contains("golem:"), "{error}");
    assert!(!error.contains("wasi:cli/"), "{error}");

    let settings = Settings {
        stub_imports: Some(Stub::Trap),
        memory_bytes_max: 256 << 20,
        fuel_max: 2_000_000_000,
        ..named(entry)
    };
    let target = Arc::new(Target::load(&component, settings).unwrap());
    assert!(target.edges.edges.len() > 50_000);
    let mut executor = Executor::new(&target).unwrap();
    let first = executor.run(b"").unwrap();
    let state = executor.state_hash();
    for _ in 0..3 {
        assert_eq!(executor.run(b"").unwrap(), first);
        assert_eq!(executor.state_hash(), state);
    }
}
