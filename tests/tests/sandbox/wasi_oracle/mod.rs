//! fuzzbox' WASI against wasmtime-wasi, on the same guests: real programs, and random sequences of single calls.
//!
//! Equal are errno, memory after the call, descriptor numbers, output, exit code and the whole tree of files, except:
//!
//! | what | wasmtime-wasi | fuzzbox |
//! | --- | --- | --- |
//! | pointer outside of memory | traps | `fault` |
//! | the same, in a write to a file not open for writing | traps | `badf` |
//! | value that its type does not have | traps | `inval` |
//! | exit code above 125 | traps | ends the execution with it |
//! | clocks, randomness | the machine's | virtual, the same in every execution |
//! | clocks of CPU time | `badf` | the monotonic clock |
//! | inode numbers, time stamps, size and link count of directories | the host's | made up |
//! | order of directory listings, cookies | the host's; index at the time of the call | as created; stable |
//! | bytes ready, hang-up flag in events of `poll_oneoff` | 1 and not set for streams | the real number, set at the end |
//! | more than one buffer in a read or write | the first one only | all |
//! | buffer for reading partly outside of memory | traps | only the part that is filled counts |
//! | empty read from standard input | `intr` | 0 bytes |
//! | `fd_allocate` on a file | `notsup` | extends the file |
//! | `path_open` with `dsync`, `rsync`, `sync` | `notsup` | accepted, means nothing |
//! | `path_filestat_get` of `name/` without following links | forgets the slash | minds it |
//! | `path_filestat_set_times` of no time, without following links | does not look for the file | does |
//! | `fd_filestat_set_times` on the preopened directory | `badf` | done |
//! | sizes and offsets beyond the limits | sparse files | `fbig`, `nospc` |

mod generate;
mod side;

use fuzzbox::sandbox::wasi::{Wasi, WasiConfig};
use generate::{Call, DATA, OUT, PAGES, Random};
use side::{Answer, FAULT, INVAL, Ours, Side, State, Theirs};
use std::collections::BTreeMap;
use std::path::Path;
use wasmtime::{Engine, Linker, Module, Store, Val};

/// Files at the start of every sequence.
const FILES: [(&str, &str); 3] = [("a", "alpha"), ("d/b", "in a directory"), ("d/e/c", "deeper")];
const ARGS: [&str; 3] = ["program", "-x", ""];
const ENV: [(&str, &str); 2] = [("HOME", "/d"), ("EMPTY", "")];
const STDIN: &[u8] = b"standard input, a few words of it";

fn config() -> WasiConfig {
    WasiConfig {
        args: ARGS.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        env: ENV.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect(),
        files: FILES.iter().map(|(path, text)| (format!("/{path}"), text.as_bytes().to_vec())).collect(),
        ..WasiConfig::default()
    }
}

fn host_root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

/// The guest of single calls under both, and what is needed for more of them.
struct World {
    module: Module,
    theirs: Linker<Theirs>,
    ours: Side<Ours>,
}

impl World {
    fn new() -> Self {
        let engine = Engine::default();
        let linker = Ours::linker(&engine);
        let mut store = Store::new(&engine, Ours::new(Wasi::new(config())));
        let guest = side::trampolines(&side::functions(&linker, &mut store), PAGES);
        let module = Module::new(&engine, wat::parse_str(guest).unwrap()).unwrap();
        let ours = Side::new(&module, &linker, Ours::new(Wasi::new(config())));
        Self { theirs: Theirs::linker(&engine), module, ours }
    }

    /// A fresh oracle; ours is reset, not made anew.
    fn start(&mut self, root: &Path) -> Side<Theirs> {
        self.ours.store.data_mut().wasi.reset(STDIN);
        self.ours.memory_mut().fill(0);
        Side::new(&self.module, &self.theirs, Theirs::new(root, &ARGS, &ENV, STDIN))
    }
}

#[test]
fn both_define_the_same_functions() {
    let engine = Engine::default();
    let mut ours = Store::new(&engine, Ours::new(Wasi::new(config())));
    let mut theirs = Store::new(&engine, Theirs::new(host_root().path(), &[], &[], b""));
    let show = |functions: Vec<(String, wasmtime::FuncType)>| -> Vec<String> {
        functions.into_iter().map(|(name, kind)| format!("{name}: {kind}")).collect()
    };
    let ours = show(side::functions(&Ours::linker(&engine), &mut ours));
    assert_eq!(ours, show(side::functions(&Theirs::linker(&engine), &mut theirs)));
    assert_eq!(ours.len(), fuzzbox::sandbox::wasi::functions().len());
}

#[test]
fn random_calls_are_answered_alike() {
    let mut world = World::new();
    let mut successes: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    for seed in 0..sequences() {
        let root = host_root();
        let mut theirs = world.start(root.path());
        let mut random = Random(seed);
        let mut log = Vec::new();
        for _ in 0..250 {
            let call = generate::call(&mut random, &mut world.ours);
            let (mine, other) = both(&mut world.ours, &mut theirs, &call);
            log.push(format!("{} {:?} {:?} -> {mine:?}", call.name, call.args, String::from_utf8_lossy(&call.path)));
            assert!(
                agree(&call, &mine, &other),
                "seed {seed}: {other:?} expected of the last of\n{}",
                log[log.len().saturating_sub(40)..].join("\n")
            );
            mask(&call, &mut world.ours, &mut theirs, &other);
            assert!(world.ours.memory() == theirs.memory(), "seed {seed}: memory differs after\n{}", log.join("\n"));
            successes.entry(call.name).or_default()[usize::from(mine == Answer::Errno(0))] += 1;
        }
        let wasi = &world.ours.store.data().wasi;
        assert_eq!((wasi.stdout().to_vec(), wasi.stderr().to_vec()), theirs.store.data().output(), "seed {seed}");
        assert_eq!(tree(&mut world.ours), tree(&mut theirs), "seed {seed}: files differ after\n{}", log.join("\n"));
    }
    // A test that only meets errors shows little.
    const NEVER: [&str; 7] =
        ["fd_allocate", "fd_fdstat_set_rights", "proc_raise", "sock_accept", "sock_recv", "sock_send", "sock_shutdown"];
    for (name, [failed, succeeded]) in &successes {
        assert!(*failed > 0 || *name == "sched_yield", "{name} never failed");
        assert!((*succeeded > 10) != NEVER.contains(name), "{name} succeeded {succeeded} times");
    }
}

/// A program under both: how it ended, its standard output and standard error.
fn run_both(program: &[u8], stdin: &[u8]) -> [(Answer, Vec<u8>, Vec<u8>); 2] {
    let engine = Engine::default();
    let module = Module::new(&engine, program).unwrap();
    let mut wasi = Wasi::new(config());
    wasi.reset(stdin);
    let mut ours = Side::new(&module, &Ours::linker(&engine), Ours::new(wasi));
    let mine = ours.call("_start", &[]);
    let wasi = &ours.store.data().wasi;
    let code = if let Answer::Exit(code) = mine { Some(code as u32) } else { None };
    assert_eq!(wasi.exit_code(), code);
    let mine = (mine, wasi.stdout().to_vec(), wasi.stderr().to_vec());

    let root = host_root();
    let mut theirs = Side::new(&module, &Theirs::linker(&engine), Theirs::new(root.path(), &ARGS, &ENV, stdin));
    let other = theirs.call("_start", &[]);
    let (stdout, stderr) = theirs.store.data().output();
    [mine, (other, stdout, stderr)]
}

fn assert_alike(program: &[u8], stdin: &[u8]) -> Answer {
    let [(mine, stdout, stderr), (other, stdout2, stderr2)] = run_both(program, stdin);
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(show(&stdout), show(&stdout2));
    assert_eq!(show(&stderr), show(&stderr2));
    assert_eq!(mine, other);
    mine
}

#[test]
fn a_program_that_reads_its_input_runs_alike() {
    let program = include_bytes!("../../../guests/wasi/echo.wasm");
    assert_eq!(assert_alike(program, b""), Answer::Exit(3));
    assert_eq!(assert_alike(program, b"one\ntwo\nno newline"), Answer::Returned);
    assert_eq!(assert_alike(program, b"one\nexit\nnever\n"), Answer::Exit(2));
    assert!(matches!(assert_alike(program, b"abort\n"), Answer::Trap(_)));
    assert_alike(program, &b"many lines, and a zero \0 in each\n".repeat(3000));
}

#[test]
fn a_program_that_uses_files_runs_alike() {
    assert_eq!(assert_alike(include_bytes!("../../../guests/wasi/files.wasm"), b"input"), Answer::Exit(7));
}

#[test]
fn polling_is_answered_alike() {
    let mut world = World::new();
    let root = host_root();
    let mut theirs = world.start(root.path());
    // user data, type, clock or descriptor, timeout, absolute
    type Subscription = (u64, u8, u32, u64, u16);
    let cases: &[&[Subscription]] = &[
        &[],
        &[(7, 0, 1, 1, 0)],
        &[(7, 0, 0, 1, 0)],
        &[(7, 0, 1, 0, 1)],
        &[(7, 0, 0, 0, 1)],
        &[(7, 0, 1, 1 << 50, 0), (8, 0, 1, 1, 0)],
        &[(7, 1, 0, 0, 0)],
        &[(7, 2, 1, 0, 0), (8, 2, 2, 0, 0)],
        &[(7, 1, 0, 0, 0), (9, 0, 1, 1 << 50, 0), (8, 2, 1, 0, 0)],
        &[(7, 1, 1, 0, 0)],
        &[(7, 2, 0, 0, 0)],
        &[(7, 1, 3, 0, 0)],
        &[(7, 1, 77, 0, 0)],
        &[(7, 3, 0, 0, 0)],
        &[(7, 0, 9, 1, 0)],
        &[(7, 0, 1, 1, 2)],
    ];
    for case in cases {
        let bytes = case.iter().flat_map(|(user, kind, what, timeout, flags)| {
            let mut bytes = [0; 48];
            bytes[..8].copy_from_slice(&user.to_le_bytes());
            bytes[8] = *kind;
            bytes[16..20].copy_from_slice(&what.to_le_bytes());
            bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
            bytes[40..42].copy_from_slice(&flags.to_le_bytes());
            bytes
        });
        let args = [DATA, OUT + 8, case.len() as u32, OUT].map(|arg| Val::I32(arg as i32)).to_vec();
        let call = Call { name: "poll_oneoff", args, stores: vec![(DATA, bytes.collect())], path: Vec::new() };
        let (mine, other) = both(&mut world.ours, &mut theirs, &call);
        assert_eq!(mine, other, "{case:?}");
        for memory in [world.ours.memory_mut(), theirs.memory_mut()] {
            // The number of bytes and the hang-up flag of up to three events.
            for event in 0..3 {
                memory[OUT as usize + 8 + event * 32 + 16..][..16].fill(0);
            }
        }
        assert!(world.ours.memory() == theirs.memory(), "{case:?}");
    }
}

#[test]
fn exit_codes_are_handed_on() {
    let mut world = World::new();
    let root = host_root();
    for code in [0, 1, 125] {
        let mut theirs = world.start(root.path());
        assert_eq!(world.ours.call("proc_exit", &[Val::I32(code)]), Answer::Exit(code));
        assert_eq!(theirs.call("proc_exit", &[Val::I32(code)]), Answer::Exit(code));
        assert_eq!(world.ours.store.data().wasi.exit_code(), Some(code as u32));
    }
    let mut theirs = world.start(root.path());
    assert_eq!(world.ours.store.data().wasi.exit_code(), None);
    assert_eq!(world.ours.call("proc_exit", &[Val::I32(-1)]), Answer::Exit(-1));
    assert!(matches!(theirs.call("proc_exit", &[Val::I32(-1)]), Answer::Trap(_)));
}

/// Sequences to try; more with `FUZZBOX_WASI_SEQUENCES`.
fn sequences() -> u64 {
    std::env::var("FUZZBOX_WASI_SEQUENCES").ok().and_then(|count| count.parse().ok()).unwrap_or(120)
}

fn both(ours: &mut Side<Ours>, theirs: &mut Side<Theirs>, call: &Call) -> (Answer, Answer) {
    for (at, bytes) in &call.stores {
        ours.memory_mut()[*at as usize..][..bytes.len()].copy_from_slice(bytes);
        theirs.memory_mut()[*at as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    (ours.call(call.name, &call.args), theirs.call(call.name, &call.args))
}

/// Whether the answers are equal but for the differences in the table above.
fn agree(call: &Call, ours: &Answer, theirs: &Answer) -> bool {
    const BADF: i32 = 8;
    const INTR: i32 = 27;
    match (call.name, ours, theirs) {
        (_, Answer::Errno(FAULT), Answer::BadPointer) => true,
        (_, Answer::Errno(INVAL), Answer::BadValue) => true,
        ("fd_write" | "fd_pwrite", Answer::Errno(BADF | INVAL), Answer::BadPointer) => true,
        ("clock_res_get" | "clock_time_get", _, Answer::Errno(BADF)) => call.u32(0) > 1,
        ("fd_readdir", Answer::Errno(0 | FAULT), Answer::Errno(0) | Answer::BadPointer)
            if call.args[3].unwrap_i64() > 2 =>
        {
            true
        }
        ("fd_read", Answer::Errno(0 | FAULT), Answer::Errno(INTR)) => true,
        ("path_filestat_set_times", _, Answer::Errno(0)) if call.u32(1) == 0 && call.u32(6) == 0 => true,
        ("path_filestat_get", _, _) if slash_is_forgotten(call) => true,
        _ => ours == theirs,
    }
}

fn slash_is_forgotten(call: &Call) -> bool {
    let mut names = call.path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    let one = names.next().is_some() && names.next().is_none();
    one && call.u32(1) == 0 && (call.path.ends_with(b"/") || call.path.ends_with(b"/."))
}

/// Makes equal in both memories what may differ.
fn mask(call: &Call, ours: &mut Side<Ours>, theirs: &mut Side<Theirs>, answer: &Answer) {
    let mut clear = |at: u32, len: u32| {
        let range = at as usize..at as usize + len as usize;
        if range.end > theirs.memory().len() {
            return;
        }
        ours.memory_mut()[range.clone()].fill(0);
        theirs.memory_mut()[range].fill(0);
    };
    match call.name {
        // Half a record may be stored before the oracle traps.
        _ if *answer == Answer::BadPointer => {
            let memory = theirs.memory().to_vec();
            ours.memory_mut().copy_from_slice(&memory);
        }
        "clock_res_get" => clear(call.u32(1), 8),
        "clock_time_get" => clear(call.u32(2), 8),
        "fd_read" => clear(call.u32(3), 4),
        "random_get" if *answer == Answer::Errno(0) => clear(call.u32(0), call.u32(1)),
        "fd_filestat_get" => mask_filestat(call.u32(1), ours, theirs, false),
        "path_filestat_get" => mask_filestat(call.u32(4), ours, theirs, slash_is_forgotten(call)),
        "fd_readdir" if *answer == Answer::Errno(0) => {
            clear(call.u32(1), call.u32(2));
            // How much is stored can be told only of a listing from the beginning.
            if call.args[3].unwrap_i64() != 0 {
                clear(call.u32(4), 4);
            }
        }
        _ => {}
    }
}

fn mask_filestat(at: u32, ours: &mut Side<Ours>, theirs: &mut Side<Theirs>, all: bool) {
    if at as usize + 64 > ours.memory().len() {
        return;
    }
    const DIRECTORY: u8 = 3;
    let is_dir = theirs.memory()[at as usize + 16] == DIRECTORY;
    let fields: &[std::ops::Range<u32>] = match (all, is_dir) {
        (true, _) => &[0..24, 24..64],
        (false, true) => &[8..16, 24..64],
        (false, false) => &[8..16, 40..64],
    };
    for field in fields {
        let range = (at + field.start) as usize..(at + field.end) as usize;
        ours.memory_mut()[range.clone()].fill(0);
        theirs.memory_mut()[range].fill(0);
    }
}

/// All files as the guest sees them through descriptor 3, if that is still a directory: one line each.
fn tree<T: State>(side: &mut Side<T>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = vec![(3, String::new())];
    while let Some((fd, path)) = open.pop() {
        for (name, kind) in list(side, fd) {
            let path = format!("{path}/{name}");
            let len = store(side, OUT + 512, name.as_bytes());
            let args = [fd, 0, OUT + 512, len, 0].map(|arg| Val::I32(arg as i32));
            let rights = [Val::I64(2), Val::I64(0), Val::I32(0), Val::I32(OUT as i32)];
            let what = match kind {
                7 => read_link(side, fd, len),
                _ if side.call("path_open", &[&args[..], &rights[..]].concat()) != Answer::Errno(0) => "closed".into(),
                3 => {
                    open.push((side.u32_at(OUT), path.clone()));
                    "directory".into()
                }
                _ => read_file(side),
            };
            lines.push(format!("{path}: {what}"));
        }
    }
    lines.sort();
    lines
}

fn store<T: State>(side: &mut Side<T>, at: u32, bytes: &[u8]) -> u32 {
    side.memory_mut()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    bytes.len() as u32
}

/// Names in a directory with their types, read in small pieces.
fn list<T: State>(side: &mut Side<T>, fd: u32) -> Vec<(String, u8)> {
    let (mut found, mut cookie) = (Vec::new(), 0_i64);
    loop {
        let args = [Val::I32(fd as i32), Val::I32(DATA as i32), Val::I32(600), Val::I64(cookie), Val::I32(OUT as i32)];
        if side.call("fd_readdir", &args) != Answer::Errno(0) {
            return found;
        }
        let used = side.u32_at(OUT) as usize;
        let mut bytes = &side.memory()[DATA as usize..][..used];
        while let Some((head, rest)) = bytes.split_at_checked(24) {
            let len = u32::from_le_bytes(head[16..20].try_into().unwrap()) as usize;
            let Some((name, rest)) = rest.split_at_checked(len) else { break };
            cookie = i64::from_le_bytes(head[..8].try_into().unwrap());
            if name != b"." && name != b".." {
                found.push((String::from_utf8(name.to_vec()).unwrap(), head[20]));
            }
            bytes = rest;
        }
        if used < 600 {
            found.sort();
            return found;
        }
    }
}

fn read_link<T: State>(side: &mut Side<T>, fd: u32, len: u32) -> String {
    let args = [fd, OUT + 512, len, DATA, 4096, OUT].map(|arg| Val::I32(arg as i32));
    assert_eq!(side.call("path_readlink", &args), Answer::Errno(0));
    format!("-> {}", String::from_utf8_lossy(&side.memory()[DATA as usize..][..side.u32_at(OUT) as usize]))
}

fn read_file<T: State>(side: &mut Side<T>) -> String {
    let fd = side.u32_at(OUT);
    let mut text = Vec::new();
    store(side, OUT + 8, &[DATA.to_le_bytes(), 4096_u32.to_le_bytes()].concat());
    loop {
        let args = [fd, OUT + 8, 1, OUT].map(|arg| Val::I32(arg as i32));
        assert_eq!(side.call("fd_read", &args), Answer::Errno(0));
        match side.u32_at(OUT) as usize {
            0 => break,
            used => text.extend_from_slice(&side.memory()[DATA as usize..][..used]),
        }
    }
    assert_eq!(side.call("fd_close", &[Val::I32(fd as i32)]), Answer::Errno(0));
    format!("{} bytes, {:?}", text.len(), String::from_utf8_lossy(&text[..text.len().min(60)]))
}
