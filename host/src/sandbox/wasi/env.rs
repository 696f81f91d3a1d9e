//! Calls about the program's surroundings, which are made up: arguments, environment, time, randomness, signals,
//! sockets.

use super::abi::{Errno, Result, check_flags, fdflags};
use super::clock::Clock;
use super::guest::{Call, Guest};
use super::{Exit, Strings};

/// Number of clocks: real time, monotonic, CPU time of the process and of the thread.
const CLOCKS: u32 = 4;
const CLOCK_REALTIME: u32 = 0;
/// Number of signals, "none" included.
const SIGNALS: u32 = 31;

fn store_sizes(guest: &mut Guest<'_>, strings: &Strings, count: u32, bytes: u32) -> Result<()> {
    guest.write_u32(count, strings.starts.len() as u32)?;
    guest.write_u32(bytes, strings.bytes.len() as u32)
}

fn store_strings(guest: &mut Guest<'_>, strings: &Strings, pointers: u32, buffer: u32) -> Result<()> {
    let ends = strings.starts.iter().skip(1).copied().chain([strings.bytes.len() as u32]);
    for (index, (start, end)) in strings.starts.iter().zip(ends).enumerate() {
        let slot = pointers.checked_add(index as u32 * 4).ok_or(Errno::Fault)?;
        let place = buffer.checked_add(*start).ok_or(Errno::Fault)?;
        guest.write_u32(slot, place)?;
        guest.write(place, &strings.bytes[*start as usize..end as usize])?;
    }
    Ok(())
}

impl Call<'_> {
    pub(super) fn args_sizes_get(&mut self, count: u32, bytes: u32) -> Result<()> {
        store_sizes(&mut self.guest, &self.wasi.args, count, bytes)
    }

    pub(super) fn args_get(&mut self, pointers: u32, buffer: u32) -> Result<()> {
        store_strings(&mut self.guest, &self.wasi.args, pointers, buffer)
    }

    pub(super) fn environ_sizes_get(&mut self, count: u32, bytes: u32) -> Result<()> {
        store_sizes(&mut self.guest, &self.wasi.env, count, bytes)
    }

    pub(super) fn environ_get(&mut self, pointers: u32, buffer: u32) -> Result<()> {
        store_strings(&mut self.guest, &self.wasi.env, pointers, buffer)
    }

    pub(super) fn clock_res_get(&mut self, id: u32, result: u32) -> Result<()> {
        if id >= CLOCKS {
            return Err(Errno::Inval);
        }
        self.guest.write_u64(result, Clock::RESOLUTION)
    }

    /// All clocks but real time are the monotonic one: the program does nothing but run.
    pub(super) fn clock_time_get(&mut self, id: u32, _precision: u64, result: u32) -> Result<()> {
        if id >= CLOCKS {
            return Err(Errno::Inval);
        }
        let elapsed = self.wasi.small.clock.look();
        let time = if id == CLOCK_REALTIME { self.wasi.now() } else { elapsed };
        self.guest.write_u64(result, time)
    }

    pub(super) fn random_get(&mut self, buffer: u32, len: u32) -> Result<()> {
        if len > 0 {
            // To make them is more work than to move them.
            self.guest.worked(u64::from(len) / 2);
            self.wasi.small.random.fill(self.guest.bytes_mut(buffer, len)?);
        }
        Ok(())
    }

    pub(super) fn sched_yield(&mut self) -> Result<()> {
        Ok(())
    }

    /// Signals are not delivered; C libraries raise them without the host.
    pub(super) fn proc_raise(&mut self, signal: u32) -> Result<()> {
        Err(if signal < SIGNALS { Errno::Notsup } else { Errno::Inval })
    }

    /// Notes the exit code. The caller ends the execution with what this gives.
    pub(super) fn proc_exit(&mut self, code: u32) -> Exit {
        self.wasi.exit_code = Some(code);
        Exit(code)
    }

    pub(super) fn sock_accept(&mut self, fd: u32, flags: u32, _result: u32) -> Result<()> {
        check_flags(flags, fdflags::ALL)?;
        self.no_socket(fd)
    }

    pub(super) fn sock_recv(
        &mut self,
        fd: u32,
        _iovs: u32,
        _count: u32,
        flags: u32,
        _len: u32,
        _out: u32,
    ) -> Result<()> {
        check_flags(flags, 3)?;
        self.no_socket(fd)
    }

    pub(super) fn sock_send(&mut self, fd: u32, _iovs: u32, _count: u32, flags: u32, _len: u32) -> Result<()> {
        check_flags(flags, u32::from(u16::MAX))?;
        self.no_socket(fd)
    }

    pub(super) fn sock_shutdown(&mut self, fd: u32, how: u32) -> Result<()> {
        check_flags(how, 3)?;
        self.no_socket(fd)
    }

    fn no_socket(&self, fd: u32) -> Result<()> {
        self.wasi.small.fds.get(fd)?;
        Err(Errno::Notsock)
    }
}
