//! `poll_oneoff`: waiting, in a world where everything is ready and time can be moved.

use super::abi::{EVENT_BYTES, Errno, Result, SUBSCRIPTION_BYTES};
use super::clock::Clock;
use super::descriptors::Fd;
use super::guest::Call;

/// What a subscription is, in units of fuel.
const SUBSCRIPTION_WORK: u64 = 32;

const TYPE_CLOCK: u8 = 0;
const TYPE_FD_READ: u8 = 1;
const TYPE_FD_WRITE: u8 = 2;
const FLAG_ABSTIME: u16 = 1;
const FLAG_HANGUP: u16 = 1;
const CLOCK_REALTIME: u32 = 0;
const CLOCKS: u32 = 4;

/// What a subscription waits for.
#[derive(Clone, Copy, Debug)]
enum Wait {
    /// A time since the start of the execution, in nanoseconds.
    Until(u64),
    /// Ready at once: number of bytes that can be read or written, and whether there will never be more.
    Ready { kind: u8, bytes: u64, end: bool },
}

impl Call<'_> {
    /// Descriptors are always ready, since nothing comes from outside: standard input is known from the start. If there
    /// are none among the subscriptions, the clock moves to the earliest deadline. The call never takes real time.
    ///
    /// As under wasmtime, a bad subscription fails the whole call and not only its event.
    pub(super) fn poll_oneoff(&mut self, subscriptions: u32, events: u32, count: u32, result: u32) -> Result<()> {
        if count == 0 {
            return Err(Errno::Inval);
        }
        let range = |size: u32| count.checked_mul(size).ok_or(Errno::Fault);
        self.guest.bytes(subscriptions, range(SUBSCRIPTION_BYTES)?)?;
        self.guest.bytes(events, range(EVENT_BYTES)?)?;
        self.guest.worked(u64::from(count) * SUBSCRIPTION_WORK);
        let now = self.wasi.small.clock.elapsed();
        let mut earliest = u64::MAX;
        for index in 0..count {
            earliest = earliest.min(match self.subscription(subscriptions, index, now)? {
                Wait::Until(deadline) => deadline,
                Wait::Ready { .. } => now,
            });
        }
        self.wasi.small.clock.wait_until(earliest);
        let then = self.wasi.small.clock.elapsed();
        let mut stored = 0;
        for index in 0..count {
            let (kind, bytes, end) = match self.subscription(subscriptions, index, now)? {
                Wait::Until(deadline) if deadline > then => continue,
                Wait::Until(_) => (TYPE_CLOCK, 0, false),
                Wait::Ready { kind, bytes, end } => (kind, bytes, end),
            };
            let userdata = self.guest.u64_at(subscriptions + index * SUBSCRIPTION_BYTES)?;
            let event = self.guest.bytes_mut(events + stored * EVENT_BYTES, EVENT_BYTES)?;
            event[..8].copy_from_slice(&userdata.to_le_bytes());
            event[8..10].copy_from_slice(&0_u16.to_le_bytes());
            event[10] = kind;
            event[16..24].copy_from_slice(&bytes.to_le_bytes());
            event[24..26].copy_from_slice(&(if end { FLAG_HANGUP } else { 0 }).to_le_bytes());
            stored += 1;
        }
        self.guest.write_u32(result, stored)
    }

    /// Reads subscription number `index`, which lies in memory. `now` is the time at which the call began.
    fn subscription(&self, subscriptions: u32, index: u32, now: u64) -> Result<Wait> {
        let at = subscriptions + index * SUBSCRIPTION_BYTES;
        let [kind] = self.guest.array(at + 8)?;
        match kind {
            TYPE_CLOCK => self.deadline(at + 16, now),
            TYPE_FD_READ => self.readable(self.guest.u32_at(at + 16)?),
            TYPE_FD_WRITE => self.writable(self.guest.u32_at(at + 16)?),
            _ => Err(Errno::Inval),
        }
    }

    fn deadline(&self, at: u32, now: u64) -> Result<Wait> {
        let clock = self.guest.u32_at(at)?;
        let timeout = self.guest.u64_at(at + 8)?;
        let flags = u16::from_le_bytes(self.guest.array(at + 24)?);
        if clock >= CLOCKS || flags & !FLAG_ABSTIME != 0 {
            return Err(Errno::Inval);
        }
        let deadline = match (flags & FLAG_ABSTIME != 0, clock) {
            (false, _) => now.saturating_add(timeout),
            (true, CLOCK_REALTIME) => timeout.saturating_sub(Clock::REALTIME_START),
            (true, _) => timeout,
        };
        Ok(Wait::Until(Clock::reachable(deadline)))
    }

    fn readable(&self, fd: u32) -> Result<Wait> {
        let bytes = match self.wasi.small.fds.get(fd)? {
            Fd::Stdin => (self.wasi.stdin.len() - self.wasi.stdin_position) as u64,
            Fd::File(file) => self.wasi.fs.size(file.ino).saturating_sub(file.position),
            Fd::Stdout | Fd::Stderr | Fd::Dir(_) => return Err(Errno::Badf),
        };
        Ok(Wait::Ready { kind: TYPE_FD_READ, bytes, end: bytes == 0 })
    }

    fn writable(&self, fd: u32) -> Result<Wait> {
        match self.wasi.small.fds.get(fd)? {
            Fd::Stdout | Fd::Stderr | Fd::File(_) => Ok(Wait::Ready { kind: TYPE_FD_WRITE, bytes: 1, end: false }),
            Fd::Stdin | Fd::Dir(_) => Err(Errno::Badf),
        }
    }
}
