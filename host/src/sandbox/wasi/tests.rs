//! Laws of the whole, tried on calls without an instance: the guest's memory is an array.

use super::abi::{Errno, Result, fdflags, oflags, rights};
use super::fs::{Body, Fs, Inode};
use super::guest::{Call, Guest};
use super::ino::Ino;
use super::output::TAIL_BYTES;
use super::random::Random;
use super::{Small, Wasi, WasiConfig};

const MEMORY_BYTES: usize = 1 << 16;
/// Where the helpers put paths, buffers' lists, results and data.
const PATH: u32 = 0x100;
const PATH2: u32 = 0x2000;
const LIST: u32 = 0x4000;
const RESULT: u32 = 0x4800;
const DATA: u32 = 0x5000;
const ROOT: u32 = 3;
const READ_WRITE: u64 = rights::FD_READ | rights::FD_WRITE;

/// A state and the memory of the guest that uses it.
struct Program {
    wasi: Wasi,
    memory: Vec<u8>,
}

impl Program {
    fn new(config: WasiConfig) -> Self {
        Self { wasi: Wasi::new(config), memory: vec![0; MEMORY_BYTES] }
    }

    fn call(&mut self) -> Call<'_> {
        Call { wasi: &mut self.wasi, guest: Guest::new(&mut self.memory) }
    }

    fn store(&mut self, at: u32, bytes: &[u8]) -> u32 {
        self.memory[at as usize..][..bytes.len()].copy_from_slice(bytes);
        bytes.len() as u32
    }

    fn result(&self) -> u32 {
        u32::from_le_bytes(self.memory[RESULT as usize..][..4].try_into().unwrap())
    }

    fn list(&mut self, buffers: &[(u32, u32)]) -> u32 {
        for (index, (at, len)) in buffers.iter().enumerate() {
            self.store(LIST + index as u32 * 8, &[at.to_le_bytes(), len.to_le_bytes()].concat());
        }
        buffers.len() as u32
    }

    fn open(&mut self, path: &str, oflags: u32, flags: u32) -> Result<u32> {
        let len = self.store(PATH, path.as_bytes());
        self.call().path_open(ROOT, 1, PATH, len, oflags, READ_WRITE, 0, flags, RESULT)?;
        Ok(self.result())
    }

    fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32> {
        let len = self.store(DATA, bytes);
        let count = self.list(&[(DATA, len)]);
        self.call().fd_write(fd, LIST, count, RESULT)?;
        Ok(self.result())
    }

    fn read(&mut self, fd: u32, len: u32) -> Result<Vec<u8>> {
        let count = self.list(&[(DATA, len)]);
        self.call().fd_read(fd, LIST, count, RESULT)?;
        Ok(self.memory[DATA as usize..][..self.result() as usize].to_vec())
    }

    fn path_call(&mut self, path: &str, call: impl FnOnce(&mut Call<'_>, u32, u32) -> Result<()>) -> Result<()> {
        let len = self.store(PATH, path.as_bytes());
        call(&mut self.call(), PATH, len)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let to_len = self.store(PATH2, to.as_bytes());
        self.path_call(from, |call, at, len| call.path_rename(ROOT, at, len, ROOT, PATH2, to_len))
    }

    fn link(&mut self, from: &str, to: &str) -> Result<()> {
        let to_len = self.store(PATH2, to.as_bytes());
        self.path_call(from, |call, at, len| call.path_link(ROOT, 0, at, len, ROOT, PATH2, to_len))
    }
}

/// All that a guest could tell apart.
#[derive(Debug, PartialEq)]
struct State {
    inodes: Vec<Inode>,
    free: Vec<Ino>,
    used: usize,
    small: Small,
    output: (Vec<u8>, Vec<u8>),
    exit_code: Option<u32>,
    stdin: (Vec<u8>, usize),
}

fn state(wasi: &Wasi) -> State {
    let (inodes, used) = wasi.fs.state();
    State {
        inodes,
        free: wasi.fs.unused().to_vec(),
        used,
        small: wasi.small.clone(),
        output: (wasi.stdout.clone(), wasi.stderr.clone()),
        exit_code: wasi.exit_code,
        stdin: (wasi.stdin.clone(), wasi.stdin_position),
    }
}

fn some_files() -> WasiConfig {
    let files = vec![("/in/a.txt".to_owned(), b"alpha".to_vec()), ("/in/big".to_owned(), vec![7; 100_000])];
    WasiConfig { files, fs_bytes_max: 1 << 20, open_files_max: 12, output_bytes_max: 4096, ..WasiConfig::default() }
}

/// One call, chosen and filled in by `random`; its answer is of no interest.
fn random_call(program: &mut Program, random: &mut Random) {
    let mut draw = |bound: u64| {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        u64::from_le_bytes(bytes) % bound
    };
    const PATHS: [&str; 12] =
        ["a", "in", "in/a.txt", "in/big", "b", "in/b", "b/c", "b/c/d", "l", "in/../b/e", "b/", "l/x"];
    let path = PATHS[draw(12) as usize];
    let other = PATHS[draw(12) as usize];
    let fd = draw(12) as u32;
    let number = draw(5000);
    let flags = draw(4) as u32;
    let _: Result<()> = match draw(24) {
        0 | 1 => program
            .open(path, [0, oflags::CREAT, oflags::CREAT | oflags::TRUNC, oflags::DIRECTORY][flags as usize], flags & 1)
            .map(drop),
        2 => program.call().fd_close(fd.max(4)),
        3..=6 => program.write(fd, &vec![number as u8; number as usize]).map(drop),
        7 => program.read(fd, number as u32).map(drop),
        8 => program.call().fd_seek(fd, number as i64, flags, RESULT),
        9 => program.call().fd_filestat_set_size(fd, number * 40),
        10 => program.call().fd_allocate(fd, number, number),
        11 => program.rename(path, other),
        12 => program.link(path, other),
        13 => program.path_call(path, |call, at, len| call.path_unlink_file(ROOT, at, len)),
        14 => program.path_call(path, |call, at, len| call.path_remove_directory(ROOT, at, len)),
        15 | 16 => program.path_call(path, |call, at, len| call.path_create_directory(ROOT, at, len)),
        17 => program.path_call(path, |call, at, len| call.path_symlink(at, len, ROOT, at, len)),
        18 => program.call().fd_renumber(fd, number as u32 % 12),
        19 => program.call().clock_time_get(flags, 0, RESULT),
        20 => program.call().random_get(DATA, number as u32),
        21 => program.call().fd_fdstat_set_flags(fd, fdflags::APPEND),
        22 => program.path_call(path, |call, at, len| call.path_filestat_set_times(ROOT, 1, at, len, number, 1, 5)),
        _ => program.call().fd_readdir(fd, DATA, number as u32, number % 7, RESULT),
    };
}

#[test]
fn reset_restores_everything() {
    let mut random = Random::new();
    let mut program = Program::new(some_files());
    let fresh = state(&program.wasi);
    for round in 0..300 {
        for _ in 0..200 {
            random_call(&mut program, &mut random);
        }
        program.wasi.set_file("/in/a.txt", b"replaced");
        program.wasi.set_file("/l/deep/er", b"made");
        program.call().proc_exit(1);
        program.wasi.reset(b"");
        assert_eq!(state(&program.wasi), fresh, "round {round}");
    }
}

#[test]
fn reset_returns_to_the_snapshot() {
    let mut random = Random::new();
    for round in 0..40 {
        let mut program = Program::new(some_files());
        for _ in 0..60 {
            random_call(&mut program, &mut random);
        }
        program.wasi.snapshot();
        program.wasi.reset(b"");
        let base = state(&program.wasi);
        for _ in 0..5 {
            for _ in 0..100 {
                random_call(&mut program, &mut random);
            }
            program.wasi.reset(b"");
            assert_eq!(state(&program.wasi), base, "round {round}");
        }
    }
}

#[test]
fn the_books_balance() {
    let mut random = Random::new();
    let mut program = Program::new(some_files());
    for round in 0..5_000 {
        random_call(&mut program, &mut random);
        program
            .wasi
            .fs
            .check(|ino| program.wasi.small.fds.holds(ino))
            .unwrap_or_else(|what| panic!("round {round}: {what}"));
    }
}

#[test]
fn what_was_written_is_read_back() {
    let mut program = Program::new(some_files());
    let fd = program.open("new", oflags::CREAT, 0).unwrap();
    assert_eq!(program.write(fd, b"hello world"), Ok(11));
    program.call().fd_seek(fd, 6, 0, RESULT).unwrap();
    assert_eq!(program.read(fd, 100).unwrap(), b"world");
    assert_eq!(program.read(fd, 100).unwrap(), b"");
    program.call().fd_seek(fd, 3, 2, RESULT).unwrap();
    program.write(fd, b"!").unwrap();
    program.call().fd_seek(fd, 0, 0, RESULT).unwrap();
    assert_eq!(program.read(fd, 100).unwrap(), b"hello world\0\0\0!");
}

#[test]
fn several_buffers_make_one_transfer() {
    let mut program = Program::new(some_files());
    program.store(DATA, b"abcdef");
    let count = program.list(&[(DATA + 3, 3), (0, 0), (DATA, 2), (u32::MAX, 0)]);
    program.call().fd_write(1, LIST, count, RESULT).unwrap();
    assert_eq!((program.result(), program.wasi.stdout()), (5, &b"defab"[..]));
    let count = program.list(&[(DATA, 1), (u32::MAX, 1)]);
    program.call().fd_write(1, LIST, count, RESULT).unwrap();
    assert_eq!(program.result(), 1, "what went before the bad buffer counts");
    let count = program.list(&[(u32::MAX, 1)]);
    assert_eq!(program.call().fd_write(1, LIST, count, RESULT), Err(Errno::Fault));
}

#[test]
fn huge_buffer_lists_end_soon() {
    let mut program = Program::new(some_files());
    program.memory.fill(0xff);
    assert_eq!(program.call().fd_write(1, 0, u32::MAX, RESULT), Err(Errno::Fault));
    program.memory.fill(0);
    program.call().fd_write(1, 0, u32::MAX, RESULT).unwrap();
    assert_eq!(program.result(), 0);
    assert_eq!(program.call().poll_oneoff(0, 0, u32::MAX, RESULT), Err(Errno::Fault));
    assert_eq!(program.call().random_get(0, u32::MAX), Err(Errno::Fault));
}

#[test]
fn output_beyond_the_limit_is_counted_and_dropped() {
    let mut program = Program::new(WasiConfig { output_bytes_max: 10, ..WasiConfig::default() });
    assert_eq!(program.write(1, b"123456"), Ok(6));
    assert_eq!(program.write(2, b"123456"), Ok(6));
    assert_eq!(program.write(1, b"123456"), Ok(6));
    assert_eq!((program.wasi.stdout(), program.wasi.stderr()), (&b"123456"[..], &b"1234"[..]));
    assert_eq!(program.wasi.output_dropped(), 8);
    program.wasi.reset(b"");
    assert_eq!((program.wasi.stdout(), program.wasi.output_dropped()), (&b""[..], 0));
}

#[test]
fn the_end_of_each_stream_is_kept_however_much_is_written() {
    let config = || WasiConfig { output_bytes_max: 1000, ..WasiConfig::default() };
    let (mut program, mut fresh) = (Program::new(config()), Program::new(config()));
    for (pieces, length) in
        [(1, 10), (1, 999), (3, 400), (1, 4096), (2, 4096), (1, 40_000), (30, 999), (5000, 7), (1, 10)]
    {
        let written: Vec<u8> = (0..pieces * length).map(|n: u32| (n % 251) as u8).collect();
        for program in [&mut program, &mut fresh] {
            for piece in written.chunks(length as usize) {
                program.write(1, piece).unwrap();
            }
            program.write(2, b"end").unwrap();
        }
        let last = written[written.len().saturating_sub(TAIL_BYTES)..].to_vec();
        assert_eq!(program.wasi.stdout_tail(), (last, written.len() > TAIL_BYTES), "{pieces} of {length}");
        assert_eq!(program.wasi.stderr_tail(), (b"end".to_vec(), false), "{pieces} of {length}");
        assert_eq!(program.wasi.stdout_tail(), fresh.wasi.stdout_tail());
        program.wasi.reset(b"");
        fresh = Program::new(config());
    }
    program.write(1, &[7; 5000]).unwrap();
    program.wasi.snapshot();
    program.write(1, &[8; 5000]).unwrap();
    program.wasi.reset(b"");
    assert_eq!(program.wasi.stdout_tail(), (vec![7; TAIL_BYTES], true), "what the initialiser wrote stays");
}

#[test]
fn limits_of_the_file_system_hold() {
    let config = WasiConfig { fs_bytes_max: 10_000, open_files_max: 6, ..WasiConfig::default() };
    let mut program = Program::new(config);
    let fd = program.open("f", oflags::CREAT, 0).unwrap();
    assert!(program.write(fd, &[1; 9_999]).unwrap() < 9_999, "a short write up to the limit");
    assert_eq!(program.write(fd, b"x"), Err(Errno::Nospc));
    assert_eq!(program.call().fd_filestat_set_size(fd, 1 << 60), Err(Errno::Fbig));
    program.call().fd_seek(fd, i64::MAX, 0, RESULT).unwrap();
    assert_eq!(program.write(fd, b"x"), Err(Errno::Nospc));
    assert_eq!(program.open("g", oflags::CREAT, 0), Err(Errno::Nospc));
    program.open("f", 0, 0).unwrap();
    assert_eq!(program.open("f", 0, 0), Err(Errno::Mfile));
}

#[test]
fn a_file_lives_as_long_as_its_descriptor() {
    let mut program = Program::new(some_files());
    let used = program.wasi.fs.state().1;
    let fd = program.open("f", oflags::CREAT, 0).unwrap();
    program.write(fd, b"text").unwrap();
    program.path_call("f", |call, at, len| call.path_unlink_file(ROOT, at, len)).unwrap();
    assert_eq!(program.open("f", 0, 0), Err(Errno::Noent));
    program.call().fd_seek(fd, 0, 0, RESULT).unwrap();
    assert_eq!(program.read(fd, 10).unwrap(), b"text");
    program.call().fd_close(fd).unwrap();
    assert_eq!(program.wasi.fs.state().1, used, "its room is given back");
}

#[test]
fn set_file_replaces_what_is_in_the_way_for_one_execution() {
    let mut program = Program::new(some_files());
    program.wasi.set_file("/in/a.txt", b"input");
    program.wasi.set_file("/in/big/inside", b"deep");
    for (path, contents) in [("in/a.txt", &b"input"[..]), ("in/big/inside", b"deep")] {
        let fd = program.open(path, 0, 0).unwrap();
        assert_eq!(program.read(fd, 10).unwrap(), contents);
    }
    program.wasi.reset(b"");
    let fd = program.open("in/a.txt", 0, 0).unwrap();
    assert_eq!(program.read(fd, 10).unwrap(), b"alpha");
}

#[test]
fn without_memory_every_pointer_is_bad() {
    let mut wasi = Wasi::new(some_files());
    let mut call = Call { wasi: &mut wasi, guest: Guest::new(&mut []) };
    assert_eq!(call.args_sizes_get(0, 0), Err(Errno::Fault));
    assert_eq!(call.fd_write(1, 0, 1, 0), Err(Errno::Fault));
    assert_eq!(call.fd_close(1), Ok(()));
    assert_eq!(call.fd_close(1), Err(Errno::Badf));
}

#[test]
fn arguments_and_environment_arrive() {
    let config = WasiConfig {
        args: vec![b"prog".to_vec(), b"-x".to_vec(), Vec::new()],
        env: vec![(b"HOME".to_vec(), b"/".to_vec())],
        ..WasiConfig::default()
    };
    let mut program = Program::new(config);
    program.call().args_sizes_get(RESULT, RESULT + 4).unwrap();
    assert_eq!((program.result(), program.memory[RESULT as usize + 4]), (3, 9));
    program.call().args_get(LIST, DATA).unwrap();
    assert_eq!(program.memory[DATA as usize..][..9], *b"prog\0-x\0\0");
    assert_eq!(program.memory[LIST as usize + 8..][..4], (DATA + 8).to_le_bytes());
    program.call().environ_get(LIST, DATA).unwrap();
    assert_eq!(program.memory[DATA as usize..][..7], *b"HOME=/\0");
}

#[test]
fn the_file_that_is_set_in_every_execution_keeps_its_buffer() {
    let large = vec![7; 1 << 20];
    let files = vec![("/input".to_owned(), Vec::new()), ("/other".to_owned(), Vec::new())];
    let mut wasi = Wasi::new(WasiConfig { files, ..WasiConfig::default() });
    let buffer = |wasi: &Wasi| {
        let is_large =
            |index: &usize| matches!(&wasi.fs.nth(*index).unwrap().body, Body::File(data) if data.capacity() > 1 << 19);
        let index = (1..3).find(is_large)?;
        let Body::File(data) = &wasi.fs.nth(index)?.body else { return None };
        Some((data.as_ptr(), data.len()))
    };
    wasi.reset(b"");
    wasi.set_file("/input", &large);
    let (place, len) = buffer(&wasi).unwrap();
    assert_eq!(len, large.len());
    for len in [0, 100, 1 << 20] {
        wasi.reset(b"");
        assert_eq!(buffer(&wasi), Some((place, 0)), "empty again");
        wasi.set_file("/input", &large[..len]);
        assert_eq!(buffer(&wasi), Some((place, len)));
    }
    // What only the guest made large is given back.
    wasi.set_file("/input", b"");
    let (other, now) = (Fs::ROOT, wasi.now());
    let other = wasi.fs.dir(other).unwrap().get(b"other").unwrap();
    wasi.fs.write(other, 0, &large, now).unwrap();
    wasi.reset(b"");
    assert_eq!(buffer(&wasi), Some((place, 0)));
}

#[test]
fn waiting_moves_the_clock_to_the_earliest_deadline() {
    let mut program = Program::new(WasiConfig::default());
    let hour = 3_600_000_000_000_u64;
    program.memory[LIST as usize..][..96].fill(0);
    for (index, timeout) in [(0, 2 * hour), (1, hour)] {
        program.store(LIST + index * 48, &u64::from(index).to_le_bytes());
        program.store(LIST + index * 48 + 16, &1_u32.to_le_bytes());
        program.store(LIST + index * 48 + 24, &timeout.to_le_bytes());
    }
    program.call().poll_oneoff(LIST, DATA, 2, RESULT).unwrap();
    assert_eq!((program.result(), program.memory[DATA as usize]), (1, 1), "only the second is over");
    assert_eq!(program.wasi.small.clock.elapsed(), hour);
}

impl Fs {
    /// What is stored, and the bytes charged for it.
    fn state(&self) -> (Vec<Inode>, usize) {
        let inodes = (0..).map_while(|index| self.nth(index)).cloned().collect();
        (inodes, self.used())
    }

    /// Counts names and bytes anew and compares them with the books.
    fn check(&self, holds: impl Fn(Ino) -> bool) -> Result<(), String> {
        let (inodes, used) = self.state();
        let mut names = vec![0_u64; inodes.len()];
        let mut bytes = 0;
        for (index, inode) in inodes.iter().enumerate() {
            bytes += if inode.body == Body::Free { 0 } else { 256 };
            bytes += match &inode.body {
                Body::File(data) => data.len(),
                Body::Symlink(target) => target.len(),
                _ => 0,
            };
            let Body::Dir(dir) = &inode.body else { continue };
            if inode.nlink > 0 {
                names[index] += if index == 0 { 2 } else { 1 };
            }
            for entry in dir.after(0) {
                bytes += 64 + entry.name.len();
                names[entry.ino.0 as usize] += 1;
                if let Body::Dir(child) = &inodes[entry.ino.0 as usize].body {
                    names[index] += 1;
                    if child.parent.0 as usize != index {
                        return Err(format!("the parent of {} is not {index}", entry.ino.0));
                    }
                }
            }
        }
        for (index, inode) in inodes.iter().enumerate() {
            let ino = Ino(index as u32);
            if inode.body != Body::Free && inode.nlink != names[index] {
                return Err(format!("inode {index} has {} names, not {}", names[index], inode.nlink));
            }
            if inode.body != Body::Free && inode.nlink == 0 && !holds(ino) {
                return Err(format!("inode {index} should be free"));
            }
        }
        if bytes == used { Ok(()) } else { Err(format!("{bytes} bytes are used, not {used}")) }
    }
}
