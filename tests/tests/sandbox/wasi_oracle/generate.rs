//! Random calls: mostly sensible ones on a few names and descriptors, sometimes with garbage in an argument.

use crate::wasi_oracle::side::{Ours, Side};
use wasmtime::Val;

pub(crate) const PAGES: u32 = 2;
const MEMORY_BYTES: u32 = PAGES << 16;
/// Where results, paths, buffer lists and data lie.
pub(crate) const OUT: u32 = 0x800;
const PATHS: u32 = 0x1000;
const PATH_BYTES: u32 = 0x1800;
const LIST: u32 = 0x6000;
pub(crate) const DATA: u32 = 0x8000;
/// Descriptors in play.
const FDS: u32 = 10;
/// Values of `filetype`.
const DIRECTORY: u8 = 3;
const REGULAR_FILE: u8 = 4;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// What an argument means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A descriptor, mostly of an open file if there is one.
    File,
    /// A descriptor, mostly of a directory.
    Dir,
    /// Any descriptor, the root seldom.
    Fd,
    /// Pointer and length.
    Path,
    /// Pointer and count; for writing, a buffer may lie outside of memory.
    Iovs,
    /// Pointer and length.
    Buffer,
    /// Pointer to a result.
    Out,
    /// i32, any of these bits.
    Flags(u32),
    /// i32, mostly 0: `lookupflags` where no link is followed.
    Never,
    Oflags,
    Fdflags,
    /// i32 below this.
    Enum(u32),
    Rights,
    /// u64 up to some ten thousand, or much too large.
    Offset,
    Cookie,
    Time,
    Len,
}

use Kind::*;

/// Functions with their arguments and how often they are called, apart from those that have tests of their own.
const CALLS: &[(u32, &str, &[Kind])] = &[
    (1, "args_get", &[Out, Out]),
    (1, "args_sizes_get", &[Out, Out]),
    (1, "environ_get", &[Out, Out]),
    (1, "environ_sizes_get", &[Out, Out]),
    (1, "clock_res_get", &[Enum(4), Out]),
    (1, "clock_time_get", &[Enum(4), Time, Out]),
    (1, "random_get", &[Buffer]),
    (1, "sched_yield", &[]),
    (1, "proc_raise", &[Enum(31)]),
    (1, "sock_accept", &[Fd, Flags(5), Out]),
    (1, "sock_recv", &[Fd, Iovs, Flags(3), Out, Out]),
    (1, "sock_send", &[Fd, Iovs, Flags(0), Out]),
    (1, "sock_shutdown", &[Fd, Flags(3)]),
    (2, "fd_advise", &[File, Len, Len, Enum(6)]),
    (1, "fd_allocate", &[File, Len, Len]),
    (2, "fd_close", &[Fd]),
    (1, "fd_datasync", &[File]),
    (2, "fd_fdstat_get", &[File, Out]),
    (3, "fd_fdstat_set_flags", &[File, Fdflags]),
    (1, "fd_fdstat_set_rights", &[File, Rights, Rights]),
    (3, "fd_filestat_get", &[File, Out]),
    (3, "fd_filestat_set_size", &[File, Len]),
    (2, "fd_filestat_set_times", &[File, Time, Time, Flags(15)]),
    (4, "fd_pread", &[File, Iovs, Offset, Out]),
    (1, "fd_prestat_dir_name", &[Dir, Buffer]),
    (1, "fd_prestat_get", &[Dir, Out]),
    (4, "fd_pwrite", &[File, Iovs, Offset, Out]),
    (8, "fd_read", &[File, Iovs, Out]),
    (3, "fd_readdir", &[Dir, Buffer, Cookie, Out]),
    (2, "fd_renumber", &[Fd, Fd]),
    (5, "fd_seek", &[File, Offset, Enum(3), Out]),
    (1, "fd_sync", &[File]),
    (2, "fd_tell", &[File, Out]),
    (8, "fd_write", &[File, Iovs, Out]),
    (9, "path_create_directory", &[Dir, Path]),
    (5, "path_filestat_get", &[Dir, Flags(1), Path, Out]),
    (3, "path_filestat_set_times", &[Dir, Flags(1), Path, Time, Time, Flags(15)]),
    (6, "path_link", &[Dir, Never, Path, Dir, Path]),
    (20, "path_open", &[Dir, Flags(1), Path, Oflags, Rights, Rights, Fdflags, Out]),
    (4, "path_readlink", &[Dir, Path, Buffer, Out]),
    (4, "path_remove_directory", &[Dir, Path]),
    (9, "path_rename", &[Dir, Path, Dir, Path]),
    (7, "path_symlink", &[Path, Dir, Path]),
    (5, "path_unlink_file", &[Dir, Path]),
];

/// A call with all that it reads from memory.
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) args: Vec<Val>,
    /// What is stored before the call.
    pub(crate) stores: Vec<(u32, Vec<u8>)>,
    /// First path among the arguments.
    pub(crate) path: Vec<u8>,
}

impl Call {
    pub(crate) fn u32(&self, index: usize) -> u32 {
        self.args[index].unwrap_i32() as u32
    }
}

fn path(random: &mut Random) -> Vec<u8> {
    match random.below(60) {
        0 => return Vec::new(),
        1 => return b"a\0b".to_vec(),
        2 => return b"a/\xff".to_vec(),
        3 => return vec![b'n'; random.pick(&[255, 256, 5000])],
        _ => {}
    }
    let mut path = if random.one_in(40) { b"/".to_vec() } else { Vec::new() };
    loop {
        let names = ["a", "b", "d", "e", "l", "a", "b", "d", "e", "l", "a", "b", ".", ".."];
        path.extend_from_slice(random.pick(&names).as_bytes());
        if !random.one_in(3) {
            break;
        }
        path.extend_from_slice(if random.one_in(10) { b"//" } else { b"/" });
    }
    if random.one_in(16) {
        path.extend_from_slice(if random.one_in(4) { b"/." } else { b"/" });
    }
    path
}

/// A buffer list with at most one buffer that is not empty: wasmtime-wasi handles only the first.
fn buffers(random: &mut Random, writing: bool) -> Vec<u8> {
    let mut list = Vec::new();
    let mut push = |at: u32, len: u32| list.extend_from_slice(&[at.to_le_bytes(), len.to_le_bytes()].concat());
    for _ in 0..random.below(3) {
        push(DATA + random.below(64), 0);
    }
    let len = random.pick(&[0, 1, 5, 100, 5000]);
    match random.below(30) {
        0 if writing => push(MEMORY_BYTES - 2, len + 1),
        1 if writing => push(u32::MAX - 7, len),
        _ => push(DATA + random.below(4096), len.max(u32::from(!writing))),
    }
    list
}

/// Chooses a call, in a world that `ours` can be asked about.
pub(crate) fn call(random: &mut Random, ours: &mut Side<Ours>) -> Call {
    loop {
        let total: u32 = CALLS.iter().map(|(weight, ..)| weight).sum();
        let mut at = random.below(total);
        let (_, name, kinds) = CALLS
            .iter()
            .find(|(weight, ..)| {
                let hit = at < *weight;
                at = at.saturating_sub(*weight);
                hit
            })
            .unwrap();
        let mut call = Call { name, args: Vec::new(), stores: Vec::new(), path: Vec::new() };
        let open: Vec<Option<u8>> = (0..FDS).map(|fd| filetype(ours, fd)).collect();
        for kind in *kinds {
            argument(&mut call, random, *kind, &open);
        }
        if !is_excluded(&call, ours) {
            return call;
        }
    }
}

/// Calls after which the two could not be compared any further (see the table in `main.rs`).
fn is_excluded(call: &Call, ours: &mut Side<Ours>) -> bool {
    match call.name {
        "fd_allocate" => filetype(ours, call.u32(0)) == Some(REGULAR_FILE),
        "fd_filestat_set_times" => is_preopen(ours, call.u32(0)),
        _ => false,
    }
}

/// The type of a descriptor, without a trace in memory.
pub(crate) fn filetype(ours: &mut Side<Ours>, fd: u32) -> Option<u8> {
    let saved = ours.memory()[..24].to_vec();
    let answer = ours.call("fd_fdstat_get", &[Val::I32(fd as i32), Val::I32(0)]);
    let found = (answer == crate::wasi_oracle::side::Answer::Errno(0)).then(|| ours.memory()[0]);
    ours.memory_mut()[..24].copy_from_slice(&saved);
    found
}

fn is_preopen(ours: &mut Side<Ours>, fd: u32) -> bool {
    let saved = ours.memory()[..8].to_vec();
    let answer = ours.call("fd_prestat_get", &[Val::I32(fd as i32), Val::I32(0)]);
    ours.memory_mut()[..8].copy_from_slice(&saved);
    answer == crate::wasi_oracle::side::Answer::Errno(0)
}

/// Adds what an argument of this kind may be. `open` has the types of the first descriptors.
fn argument(call: &mut Call, random: &mut Random, kind: Kind, open: &[Option<u8>]) {
    let garbage = random.one_in(60);
    let i32 = |value: u32| Val::I32(value as i32);
    let i64 = |value: u64| Val::I64(value as i64);
    match kind {
        File | Dir | Fd if garbage => call.args.push(i32(random.pick(&[99, 1024, u32::MAX]))),
        Fd => {
            let fd = random.below(FDS);
            call.args.push(i32(if fd == 3 && !random.one_in(8) { 4 } else { fd }));
        }
        File | Dir => {
            let wanted = Some(if kind == File { REGULAR_FILE } else { DIRECTORY });
            let mut fd = random.below(FDS);
            for _ in 0..random.below(40) {
                fd = if open[fd as usize] == wanted { break } else { random.below(FDS) };
            }
            call.args.push(i32(fd));
        }
        Path => {
            let bytes = path(random);
            let at = PATHS + call.stores.len() as u32 * PATH_BYTES;
            let (mut place, mut len) = (at, bytes.len() as u32);
            if garbage {
                (place, len) =
                    random.pick(&[(at, 1 << 26), (u32::MAX - 7, 4), (MEMORY_BYTES, 0), (MEMORY_BYTES - 2, 3)]);
            }
            call.args.extend([i32(place), i32(len)]);
            if call.path.is_empty() {
                call.path.clone_from(&bytes);
            }
            call.stores.push((at, bytes));
        }
        Iovs => {
            let list = buffers(random, matches!(call.name, "fd_write" | "fd_pwrite"));
            let (mut place, mut count) = (LIST, list.len() as u32 / 8);
            if garbage {
                (place, count) = random.pick(&[(MEMORY_BYTES, 1), (u32::MAX - 7, 2), (LIST, 0)]);
            }
            call.args.extend([i32(place), i32(count)]);
            call.stores.push((LIST, list));
        }
        Buffer => {
            let (at, len) = (DATA + random.below(4096), random.pick(&[0, 1, 3, 24, 30, 100, 4096]));
            let bad = [(MEMORY_BYTES - 8, 4096), (MEMORY_BYTES, 1), (u32::MAX - 7, 64)];
            let (at, len) = if garbage { random.pick(&bad) } else { (at, len) };
            call.args.extend([i32(at), i32(len)]);
        }
        Out => {
            let bad = [MEMORY_BYTES, u32::MAX - 7, 1 << 31];
            let place = OUT + call.args.len() as u32 * 128;
            call.args.push(i32(if garbage { random.pick(&bad) } else { place }));
        }
        Flags(known) => {
            let garbage = garbage && call.name != "sock_send";
            call.args.push(i32(if garbage {
                random.pick(&[32, 0x8000, 0x1_0000, u32::MAX])
            } else {
                random.next() as u32 & known
            }));
        }
        Never => call.args.push(i32(u32::from(random.one_in(20)))),
        // create 1, directory 2, exclusive 4, truncate 8
        Oflags if garbage => call.args.push(i32(random.pick(&[16, 0x1_0000, 3, 6, 10, 15]))),
        Oflags => call.args.push(i32(random.pick(&[0, 0, 0, 1, 1, 1, 9, 5, 8, 2, 2, 4]))),
        // append 1, dsync 2, nonblock 4
        Fdflags if garbage => call.args.push(i32(if call.name == "path_open" { 32 } else { 2 })),
        Fdflags => call.args.push(i32(random.pick(&[0, 0, 1, 4, 5]))),
        Enum(count) => {
            call.args.push(i32(if garbage { random.pick(&[count, 256, u32::MAX]) } else { random.below(count) }))
        }
        Rights => {
            let known = random.pick(&[0, 2, 64, 66, 66, 66, 0x3fff_ffff]);
            call.args.push(i64(if garbage { random.pick(&[1 << 30, u64::MAX]) } else { known }));
        }
        Offset => {
            let near = random.pick(&[0, 0, 1, 5, 100, 3000, 70_000]);
            let far = random.pick(&[u64::MAX, u64::MAX - 4, 1 << 63]);
            call.args.push(i64(if random.one_in(15) { far } else { near }));
        }
        Cookie => call.args.push(i64(random.pick(&[0, 0, 0, 1, 2, 3, 1000]))),
        Time => call.args.push(i64(random.next() >> 3)),
        Len => call.args.push(i64(if garbage { u64::MAX } else { random.pick(&[0, 1, 10, 1000, 70_000]) })),
    }
}
