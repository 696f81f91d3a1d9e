//! What the tests of the rewriter share: an engine, and outcomes as text, to be compared between an original module
//! and the rewritten one.

#![allow(dead_code)] // each test uses its part

pub(crate) mod calls;
pub(crate) mod smith;

use std::num::NonZeroUsize;

use fuzzbox_instrument::OffsetMap;
use wasmtime::{
    AnyRef, AsContextMut, Config, Engine, Error, FrameInfo, Module, OptLevel, Rooted, ThrownException, Trap, Val,
    WasmBacktrace,
};

/// An engine which has all that the rewriter accepts, and leaves nothing to chance.
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
        // Counts need all frames that were left.
        .wasm_backtrace_max_frames(NonZeroUsize::new(1 << 20))
        .cranelift_opt_level(opt_level);
    adjust(&mut config);
    Engine::new(&config).unwrap()
}

/// Which offsets in a backtrace are compared. An engine may merge operators, and then it says that one trapped where
/// the other did; what gets merged is not the same in original and rewritten code.
#[derive(Clone, Copy)]
pub(crate) enum Offsets {
    /// All: right for small functions which aren't optimised.
    All,
    /// Those of calls: an engine merges a load into the operator that takes its value, even if it doesn't optimise.
    Calls,
    /// None: the optimiser makes a conditional trap of a branch to a trap, and moves what it can.
    None,
}

/// Says how executions failed, and knows rewritten modules, to find originals' offsets.
pub(crate) struct Origins {
    offsets: Offsets,
    maps: Vec<(Module, OffsetMap)>,
}

impl Origins {
    pub(crate) fn new(offsets: Offsets) -> Origins {
        Origins { offsets, maps: Vec::new() }
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
                (_, Some(backtrace)) => format!("trap {trap:?} at {}", self.frames(backtrace)),
            },
            None if error.is::<ThrownException>() => "exception".to_owned(),
            None => "refused".to_owned(),
        }
    }

    fn frames(&self, backtrace: &WasmBacktrace) -> String {
        let frames = backtrace.frames().iter().enumerate().map(|(depth, frame)| {
            let function = frame.func_index();
            match (self.offsets, depth) {
                (Offsets::All, _) | (Offsets::Calls, 1..) => format!("{function}:{:x?}", self.offset(frame)),
                (Offsets::Calls, 0) | (Offsets::None, _) => function.to_string(),
            }
        });
        frames.collect::<Vec<_>>().join(" ")
    }

    fn offset(&self, frame: &FrameInfo) -> Option<u32> {
        let offset = u32::try_from(frame.module_offset()?).unwrap();
        match self.maps.iter().find(|(module, _)| Module::same(module, frame.module())) {
            Some((_, map)) => map.original(offset),
            None => Some(offset),
        }
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

/// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to choose with.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number of any size, small ones as often as large ones.
    pub(crate) fn number(&mut self) -> u64 {
        let bits = self.below(64);
        self.next() >> bits
    }
}
