//! The message of a panic, as one line.

#[cfg(all(target_family = "wasm", feature = "std"))]
pub(crate) use with_std::install;
#[cfg(not(target_family = "wasm"))]
pub(crate) use with_std::text;

#[cfg(any(not(target_family = "wasm"), feature = "std"))]
mod with_std {
    use std::panic::PanicHookInfo;
    use std::string::String;

    /// `message, at src/lib.rs:3:5`
    pub(crate) fn text(info: &PanicHookInfo<'_>) -> String {
        let message = info.payload_as_str().unwrap_or("a panic without a message");
        match info.location() {
            Some(place) => std::format!("{message}, at {place}"),
            None => message.into(),
        }
    }

    /// From now on, panics are notes. They end in a trap, as std's panics do in wasm.
    #[cfg(target_family = "wasm")]
    pub(crate) fn install() {
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            std::panic::set_hook(std::boxed::Box::new(|info| {
                crate::imports::note_text(&std::format!("panic: {}", text(info)))
            }));
        });
    }
}

#[cfg(all(target_family = "wasm", not(feature = "std")))]
pub(crate) fn install() {}

/// Without std: the message becomes a note, and the execution ends in a trap.
#[cfg(all(target_family = "wasm", feature = "panic-handler", not(feature = "std")))]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let text = match info.location() {
        Some(place) => alloc::format!("panic: {}, at {place}", info.message()),
        None => alloc::format!("panic: {}", info.message()),
    };
    crate::imports::note_text(&text);
    crate::imports::trap()
}
