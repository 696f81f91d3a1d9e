//! What the tests of the rewriter share: an engine, and outcomes as text, to be compared between an original module
//! and the rewritten one.

#![allow(dead_code)] // each test uses its part

use fuzzbox_instrument::OffsetMap;
use wasmtime::{
    AnyRef, AsContextMut, Config, Engine, Error, Module, OptLevel, Rooted, ThrownException, Trap, Val, WasmBacktrace,
};

/// An engine which has all that the rewriter accepts, and leaves nothing to chance.
///
/// With `OptLevel::None` a trap's offset is that of its operator. The optimiser makes conditional traps of branches to
/// traps, which then have the branch's offset, so offsets are compared without it.
pub(crate) fn engine(opt_level: OptLevel, adjust: impl FnOnce(&mut Config)) -> Engine {
    let mut config = Config::new();
    config
        .wasm_custom_page_sizes(true)
        .wasm_wide_arithmetic(true)
        .wasm_function_references(true)
        .wasm_gc(true)
        .wasm_exceptions(true)
        .shared_memory(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .cranelift_opt_level(opt_level);
    adjust(&mut config);
    Engine::new(&config).unwrap()
}

/// Rewritten modules, to find originals' offsets.
pub(crate) struct Origins {
    /// Whether offsets are left out.
    without_offsets: bool,
    maps: Vec<(Module, OffsetMap)>,
}

impl Origins {
    /// For an engine with this level: see [`engine`].
    pub(crate) fn new(opt_level: OptLevel) -> Origins {
        Origins { without_offsets: opt_level != OptLevel::None, maps: Vec::new() }
    }

    /// Remembers that `module` was rewritten so.
    pub(crate) fn add(&mut self, module: Module, map: OffsetMap) {
        self.maps.push((module, map));
    }

    /// Says how a call or an instantiation failed: the trap, and the frames by function and offset in the original.
    pub(crate) fn failure(&self, error: &Error) -> String {
        match error.downcast_ref::<Trap>() {
            Some(trap) => match (trap, error.downcast_ref::<WasmBacktrace>()) {
                // How deep the stack got depends on the size of frames.
                (Trap::StackOverflow, _) | (_, None) => format!("trap {trap:?}"),
                _ if self.without_offsets => format!("trap {trap:?}"),
                (_, Some(backtrace)) => format!("trap {trap:?} at {}", self.frames(backtrace)),
            },
            None if error.is::<ThrownException>() => "exception".to_owned(),
            None => "refused".to_owned(),
        }
    }

    fn frames(&self, backtrace: &WasmBacktrace) -> String {
        let frames = backtrace.frames().iter().map(|frame| {
            let map = self.maps.iter().find(|(module, _)| Module::same(module, frame.module())).map(|(_, map)| map);
            let offset = frame.module_offset().and_then(|offset| match map {
                Some(map) => map.original(u32::try_from(offset).unwrap()),
                None => u32::try_from(offset).ok(),
            });
            format!("{}:{offset:x?}", frame.func_index())
        });
        frames.collect::<Vec<_>>().join(" ")
    }
}

/// Says what a value is: numbers by their bits, references by what can be told without identity.
pub(crate) fn describe(store: &mut impl AsContextMut, value: &Val) -> String {
    match value {
        Val::I32(bits) => format!("i32:{bits:x}"),
        Val::I64(bits) => format!("i64:{bits:x}"),
        Val::F32(bits) => format!("f32:{bits:x}"),
        Val::F64(bits) => format!("f64:{bits:x}"),
        Val::V128(bits) => format!("v128:{:x}", bits.as_u128()),
        Val::FuncRef(func) => format!("func:{}", if func.is_some() { "some" } else { "null" }),
        Val::ExternRef(None) => "extern:null".to_owned(),
        Val::ExternRef(Some(reference)) => {
            if let Some(data) = reference.data(&mut *store).unwrap() {
                return format!("extern:{:?}", data.downcast_ref::<u32>());
            }
            let inner = AnyRef::convert_extern(&mut *store, *reference).unwrap();
            format!("extern:{}", any(store, inner))
        }
        Val::AnyRef(None) => "any:null".to_owned(),
        Val::AnyRef(Some(reference)) => any(store, *reference),
        Val::ExnRef(reference) => format!("exn:{}", if reference.is_some() { "some" } else { "null" }),
        Val::ContRef(_) => "cont".to_owned(),
    }
}

fn any(store: &mut impl AsContextMut, reference: Rooted<AnyRef>) -> String {
    let store = &mut *store;
    if let Some(number) = reference.as_i31(&mut *store).unwrap() {
        format!("i31:{:x}", number.get_u32())
    } else if reference.is_struct(&mut *store).unwrap() {
        "struct".to_owned()
    } else if reference.is_array(&mut *store).unwrap() {
        "array".to_owned()
    } else {
        "any".to_owned()
    }
}

/// Says what values are, in order.
pub(crate) fn describe_all(store: &mut impl AsContextMut, values: &[Val]) -> String {
    values.iter().map(|value| describe(store, value)).collect::<Vec<_>>().join(" ")
}
