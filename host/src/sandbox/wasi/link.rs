//! The 46 functions by name and signature.

use super::Wasi;
use super::guest::{Call, Guest};
use wasmtime::{Caller, Linker, Memory};

/// The module name under which programs import them.
pub const MODULE: &str = "wasi_snapshot_preview1";

/// Runs `body` with the state and the memory of the calling instance, and charges for the work that it was.
fn enter<T: 'static, R>(
    caller: &mut Caller<'_, T>,
    access: impl Fn(&mut T) -> (Option<Memory>, &mut Wasi),
    body: impl FnOnce(&mut Call<'_>) -> R,
) -> wasmtime::Result<R> {
    let (bytes, wasi) = match access(caller.data_mut()).0 {
        Some(memory) => {
            let (bytes, data) = memory.data_and_store_mut(caller);
            (bytes, access(data).1)
        }
        None => (&mut [][..], access(caller.data_mut()).1),
    };
    let files = wasi.fs.bytes();
    let gap = wasi.gap().unwrap_or(bytes.len()..bytes.len());
    let mut call = Call { wasi, guest: Guest::new(bytes).with_gap(gap) };
    let result = body(&mut call);
    let touched = call.guest.touched() + call.wasi.fs.bytes().abs_diff(files) as u64;
    let work = call.wasi.fs.take_work();
    call.wasi.worked(work)?;
    call.wasi.charge(touched)?;
    Ok(result)
}

/// Generates `link` and `functions` from the signatures: `u32` and `u64` stand for i32 and i64. Each function but
/// `proc_exit` answers an errno and is the method of [`Call`] that has its name.
macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        const NAMES: &[&str] = &["proc_exit", $(stringify!($name)),*];

        /// Defines all functions of WASI preview 1 in `linker`.
        ///
        /// `access` gives the guest's memory (the calling instance's exported "memory", `None` if it has none, or a
        /// shared one: every pointer is then a bad one) and the state. It is called at each call, more than once.
        ///
        /// `proc_exit` calls `leaving` and ends the guest's call with the error [`Exit`](super::Exit), and any function
        /// ends it with [`Exhausted`](super::Exhausted) when the work of an execution's calls exceeds its limit. Errors
        /// only if a name is taken already.
        pub fn link<T: 'static>(
            linker: &mut Linker<T>,
            access: impl Fn(&mut T) -> (Option<Memory>, &mut Wasi) + Copy + Send + Sync + 'static,
            leaving: impl Fn(&mut Caller<'_, T>) + Send + Sync + 'static,
        ) -> anyhow::Result<()> {
            let result = define_all(linker, access, leaving);
            result.map_err(|error| anyhow::Error::from_boxed(error.into_boxed_dyn_error()))
        }

        fn define_all<T: 'static>(
            linker: &mut Linker<T>,
            access: impl Fn(&mut T) -> (Option<Memory>, &mut Wasi) + Copy + Send + Sync + 'static,
            leaving: impl Fn(&mut Caller<'_, T>) + Send + Sync + 'static,
        ) -> wasmtime::Result<()> {
            linker.func_wrap(MODULE, "proc_exit", move |mut caller: Caller<'_, T>, code: u32| -> wasmtime::Result<()> {
                leaving(&mut caller);
                Err(enter(&mut caller, access, |call| call.proc_exit(code))?.into())
            })?;
            $(
                linker.func_wrap(MODULE, stringify!($name), move |mut caller: Caller<'_, T>, $($arg: $type),*| -> wasmtime::Result<u32> {
                    enter(&mut caller, access, |call| match call.$name($($arg),*) {
                        Ok(()) => 0,
                        Err(errno) => errno as u32,
                    })
                })?;
            )*
            Ok(())
        }
    };
}

functions! {
    args_get(pointers: u32, buffer: u32);
    args_sizes_get(count: u32, bytes: u32);
    clock_res_get(id: u32, result: u32);
    clock_time_get(id: u32, precision: u64, result: u32);
    environ_get(pointers: u32, buffer: u32);
    environ_sizes_get(count: u32, bytes: u32);
    fd_advise(fd: u32, offset: u64, len: u64, advice: u32);
    fd_allocate(fd: u32, offset: u64, len: u64);
    fd_close(fd: u32);
    fd_datasync(fd: u32);
    fd_fdstat_get(fd: u32, result: u32);
    fd_fdstat_set_flags(fd: u32, flags: u32);
    fd_fdstat_set_rights(fd: u32, base: u64, inheriting: u64);
    fd_filestat_get(fd: u32, result: u32);
    fd_filestat_set_size(fd: u32, size: u64);
    fd_filestat_set_times(fd: u32, atim: u64, mtim: u64, flags: u32);
    fd_pread(fd: u32, iovs: u32, count: u32, offset: u64, result: u32);
    fd_prestat_dir_name(fd: u32, buffer: u32, len: u32);
    fd_prestat_get(fd: u32, result: u32);
    fd_pwrite(fd: u32, iovs: u32, count: u32, offset: u64, result: u32);
    fd_read(fd: u32, iovs: u32, count: u32, result: u32);
    fd_readdir(fd: u32, buffer: u32, len: u32, cookie: u64, result: u32);
    fd_renumber(from: u32, to: u32);
    fd_seek(fd: u32, offset: i64, whence: u32, result: u32);
    fd_sync(fd: u32);
    fd_tell(fd: u32, result: u32);
    fd_write(fd: u32, iovs: u32, count: u32, result: u32);
    path_create_directory(dir: u32, path: u32, len: u32);
    path_filestat_get(dir: u32, lookup: u32, path: u32, len: u32, result: u32);
    path_filestat_set_times(dir: u32, lookup: u32, path: u32, len: u32, atim: u64, mtim: u64, flags: u32);
    path_link(old_dir: u32, lookup: u32, old_path: u32, old_len: u32, new_dir: u32, new_path: u32, new_len: u32);
    path_open(
        dir: u32, lookup: u32, path: u32, len: u32, oflags: u32, base: u64, inheriting: u64, flags: u32, result: u32
    );
    path_readlink(dir: u32, path: u32, len: u32, buffer: u32, room: u32, result: u32);
    path_remove_directory(dir: u32, path: u32, len: u32);
    path_rename(old_dir: u32, old_path: u32, old_len: u32, new_dir: u32, new_path: u32, new_len: u32);
    path_symlink(target: u32, target_len: u32, dir: u32, path: u32, len: u32);
    path_unlink_file(dir: u32, path: u32, len: u32);
    poll_oneoff(subscriptions: u32, events: u32, count: u32, result: u32);
    proc_raise(signal: u32);
    random_get(buffer: u32, len: u32);
    sched_yield();
    sock_accept(fd: u32, flags: u32, result: u32);
    sock_recv(fd: u32, iovs: u32, count: u32, flags: u32, len: u32, out: u32);
    sock_send(fd: u32, iovs: u32, count: u32, flags: u32, len: u32);
    sock_shutdown(fd: u32, how: u32);
}

/// The names of the functions that [`link`] defines in the module `wasi_snapshot_preview1`.
pub fn functions() -> &'static [&'static str] {
    NAMES
}
