//! Faults of real guests.

use super::*;
use crate::sandbox::candidate::Candidate;
use crate::sandbox::code::cache::CodeCache;
use crate::sandbox::code::compiler::Code;
use crate::sandbox::code::history::History;
use crate::sandbox::code::variant::Variant;
use crate::sandbox::executor::Executor;
use crate::sandbox::imports::host::{Host, Limits};
use crate::sandbox::instance::exports::Exports;
use crate::sandbox::instance::injected::Injected;
use crate::sandbox::instance::snapshot::Snapshot;
use crate::sandbox::memory::Images;
use crate::sandbox::targets::Target;
use crate::sandbox::wasi::{Wasi, WasiConfig};
use crate::settings::Settings;
use wasmtime::{Instance, Trap, WasmParams, WasmResults};

/// Where the forbidden page starts: at a page of whatever size a machine has.
const FORBIDDEN: i32 = 2 << 16;

const GUEST: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
    (memory (export "memory") 4)
    (data $bytes "0123456789abcdef")
    (global $first (mut i32) (i32.const 1))
    (global $second (mut i64) (i64.const 2))
    (func (export "LLVMFuzzerTestOneInput") (param $data i32) (param $size i32) (result i32)
        (if (i32.eqz (local.get $size)) (then (return (i32.const 0))))
        (if (i32.eq (i32.load8_u (local.get $data)) (i32.const 1)) (then (call $deep (i32.const 3) (i32.const -1))))
        (if (i32.eq (i32.load8_u (local.get $data)) (i32.const 2)) (then (call $deep (i32.const 4) (i32.const -1))))
        (drop (i32.div_u (i32.const 1) (i32.sub (i32.load8_u (local.get $data)) (i32.const 3))))
        (i32.const 0))
    (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
    (func $store (export "store") (param i32) (i32.store8 (local.get 0) (i32.const 7)))
    (func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
    (func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2)))
    (func (export "init") (param i32 i32 i32) (memory.init $bytes (local.get 0) (local.get 1) (local.get 2)))
    (func (export "write") (param $at i32) (param $len i32) (result i32)
        (i32.store (i32.const 16) (local.get $at))
        (i32.store (i32.const 20) (local.get $len))
        (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24)))
    (func (export "random") (param $at i32) (param $len i32) (result i32)
        (call $random_get (local.get $at) (local.get $len)))
    (func (export "globals") (result i64)
        (global.set $first (i32.add (global.get $first) (i32.const 1)))
        (global.set $second (i64.add (global.get $second) (i64.extend_i32_u (global.get $first))))
        (global.get $second))
    (func $deep (export "deep") (param $calls i32) (param $at i32)
        (if (local.get $calls)
            (then (call $deep (i32.sub (local.get $calls) (i32.const 1)) (local.get $at)))
            (else (call $store (local.get $at))))
        ;; No tail call, whatever an optimiser thinks of.
        (i32.store8 (i32.const 30) (i32.const 1)))
    (func (export "divide") (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
    (func (export "unreachable") unreachable))"#;

/// An instance of [`GUEST`], one page of whose memory is forbidden.
struct Guest {
    store: Store<Host>,
    instance: Instance,
    snapshot: Snapshot,
    injected: Injected,
    gate: Arc<Gate>,
}

impl Guest {
    fn new() -> Self {
        let candidate = Candidate::new(GUEST.as_bytes(), Settings::default()).unwrap();
        let target = Target::compile(
            candidate,
            (Variant::Metered, &History::default()),
            (&CodeCache::default(), Code::Optimised),
            None,
        )
        .unwrap();
        let host = Host::new(Wasi::new(WasiConfig::default()), Limits::new(1 << 30, 0));
        let mut store = Store::new(target.code.module.engine(), host);
        store.limiter(|host| host);
        let instance = target.imports.instantiate(&target.code.module, &mut store).unwrap();
        store.data_mut().memory = instance.get_memory(&mut store, "memory");
        let memory = target.code.memories.exported(&mut store, &instance, "memory").unwrap();
        // SAFETY: no guest runs.
        assert!(unsafe { memory.forbid(FORBIDDEN as usize) });
        let exports = Exports::find(&target, &mut store, &instance).unwrap();
        let region = exports.injected.region.clone();
        let injected = Injected::new(region.clone(), target.counters(), &target.rewritten.injected);
        let gate = Arc::<Gate>::default();
        gate.watch(&region);
        let images = (&mut Images::default(), &Arc::default());
        let snapshot = Snapshot::take(&target, &mut store, (&instance, exports), &gate, images).unwrap();
        store.data_mut().wasi.snapshot();
        Self { store, instance, snapshot, injected, gate }
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, params: P) -> Result<R, Trap> {
        let function = self.instance.get_typed_func::<P, R>(&mut self.store, name).unwrap();
        self.snapshot.fault().clear();
        self.injected.set_fuel(1_000_000);
        self.gate.enter();
        let result = function.call(&mut self.store, params).map_err(|error| *error.downcast_ref::<Trap>().unwrap());
        assert!(!self.gate.leave(Some(self.injected.region())).unwrap());
        result
    }

    /// How a load from the forbidden page ends.
    fn load(&mut self) -> Result<i32, Trap> {
        self.call("load", FORBIDDEN)
    }

    fn touched(&self) -> bool {
        self.snapshot.forbidden_was_opened()
    }

    fn restore(&mut self) {
        assert!(self.snapshot.restore(&mut self.store, false).unwrap());
        self.store.data_mut().wasi.reset(&[]);
    }

    fn frames(&self) -> Vec<u32> {
        self.snapshot.fault().frames().collect()
    }
}

#[test]
fn loads_and_stores_in_the_forbidden_page_trap() {
    let mut guest = Guest::new();
    for round in 0..3 {
        assert_eq!(guest.call("load", FORBIDDEN - 1), Ok(0));
        guest.call::<_, ()>("store", FORBIDDEN - 1).unwrap();
        let after = FORBIDDEN + i32::try_from(guest_page()).unwrap();
        guest.call::<_, ()>("store", after).unwrap();
        assert_eq!(guest.call("load", after), Ok(7));
        for at in [FORBIDDEN, after - 1] {
            assert_eq!(guest.call::<_, i32>("load", at), Err(Trap::MemoryOutOfBounds), "round {round}");
            assert_eq!(guest.call::<_, ()>("store", at), Err(Trap::MemoryOutOfBounds), "round {round}");
        }
        assert!(!guest.touched());
        guest.restore();
        assert_eq!(guest.call("load", after), Ok(0));
    }
}

fn guest_page() -> usize {
    // SAFETY: sysconf has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap()
}

#[test]
fn bulk_operators_and_host_functions_open_the_forbidden_page_until_the_restore() {
    let mut guest = Guest::new();
    let fresh = guest.snapshot.hash_of_present(&mut guest.store);
    type Access = fn(&mut Guest) -> Result<(), Trap>;
    let accesses: [(&str, Access); 6] = [
        ("copy from", |guest| guest.call("copy", (0, FORBIDDEN - 1, 2))),
        ("copy to", |guest| guest.call("copy", (FORBIDDEN - 1, 0, 2))),
        ("fill", |guest| guest.call("fill", (FORBIDDEN - 100, 9, 200))),
        ("init", |guest| guest.call("init", (FORBIDDEN - 8, 0, 16))),
        ("fd_write", |guest| guest.call("write", (FORBIDDEN - 3, 6)).map(|errno: i32| assert_eq!(errno, 0))),
        ("random_get", |guest| guest.call("random", (FORBIDDEN - 3, 6)).map(|errno: i32| assert_eq!(errno, 0))),
    ];
    for round in 0..3 {
        for (name, access) in accesses {
            assert_eq!(guest.load(), Err(Trap::MemoryOutOfBounds), "before {name}, round {round}");
            assert!(!guest.touched(), "before {name}, round {round}");
            access(&mut guest).unwrap();
            assert!(guest.touched(), "after {name}, round {round}");
            assert!(guest.frames().is_empty(), "{name} is not a trap");
            assert!(guest.load().is_ok(), "after {name}, round {round}");
            if name == "fd_write" {
                assert_eq!(guest.store.data().wasi.stdout(), [0; 6]);
            }
            if name == "fill" {
                assert_ne!(guest.snapshot.hash_of_present(&mut guest.store), fresh);
                assert_eq!(guest.load(), Ok(9));
            }
            guest.restore();
            assert_eq!(guest.snapshot.hash_of_present(&mut guest.store), fresh, "after {name}, round {round}");
        }
        // Past the end of memory there is nothing to open.
        assert_eq!(guest.call::<_, ()>("fill", ((4 << 16) - 1, 0, 2)), Err(Trap::MemoryOutOfBounds));
        assert!(!guest.touched());
    }
}

#[test]
fn globals_are_restored() {
    let mut guest = Guest::new();
    for _ in 0..3 {
        assert_eq!(guest.call("globals", ()), Ok(4_i64));
        assert_eq!(guest.call("globals", ()), Ok(7_i64));
        guest.restore();
    }
}

#[test]
fn the_frames_of_a_fault_are_recorded() {
    let mut guest = Guest::new();
    let mut fault = |calls: i32| {
        assert_eq!(guest.call::<_, ()>("deep", (calls, FORBIDDEN)), Err(Trap::MemoryOutOfBounds));
        guest.frames()
    };
    let (none, five) = (fault(0), fault(5));
    // The store, the innermost `deep` and whoever called the outermost are the same.
    assert_eq!((none[..2].to_vec(), none.last()), (five[..2].to_vec(), five.last()));
    assert_eq!(five.len(), none.len() + 5);
    assert!(five[2..7].iter().all(|frame| *frame == five[2]), "{five:?}");
    assert_eq!(fault(5), five);
    assert_eq!(fault(500).len(), 64);
    assert_eq!(fault(500)[..63], fault(400)[..63]);

    let store = guest.call::<_, ()>("store", FORBIDDEN).map_err(|_| guest.frames()).unwrap_err();
    assert_eq!(store[0], five[0], "the same instruction, called by somebody else");
    assert_ne!(store[1], five[1]);
    assert_eq!(guest.call::<_, i32>("divide", 0), Err(Trap::IntegerDivisionByZero));
    let divide = guest.frames();
    assert_eq!(guest.call::<_, ()>("unreachable", ()), Err(Trap::UnreachableCodeReached));
    let unreachable = guest.frames();
    assert!(!divide.is_empty() && !unreachable.is_empty() && divide != unreachable);
    assert_eq!(guest.call::<_, i32>("divide", 1), Ok(1));
    assert!(guest.frames().is_empty());
}

#[test]
fn the_key_of_a_fault_tells_stacks_apart_and_does_not_depend_on_what_ran_before() {
    let target = Arc::new(Target::load(GUEST.as_bytes(), Settings::default()).unwrap());
    let mut kept = Executor::new(&target).unwrap();
    let key = |executor: &mut Executor, byte: u8| {
        executor.run(&[byte]).unwrap();
        executor.stack_key()
    };
    let keys = [0, 1, 2, 3, 4].map(|byte| key(&mut kept, byte));
    assert_eq!(keys.map(|key| key.is_some()), [false, true, true, true, false]);
    assert!(keys[1] != keys[2] && keys[2] != keys[3] && keys[3] != keys[1]);
    for byte in (0..5).rev() {
        let expected = keys[usize::from(byte)];
        assert_eq!(key(&mut kept, byte), expected);
        assert_eq!(key(&mut Executor::new(&target).unwrap(), byte), expected);
    }
}
