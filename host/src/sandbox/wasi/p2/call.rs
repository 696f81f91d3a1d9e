//! The functions, over the guest's memory.

use super::super::clock::Clock;
use super::super::{Output, Wasi};
use super::Options;
use super::handles::{Handle, Unknown};
use wasmtime::{Caller, Extern, Memory, Result, Trap};

/// The most that an output stream takes at a time, and an input stream gives, in bytes.
const CHUNK: u64 = 1 << 16;

/// Looking for an export by its name, in units of fuel.
const EXPORT_WORK: u64 = 128;

/// Discriminants of `stream-error`: the operation before it failed, the stream is closed.
const CLOSED: u8 = 1;
/// `error-code.not-supported` of sockets.
const NOT_SUPPORTED: u8 = 2;

/// One call in progress.
pub(super) struct Call<'a, 'c, T: 'static> {
    caller: &'a mut Caller<'c, T>,
    options: &'a Options,
    access: fn(&mut T) -> &mut Wasi,
}

impl<'a, 'c, T: 'static> Call<'a, 'c, T> {
    pub(super) fn new(caller: &'a mut Caller<'c, T>, options: &'a Options, access: fn(&mut T) -> &mut Wasi) -> Self {
        Self { caller, options, access }
    }

    fn wasi(&mut self) -> &mut Wasi {
        (self.access)(self.caller.data_mut())
    }

    fn charge(&mut self, bytes: u64) -> Result<()> {
        Ok(self.wasi().charge(bytes)?)
    }

    /// An export, which is looked for by its name.
    fn export(&mut self, name: &str) -> Result<Option<Extern>> {
        self.wasi().worked(EXPORT_WORK)?;
        Ok(self.caller.get_export(name))
    }

    fn memory(&mut self) -> Result<Memory> {
        let options = self.options;
        let export = options.memory.as_ref().map(|name| self.export(name)).transpose()?.flatten();
        export.and_then(Extern::into_memory).ok_or_else(|| Trap::MemoryOutOfBounds.into())
    }

    /// Stores `bytes` at `at`.
    fn store(&mut self, at: u32, bytes: &[u8]) -> Result<()> {
        self.charge(bytes.len() as u64)?;
        let memory = self.memory()?.data_mut(&mut *self.caller);
        let room = memory.get_mut(at as usize..).and_then(|memory| memory.get_mut(..bytes.len()));
        room.ok_or(Trap::MemoryOutOfBounds)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Memory of the guest's for `size` bytes.
    fn allocate(&mut self, align: u32, size: u32) -> Result<u32> {
        let options = self.options;
        let export = options.realloc.as_ref().map(|name| self.export(name)).transpose()?.flatten();
        self.wasi().passed_on(0)?;
        let realloc = export.and_then(Extern::into_func);
        let realloc = realloc.ok_or(Trap::MemoryOutOfBounds)?.typed::<(u32, u32, u32, u32), u32>(&*self.caller)?;
        let at = realloc.call(&mut *self.caller, (0, 0, align, size))?;
        if at.is_multiple_of(align) { Ok(at) } else { Err(Trap::HeapMisaligned.into()) }
    }

    /// A list of bytes in the guest's memory: address and length.
    fn list(&mut self, bytes: &[u8]) -> Result<[u32; 2]> {
        let len = u32::try_from(bytes.len())?;
        let at = self.allocate(1, len)?;
        self.store(at, bytes)?;
        Ok([at, len])
    }

    fn store_words(&mut self, at: u32, words: &[u32]) -> Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.store(at, &bytes)
    }

    /// Stores lists of lists of strings, `width` of them for each item.
    fn strings(&mut self, strings: &[Vec<u8>], width: usize, result: u32) -> Result<()> {
        let mut words = Vec::new();
        for string in strings {
            words.extend(self.list(string)?);
        }
        let at = if words.is_empty() { 0 } else { self.allocate(4, u32::try_from(words.len() * 4)?)? };
        if !words.is_empty() {
            self.store_words(at, &words)?;
        }
        self.store_words(result, &[at, u32::try_from(strings.len() / width)?])
    }

    fn give(&mut self, handle: Handle) -> Result<u32> {
        self.charge(0)?;
        Ok(self.wasi().small.handles.give(handle)?)
    }

    fn handle(&mut self, number: u32) -> Result<Handle> {
        self.charge(0)?;
        Ok(self.wasi().small.handles.get(number)?)
    }

    fn output(&mut self, stream: u32) -> Result<Output> {
        match self.handle(stream)? {
            Handle::Stdout => Ok(Output::Stdout),
            Handle::Stderr => Ok(Output::Stderr),
            _ => Err(Unknown.into()),
        }
    }

    fn stdin(&mut self, stream: u32) -> Result<()> {
        if self.handle(stream)? == Handle::Stdin { Ok(()) } else { Err(Unknown.into()) }
    }

    fn pollable(&mut self, pollable: u32) -> Result<u64> {
        match self.handle(pollable)? {
            Handle::Pollable(when) => Ok(when),
            _ => Err(Unknown.into()),
        }
    }

    /// Takes a handle back if it is for what the guest says.
    fn drop_handle(&mut self, number: u32, is: impl Fn(Handle) -> bool) -> Result<()> {
        let handle = self.handle(number)?;
        if !is(handle) {
            return Err(Unknown.into());
        }
        self.wasi().small.handles.drop(number)?;
        Ok(())
    }

    /// `ok` with a number, at address `at`.
    fn ok_u64(&mut self, at: u32, value: u64) -> Result<()> {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&value.to_le_bytes());
        self.store(at, &bytes)
    }
}

impl<T: 'static> Call<'_, '_, T> {
    pub(super) fn resource_new(&mut self, representation: u32) -> Result<u32> {
        self.give(Handle::Own(self.options.resource, representation))
    }

    pub(super) fn resource_rep(&mut self, handle: u32) -> Result<u32> {
        match self.handle(handle)? {
            Handle::Own(resource, representation) if resource == self.options.resource => Ok(representation),
            _ => Err(Unknown.into()),
        }
    }

    pub(super) fn resource_drop(&mut self, handle: u32) -> Result<()> {
        let representation = self.resource_rep(handle)?;
        self.wasi().small.handles.drop(handle)?;
        let Some(destructor) = &self.options.destructor else { return Ok(()) };
        let destructor = self.export(destructor)?.and_then(Extern::into_func).ok_or(Unknown)?;
        self.wasi().passed_on(0)?;
        destructor.typed::<u32, ()>(&*self.caller)?.call(&mut *self.caller, representation)
    }

    pub(super) fn get_environment(&mut self, result: u32) -> Result<()> {
        let pairs: Vec<_> = self.wasi().env.iter().collect();
        let split = |string: Vec<u8>| {
            let at = string.iter().position(|byte| *byte == b'=').unwrap_or(string.len());
            [string[..at].to_vec(), string[(at + 1).min(string.len())..].to_vec()]
        };
        let strings: Vec<_> = pairs.into_iter().flat_map(split).collect();
        self.strings(&strings, 2, result)
    }

    pub(super) fn get_arguments(&mut self, result: u32) -> Result<()> {
        let strings: Vec<_> = self.wasi().args.iter().collect();
        self.strings(&strings, 1, result)
    }

    /// An `option` without value.
    pub(super) fn none(&mut self, result: u32) -> Result<()> {
        self.store(result, &[0])
    }

    pub(super) fn empty_list(&mut self, result: u32) -> Result<()> {
        self.store_words(result, &[0, 0])
    }

    /// `exit` has a `result`, 1 of which is the error; `exit-with-code` the code itself.
    pub(super) fn exit(&mut self, code: u32) -> Result<()> {
        self.charge(0)?;
        self.wasi().exit_code = Some(code);
        Err(super::super::Exit(code).into())
    }

    pub(super) fn get_stdin(&mut self) -> Result<u32> {
        self.give(Handle::Stdin)
    }

    pub(super) fn get_stdout(&mut self) -> Result<u32> {
        self.give(Handle::Stdout)
    }

    pub(super) fn get_stderr(&mut self) -> Result<u32> {
        self.give(Handle::Stderr)
    }

    pub(super) fn now(&mut self) -> Result<u64> {
        self.charge(0)?;
        Ok(self.wasi().small.clock.look())
    }

    pub(super) fn resolution(&mut self) -> Result<u64> {
        self.charge(0)?;
        Ok(Clock::RESOLUTION)
    }

    pub(super) fn subscribe_instant(&mut self, when: u64) -> Result<u32> {
        self.give(Handle::Pollable(when))
    }

    pub(super) fn subscribe_duration(&mut self, duration: u64) -> Result<u32> {
        let when = self.wasi().small.clock.elapsed().saturating_add(duration);
        self.give(Handle::Pollable(when))
    }

    fn store_time(&mut self, at: u32, nanoseconds: u64) -> Result<()> {
        const PER_SECOND: u64 = 1_000_000_000;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&(nanoseconds / PER_SECOND).to_le_bytes());
        bytes[8..12].copy_from_slice(&((nanoseconds % PER_SECOND) as u32).to_le_bytes());
        self.store(at, &bytes[..12])
    }

    pub(super) fn wall_now(&mut self, result: u32) -> Result<()> {
        self.wasi().small.clock.look();
        let now = self.wasi().now();
        self.store_time(result, now)
    }

    pub(super) fn wall_resolution(&mut self, result: u32) -> Result<()> {
        self.store_time(result, Clock::RESOLUTION)
    }

    pub(super) fn pollable_ready(&mut self, pollable: u32) -> Result<u32> {
        let when = self.pollable(pollable)?;
        Ok(u32::from(self.wasi().small.clock.elapsed() >= when))
    }

    /// Time passes until it is ready, and at once.
    pub(super) fn pollable_block(&mut self, pollable: u32) -> Result<()> {
        let when = self.pollable(pollable)?;
        self.wasi().small.clock.wait_until(when);
        Ok(())
    }

    /// The indices of those that are ready, once the first one is.
    pub(super) fn poll(&mut self, list: u32, len: u32, result: u32) -> Result<()> {
        self.charge(u64::from(len) * 4)?;
        let memory = self.memory()?;
        let bytes = memory.data(&*self.caller).get(list as usize..);
        let bytes = bytes.and_then(|bytes| bytes.get(..len as usize * 4)).ok_or(Trap::MemoryOutOfBounds)?.to_vec();
        let mut times = Vec::new();
        for number in bytes.chunks_exact(4) {
            times.push(self.pollable(u32::from_le_bytes(number.try_into().expect("four bytes")))?);
        }
        // An empty list would wait for ever.
        let Some(&first) = times.iter().min() else { return Err(Unknown.into()) };
        self.wasi().small.clock.wait_until(first);
        let now = self.wasi().small.clock.elapsed().max(first);
        let ready: Vec<u32> = (0..).zip(&times).filter(|(_, when)| **when <= now).map(|(index, _)| index).collect();
        let at = self.allocate(4, u32::try_from(ready.len() * 4)?)?;
        self.store_words(at, &ready)?;
        self.store_words(result, &[at, u32::try_from(ready.len())?])
    }

    pub(super) fn drop_pollable(&mut self, pollable: u32) -> Result<()> {
        self.drop_handle(pollable, |handle| matches!(handle, Handle::Pollable(_)))
    }

    /// Takes up to `len` bytes of the input; `None` if there are no more.
    fn take(&mut self, len: u64) -> Option<Vec<u8>> {
        let wasi = self.wasi();
        let rest = &wasi.stdin[wasi.stdin_position..];
        if rest.is_empty() && len > 0 {
            return None;
        }
        // No more than there is, in all calls together: it need not be charged.
        let taken = rest[..rest.len().min(len.min(CHUNK) as usize)].to_vec();
        wasi.stdin_position += taken.len();
        Some(taken)
    }

    pub(super) fn read(&mut self, stream: u32, len: u64, result: u32) -> Result<()> {
        self.stdin(stream)?;
        match self.take(len) {
            Some(bytes) => {
                let [at, len] = self.list(&bytes)?;
                self.store_words(result, &[0, at, len])
            }
            None => self.store(result, &[1, 0, 0, 0, CLOSED]),
        }
    }

    pub(super) fn skip(&mut self, stream: u32, len: u64, result: u32) -> Result<()> {
        self.stdin(stream)?;
        match self.take(len) {
            Some(bytes) => self.ok_u64(result, bytes.len() as u64),
            None => self.store(result, &[1, 0, 0, 0, 0, 0, 0, 0, CLOSED]),
        }
    }

    pub(super) fn subscribe_input(&mut self, stream: u32) -> Result<u32> {
        self.stdin(stream)?;
        self.give(Handle::Pollable(0))
    }

    pub(super) fn drop_input(&mut self, stream: u32) -> Result<()> {
        self.drop_handle(stream, |handle| handle == Handle::Stdin)
    }

    pub(super) fn check_write(&mut self, stream: u32, result: u32) -> Result<()> {
        self.output(stream)?;
        self.ok_u64(result, CHUNK)
    }

    pub(super) fn write(&mut self, stream: u32, bytes: u32, len: u32, result: u32) -> Result<()> {
        let to = self.output(stream)?;
        self.charge(u64::from(len))?;
        let (memory, data) = self.memory()?.data_and_store_mut(&mut *self.caller);
        let bytes = memory.get(bytes as usize..).and_then(|memory| memory.get(..len as usize));
        (self.access)(data).output(to, bytes.ok_or(Trap::MemoryOutOfBounds)?);
        self.store(result, &[0])
    }

    pub(super) fn flush(&mut self, stream: u32, result: u32) -> Result<()> {
        self.output(stream)?;
        self.store(result, &[0])
    }

    pub(super) fn subscribe_output(&mut self, stream: u32) -> Result<u32> {
        self.output(stream)?;
        self.give(Handle::Pollable(0))
    }

    pub(super) fn write_zeroes(&mut self, stream: u32, len: u64, result: u32) -> Result<()> {
        let to = self.output(stream)?;
        // No more is allowed than what `check-write` said.
        let len = len.min(CHUNK);
        self.charge(len)?;
        self.wasi().output(to, &[0; CHUNK as usize][..len as usize]);
        self.store(result, &[0])
    }

    pub(super) fn drop_output(&mut self, stream: u32) -> Result<()> {
        self.drop_handle(stream, |handle| matches!(handle, Handle::Stdout | Handle::Stderr))
    }

    pub(super) fn random_bytes(&mut self, len: u64, result: u32) -> Result<()> {
        let size = u32::try_from(len).map_err(|_| Trap::MemoryOutOfBounds)?;
        // The guest allocates first, so that it can't make the host take more than it has itself.
        let at = self.allocate(1, size)?;
        self.charge(len.saturating_mul(4))?;
        let (memory, data) = self.memory()?.data_and_store_mut(&mut *self.caller);
        let bytes = memory.get_mut(at as usize..).and_then(|memory| memory.get_mut(..size as usize));
        (self.access)(data).small.random.fill(bytes.ok_or(Trap::MemoryOutOfBounds)?);
        self.store_words(result, &[at, size])
    }

    fn random<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.charge(N as u64)?;
        let mut bytes = [0; N];
        self.wasi().small.random.fill(&mut bytes);
        Ok(bytes)
    }

    pub(super) fn random_u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.random()?))
    }

    pub(super) fn insecure_seed(&mut self, result: u32) -> Result<()> {
        let bytes: [u8; 16] = self.random()?;
        self.store(result, &bytes)
    }

    pub(super) fn no_socket(&mut self, _family: u32, result: u32) -> Result<()> {
        self.store(result, &[1, 0, 0, 0, NOT_SUPPORTED])
    }
}
