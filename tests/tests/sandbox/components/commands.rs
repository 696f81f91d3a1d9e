//! Commands as components: the programs of preview 1 behind the adapter that makes components of them.

use super::{load, settings};
use fuzzbox::outcome::{FailureKind, Outcome};
use fuzzbox::sandbox::{Executor, Target};
use fuzzbox::settings::Settings;
use fuzzbox_tests::command::example;
use std::sync::Arc;
use wit_component::ComponentEncoder;

/// The component of a command.
pub(crate) fn command(module: &[u8]) -> Vec<u8> {
    let adapter = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER;
    let mut encoder = ComponentEncoder::default().validate(true).module(module).unwrap();
    encoder = encoder.adapter("wasi_snapshot_preview1", adapter).unwrap();
    encoder.encode().unwrap()
}

fn of_example(name: &str) -> (Arc<Target>, Arc<Target>) {
    let module = std::fs::read(example(name)).unwrap();
    let component = command(&module);
    (load(module, settings()), load(component, settings()))
}

#[test]
fn a_command_does_the_same_as_a_component() {
    let (module, component) = of_example("stdin-tool");
    let (mut module, mut component) = (Executor::new(&module).unwrap(), Executor::new(&component).unwrap());
    assert!(
        component.target().candidate.entry.to_string().starts_with("wasi:cli/run@0.2."),
        "{}",
        component.target().candidate.entry
    );
    let inputs: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"x".to_vec(),
        b"a=1\nb=2\n".to_vec(),
        (0..=255).collect(),
        b"1 2 3 4 5 6 7 8 9\n".repeat(100),
    ];
    for input in &inputs {
        let expected = module.run(input).unwrap();
        let found = component.run(input).unwrap();
        assert_eq!(found.name(), expected.name(), "{input:?}");
        let output = |executor: &Executor| {
            let observation = executor.observation();
            (observation.stdout().to_vec(), observation.stderr().to_vec())
        };
        assert_eq!(output(&component), output(&module), "{input:?}");
    }
}

/// Traces of the crash lead to the same functions, files and lines as in the module.
#[test]
fn the_bug_of_a_command_is_found_in_its_component_with_file_and_line() {
    use fuzzbox_tests::command::Fuzzbox;
    let fuzzbox = Fuzzbox::new();
    let module = std::fs::read(example("stdin-tool")).unwrap();
    std::fs::write(fuzzbox.dir().join("tool.wasm"), command(&module)).unwrap();
    let args = ["--execs", "3000000", "--seed", "1", "--stop-on", "first", "--reporter", "json"];
    let of = |path: &str| {
        let run = fuzzbox.run("run", &[path], &args);
        assert_eq!(run.code, 1, "{run:?}");
        run.json_lines().last().unwrap()["findings"][0].clone()
    };
    let (component, module) = (of("tool.wasm"), of(&example("stdin-tool")));
    for key in ["file", "line", "function"] {
        assert_eq!(component["frames"][0][key], module["frames"][0][key], "{component}\n{module}");
    }
    assert!(component["frames"][0]["line"].is_u64(), "{component}");
}

#[test]
fn arguments_and_exit_codes_are_a_components_too() {
    let module = r#"(module
        (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (func (export "_start")
            (drop (call $sizes (i32.const 0) (i32.const 4)))
            (call $exit (i32.load (i32.const 0)))))"#;
    let component = command(&wat::parse_str(module).unwrap());
    let with = |args: &[&str], crash_on_exit| Settings {
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        crash_on_exit,
        ..settings()
    };
    let mut executor = Executor::new(&load(&component, with(&["a", "b"], false))).unwrap();
    assert_eq!(executor.run(b"").unwrap(), Outcome::Ok);
    // Of `exit`, a component says no more than that it is an error.
    assert_eq!(executor.observation().exit_code(), Some(1));
    let mut executor = Executor::new(&load(&component, with(&["a"], true))).unwrap();
    assert!(matches!(executor.run(b"").unwrap().failure(), Some((FailureKind::Crash, _))));
}
