//! WASI preview 1: all that a program may ask of its host, answered from one resettable struct.
//!
//! ```text
//! link.rs      names and signatures of the 46 functions, and the way from a wasm call to a method of Call
//! env.rs       arguments, environment, clocks, randomness, exit, sockets (there are none)
//! fd_calls.rs  fd_*: reading, writing and the rest of what descriptors do
//! path_calls.rs  path_* and fd_readdir
//! poll.rs      poll_oneoff                  posix.rs  files and descriptors by system calls
//! output.rs    the end of what is written to the standard streams
//! guest.rs     the guest's memory with checked accesses        abi.rs   numbers and layouts
//! descriptors.rs  the descriptor table         clock.rs virtual time         random.rs randomness
//! tracked.rs  state that is restored if it was touched
//! p2/         preview 2, for components      node.rs js_heap.rs  Node's `fs`, and JavaScript's values, for Go
//! fs.rs dir.rs path_lookup.rs tree.rs    an in-memory file system: inodes, names, resolution, changes
//! ```
//!
//! Invariants. A call sees nothing of the machine: no file, clock or entropy, and no system call is made (other than by
//! the allocator), so none ever gets a pointer into guest memory. What a call answers is a function of the
//! configuration, the input and the calls before it in the same execution. Nothing that a guest passes makes a call
//! panic, allocate by a number that the guest chose, or loop for longer than its memory or the limits of
//! [`WasiConfig`] are large. A bad pointer is `errno::fault` (wasmtime-wasi traps).
//!
//! Where preview 1 leaves a choice, the choice is wasmtime-wasi's on Linux, because that is what programs are tested
//! with; `tests/tests/sandbox/wasi_oracle` compares the two call by call and lists the deliberate differences.

mod abi;
mod clock;
mod descriptors;
mod dir;
mod env;
mod fd_calls;
mod fs;
mod guest;
mod ino;
pub(super) mod js_heap;
mod link;
pub(super) mod node;
pub(super) mod objects;
mod output;
pub(super) mod p2;
mod path_calls;
mod path_lookup;
mod poll;
pub(super) mod posix;
mod random;
#[cfg(test)]
mod tests;
mod tracked;
mod tree;

pub use link::{MODULE, functions, link};
pub use output::TAIL_BYTES;

use crate::sandbox::memory::Region;
use clock::Clock;
use descriptors::{Fd, Fds};
use fs::Fs;
use fuzzbox_instrument::HandleType;
use js_heap::Heap;
use objects::Objects;
use output::Tail;
use random::Random;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tracked::Tracked;
use tree::Orphan;

/// What the guest finds when it starts.
#[derive(Clone, Debug)]
pub struct WasiConfig {
    /// Command-line arguments, the program's name first.
    pub args: Vec<Vec<u8>>,
    /// Environment variables with their values, in the order in which the guest sees them.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Files with their contents, by absolute path. Directories on the way are made.
    pub files: Vec<(String, Vec<u8>)>,
    /// Bytes of standard output and standard error kept together. The guest can write more, which is counted and
    /// dropped, but for the last [`TAIL_BYTES`] of each.
    pub output_bytes_max: usize,
    /// Bytes that all files, names and inodes may take (`nospc` beyond). [`WasiConfig::files`] count, but always fit.
    pub fs_bytes_max: usize,
    /// Descriptors open at the same time, the four that are open at the start included (`mfile` beyond).
    pub open_files_max: usize,
    /// Work that the calls of one execution may be, in units of fuel: [`CALL_WORK`] for each call, one for each 8 bytes
    /// that it reads, writes or moves, and more for what it looks for: components of paths, names, descriptors. Beyond
    /// it the execution ends, as it does when the guest itself runs out of fuel.
    pub work_max: u64,
}

/// What a call costs at least, in units of fuel: about the instructions of a small one.
pub const CALL_WORK: u64 = 64;

/// What it costs besides that the host calls the guest.
const NESTED_WORK: u64 = 512;

impl Default for WasiConfig {
    fn default() -> Self {
        Self {
            args: vec![b"program".to_vec()],
            env: Vec::new(),
            files: Vec::new(),
            output_bytes_max: 1 << 20,
            fs_bytes_max: 64 << 20,
            open_files_max: 1024,
            work_max: 1 << 30,
        }
    }
}

/// All that a guest can see or change through WASI.
///
/// Life of one: [`Wasi::new`], the guest's initialiser runs, [`Wasi::snapshot`]; then for each execution
/// [`Wasi::reset`], perhaps [`Wasi::set_file`], and the run.
pub struct Wasi {
    args: Strings,
    env: Strings,
    stdin: Vec<u8>,
    stdin_position: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    output_bytes_max: usize,
    exit_code: Option<u32>,
    work: u64,
    work_max: u64,
    small: Tracked<Small>,
    fs: Tracked<Fs>,
    has_files: bool,
    base: Base,
    /// Whose gap is none of the guest's memory, if that has one.
    gap: Option<(Arc<Region>, usize)>,
}

/// State that is small enough to be copied as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Small {
    fds: Fds,
    clock: Clock,
    random: Random,
    /// Preview 2's.
    handles: p2::Handles,
    /// JavaScript's.
    objects: Objects,
    /// JavaScript's, for Go.
    js_heap: Heap,
    output_dropped: u64,
    /// What was written last, of that; standard output, then standard error.
    tails: [Tail; 2],
}

impl Small {
    fn restore(&mut self, other: &Self) {
        self.fds.restore(&other.fds);
        self.clock = other.clock.clone();
        self.random = other.random.clone();
        self.handles.restore(&other.handles);
        self.objects.restore(&other.objects);
        self.js_heap.restore(&other.js_heap);
        self.output_dropped = other.output_dropped;
        self.tails.iter_mut().zip(&other.tails).for_each(|(tail, other)| tail.restore(other));
    }
}

/// What [`Wasi::reset`] goes back to, apart from the file system, which keeps that itself.
struct Base {
    small: Small,
    /// Bytes that the initialiser wrote: they are part of every execution's output.
    stdout_len: usize,
    stderr_len: usize,
}

/// Strings as `args_get` and `environ_get` store them: each ended by a zero byte.
struct Strings {
    bytes: Vec<u8>,
    /// Index of each string's first byte.
    starts: Vec<u32>,
}

impl Strings {
    /// A string that contains a zero byte is cut there, since the guest could not tell.
    fn new(strings: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut all = Self { bytes: Vec::new(), starts: Vec::new() };
        strings.into_iter().for_each(|string| all.push(&string));
        all
    }

    fn push(&mut self, string: &[u8]) {
        let start = u32::try_from(self.bytes.len()).expect("arguments and environment are shorter than 4 GiB");
        self.starts.push(start);
        self.bytes.extend(string.iter().take_while(|byte| **byte != 0));
        self.bytes.push(0);
    }

    /// The strings without their ends.
    fn iter(&self) -> impl Iterator<Item = Vec<u8>> {
        let ends = self.starts.iter().skip(1).map(|end| *end as usize).chain([self.bytes.len()]);
        self.starts.iter().zip(ends).map(|(start, end)| self.bytes[*start as usize..end - 1].to_vec())
    }
}

/// A variable as programs find it.
fn variable(name: &[u8], value: &[u8]) -> Vec<u8> {
    [name, b"=", value].concat()
}

impl Wasi {
    /// The state in which a program starts, with an empty standard input.
    pub fn new(config: WasiConfig) -> Self {
        let clock = Clock::new();
        let now = clock.realtime();
        let mut fs = Fs::new(config.fs_bytes_max, now);
        for (path, bytes) in &config.files {
            // Nothing is open yet, so what an odd list replaces needs no care.
            for Orphan(ino) in fs.put(path, bytes, now) {
                fs.free(ino);
            }
        }
        fs.snapshot();
        let fds = Fds::new(Fs::ROOT, config.open_files_max);
        let (random, handles, objects) = (Random::new(), p2::Handles::default(), Objects::default());
        let js_heap = Heap::default();
        let small =
            Small { fds, clock, random, handles, objects, js_heap, output_dropped: 0, tails: Default::default() };
        Self {
            args: Strings::new(config.args),
            env: Strings::new(config.env.iter().map(|(name, value)| variable(name, value))),
            stdin: Vec::new(),
            stdin_position: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            output_bytes_max: config.output_bytes_max,
            exit_code: None,
            work: 0,
            work_max: config.work_max,
            base: Base { small: small.clone(), stdout_len: 0, stderr_len: 0 },
            small: Tracked::new(small),
            fs: Tracked::new(fs),
            has_files: !config.files.is_empty(),
            gap: None,
        }
    }

    /// Keeps calls out of what is between the guest's part of this memory, which is the one that pointers mean, and an
    /// offset.
    pub(super) fn has_gap(&mut self, region: Arc<Region>, end: usize) {
        self.gap = Some((region, end));
    }

    /// Whether some of these bytes of memory are nobody's: there may be nothing behind the addresses.
    pub(super) fn touches_gap(&self, at: u32, len: u32) -> bool {
        let (start, end) = (at as usize, at as usize + len as usize);
        self.gap().is_some_and(|gap| start < gap.end && end > gap.start)
    }

    /// The bytes of memory that are nobody's, if there are some.
    fn gap(&self) -> Option<Range<usize>> {
        self.gap.as_ref().map(|(region, end)| region.size()..*end)
    }

    /// Goes back to the state after [`Wasi::new`] or the last [`Wasi::snapshot`], with `stdin` as standard input,
    /// unread.
    ///
    /// Costs what the execution changed; nothing is allocated once the buffers have grown to what executions need.
    pub fn reset(&mut self, stdin: &[u8]) {
        self.stdin.clear();
        self.stdin.extend_from_slice(stdin);
        self.stdin_position = 0;
        self.stdout.truncate(self.base.stdout_len);
        self.stderr.truncate(self.base.stderr_len);
        self.exit_code = None;
        self.work = 0;
        self.small.restore(|small| small.restore(&self.base.small));
        self.fs.restore(Fs::reset);
    }

    /// Makes the present state the one to which [`Wasi::reset`] goes back: for when the guest's initialiser has run.
    ///
    /// What the initialiser wrote is then the beginning of every execution's output. Standard input and the exit code
    /// are not part of the state.
    pub fn snapshot(&mut self) {
        self.small.objects.keep();
        self.small.js_heap.keep();
        self.base = Base { small: self.small.clone(), stdout_len: self.stdout.len(), stderr_len: self.stderr.len() };
        self.fs.snapshot();
        // What was done until now is no execution's.
        self.fs.take_work();
    }

    /// Replaces a file's contents for this execution; [`Wasi::reset`] undoes it. `path` is absolute; what is in the way
    /// is replaced, directories on the way are made, and the limit of the file system is not asked. Cheapest for a file
    /// of [`WasiConfig::files`], whose buffer is used again.
    pub fn set_file(&mut self, path: &str, bytes: &[u8]) {
        let now = self.now();
        for orphan in self.fs.put(path, bytes, now) {
            self.reap(orphan);
        }
    }

    /// What is in a file, by its absolute path; `None` if there is no such file. Links are not followed.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.fs.file(path)
    }

    /// What was written to descriptor 1 (wherever the guest renumbered it to), up to the limit.
    pub fn stdout(&self) -> &[u8] {
        &self.stdout
    }

    /// What was written to descriptor 2, up to the limit.
    pub fn stderr(&self) -> &[u8] {
        &self.stderr
    }

    /// The last [`TAIL_BYTES`] that were written to descriptor 1, and whether that is not all.
    pub fn stdout_tail(&self) -> (Vec<u8>, bool) {
        self.small.tails[Output::Stdout as usize].after(&self.stdout)
    }

    /// The last [`TAIL_BYTES`] that were written to descriptor 2, and whether that is not all.
    pub fn stderr_tail(&self) -> (Vec<u8>, bool) {
        self.small.tails[Output::Stderr as usize].after(&self.stderr)
    }

    /// Bytes of output that went over the limit.
    pub fn output_dropped(&self) -> u64 {
        self.small.output_dropped
    }

    /// What the guest passed to `proc_exit` in this execution.
    pub fn exit_code(&self) -> Option<u32> {
        self.exit_code
    }

    /// Work of this execution's calls so far, in units of fuel.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// From now on an execution's calls may be so much work.
    pub fn set_work_max(&mut self, work_max: u64) {
        self.work_max = work_max;
    }

    /// Counts the work of a call that moved `bytes`.
    fn charge(&mut self, bytes: u64) -> Result<(), Exhausted> {
        self.work += CALL_WORK + bytes / 8;
        self.check_work()
    }

    /// Counts work that is no call of its own.
    pub(super) fn worked(&mut self, units: u64) -> Result<(), Exhausted> {
        self.work += units;
        self.check_work()
    }

    fn check_work(&self) -> Result<(), Exhausted> {
        if self.work > self.work_max { Err(Exhausted) } else { Ok(()) }
    }

    /// Counts a call of a function of the host's that is not WASI's.
    pub(super) fn called(&mut self) -> Result<(), Exhausted> {
        self.charge(0)
    }

    /// The values of JavaScript that the guest holds.
    pub(super) fn objects(&mut self) -> &mut Objects {
        &mut self.small.objects
    }

    /// Milliseconds, since the start of the execution or of 1970. Looking takes time, as any look does.
    pub(super) fn milliseconds(&mut self, since_1970: bool) -> f64 {
        let elapsed = self.small.clock.look();
        let start = if since_1970 { Clock::REALTIME_START } else { 0 };
        (start + elapsed) as f64 / 1e6
    }

    /// Fills bytes as `random_get` does.
    pub(super) fn random(&mut self, bytes: &mut [u8]) {
        self.small.random.fill(bytes);
    }

    /// Takes a handle that the guest gives away.
    pub(super) fn give_away(&mut self, handle: u32, of: HandleType) -> Result<(), p2::UnknownHandle> {
        self.small.handles.give_away(handle, of)
    }

    /// Counts one that calls a function of the guest's, which is so much work itself.
    pub(super) fn passed_on(&mut self, work: u64) -> Result<(), Exhausted> {
        self.worked(NESTED_WORK + work)
    }

    /// The time stamp of what changes now.
    fn now(&self) -> u64 {
        self.small.clock.realtime()
    }

    /// Frees what lost its last name, unless a descriptor holds it.
    fn reap(&mut self, Orphan(ino): Orphan) {
        if self.fs.get(ino).nlink > 0 {
            return;
        }
        self.fs.worked(self.small.fds.len() as u64);
        if !self.small.fds.holds(ino) {
            self.fs.free(ino);
        }
    }

    /// Does for a descriptor that was taken out of the table what closing it means.
    fn closed(&mut self, fd: Fd) {
        match fd {
            Fd::Stdin | Fd::Stdout | Fd::Stderr => {}
            Fd::Dir(descriptors::DirFd { ino, .. }) | Fd::File(descriptors::FileFd { ino, .. }) => {
                self.reap(Orphan(ino))
            }
        }
    }

    /// Writes to descriptor 2 for a function of the host that is not WASI's, which is work as any call's.
    pub(super) fn say(&mut self, text: &str) -> wasmtime::Result<()> {
        self.output(Output::Stderr, text.as_bytes());
        // To make the text was more work than to keep it.
        self.worked(text.len() as u64 * 2)?;
        Ok(self.charge(text.len() as u64)?)
    }

    /// Keeps what fits of the output, and counts the rest, of which it keeps the end.
    fn output(&mut self, to: Output, bytes: &[u8]) {
        let room = self.output_bytes_max.saturating_sub(self.stdout.len() + self.stderr.len());
        let (kept, dropped) = bytes.split_at(bytes.len().min(room));
        match to {
            Output::Stdout => self.stdout.extend_from_slice(kept),
            Output::Stderr => self.stderr.extend_from_slice(kept),
        }
        if !dropped.is_empty() {
            self.small.output_dropped += dropped.len() as u64;
            self.small.tails[to as usize].push(dropped);
        }
    }
}

impl fmt::Debug for Wasi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wasi").field("exit_code", &self.exit_code).finish_non_exhaustive()
    }
}

/// A standard stream for output.
#[derive(Clone, Copy, Debug)]
enum Output {
    Stdout,
    Stderr,
}

/// What `proc_exit` returns to end the execution: an error only to wasmtime, which unwinds the guest for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(
    /// The code that the guest passed.
    pub u32,
);

/// Ends an execution whose calls are more work than [`WasiConfig::work_max`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the program's calls are more work than the limit on fuel allows")
    }
}

impl std::error::Error for Exhausted {}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program exited with code {}", self.0)
    }
}

impl std::error::Error for Exit {}
