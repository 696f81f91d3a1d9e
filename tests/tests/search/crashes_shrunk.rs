//! Crashes of real parsers are shrunk as far as `xtask tmin` found that afl-tmin and libFuzzer come, or further, by no
//! more executions. Those five whose parsers are compiled in a second or two.

use fuzzbox_tests::command::Fuzzbox;

/// A crash and what is reached.
struct Reached {
    crash: &'static str,
    bytes: u64,
    /// The least that a peer came to.
    peers_bytes: u64,
    /// The mean of the peers.
    peers_executions: u64,
}

const ALL: [Reached; 5] = [
    Reached { crash: "cjson-depth", bytes: 14, peers_bytes: 24, peers_executions: 13_416 },
    Reached { crash: "cjson-surrogate", bytes: 14, peers_bytes: 14, peers_executions: 5_427 },
    Reached { crash: "expat-group", bytes: 30, peers_bytes: 30, peers_executions: 10_061 },
    Reached { crash: "md4c-link", bytes: 7, peers_bytes: 7, peers_executions: 5_138 },
    Reached { crash: "zlib-distance", bytes: 8, peers_bytes: 8, peers_executions: 5_566 },
];

#[test]
fn crashes_of_parsers_become_no_larger_than_elsewhere_by_no_more_executions() {
    for Reached { crash, bytes, peers_bytes, peers_executions } in ALL {
        let module = fuzzbox_tests::guest(crash).unwrap_or_else(|error| panic!("{error:#}"));
        let input = fuzzbox_tests::guests::crashing_input(crash).unwrap();
        let fuzzbox = Fuzzbox::new();
        std::fs::write(fuzzbox.dir().join("found"), &input).unwrap();
        let operands = [module.to_str().expect("a path in text"), "found"];
        let ran = fuzzbox.run("shrink", &operands, &["--json", "--output", "small"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let line = ran.json_lines().remove(0);
        let number = |name: &str| line[name].as_u64().expect("a number");
        let small = std::fs::read(fuzzbox.dir().join("small")).unwrap();
        let executions = number("executions") + number("exhaustive");
        println!("{crash}: {} to {bytes} bytes, {executions} executions: {}", input.len(), small.escape_ascii());
        assert_eq!((number("input_bytes"), &line["fixed_point"]), (bytes, &true.into()), "{crash}: {line}");
        assert!(bytes <= peers_bytes && executions <= peers_executions, "{crash}: {line}");
    }
}
