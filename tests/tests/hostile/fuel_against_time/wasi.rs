//! Calls of WASI at their most expensive: what comes first, what is done again and again.

/// What calls are about: a file system that is hard to find one's way in.
const PRELUDE: &str = r#"
    (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_filestat_get" (func $stat (param i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_create_directory" (func $mkdir (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
        (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_rename" (func $rename (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_link" (func $hard_link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_readdir" (func $readdir (param i32 i32 i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_filestat_set_size" (func $set_size (param i32 i64) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
    (memory (export "memory") 32)
    (data (i32.const 0) "d")
    (data (i32.const 8) "x")
    (data (i32.const 16) "y")
    (data (i32.const 24) "l00")
    ;; Writes a number in two digits, or in four.
    (func $two (param $at i32) (param $n i32)
        (i32.store8 (local.get $at) (i32.add (i32.const 48) (i32.div_u (local.get $n) (i32.const 10))))
        (i32.store8 offset=1 (local.get $at) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10)))))
    (func $four (param $at i32) (param $n i32)
        (call $two (local.get $at) (i32.div_u (local.get $n) (i32.const 100)))
        (call $two (i32.add (local.get $at) (i32.const 2)) (i32.rem_u (local.get $n) (i32.const 100))))
    (func $file (param $dir i32) (param $path i32) (param $len i32) (param $flags i32) (result i32)
        (if (call $open (local.get $dir) (i32.const 1) (local.get $path) (local.get $len) (local.get $flags)
                (i64.const 66) (i64.const 0) (i32.const 0) (i32.const 32)) (then (unreachable)))
        (i32.load (i32.const 32)))
    ;; Names from l00 on that lead to the next by 800 detours.
    (func $maze (local $n i32) (local $at i32)
        (drop (call $mkdir (i32.const 3) (i32.const 0) (i32.const 1)))
        (local.set $at (i32.const 4096))
        (loop $next
            (i64.store (local.get $at) (i64.const 0x2f2e2e2f64))
            (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 5))) (i32.const 8096))))
        (loop $next
            (i32.store8 (local.get $at) (i32.const 108))
            (call $two (i32.add (local.get $at) (i32.const 1)) (i32.add (local.get $n) (i32.const 1)))
            (call $two (i32.const 25) (local.get $n))
            (drop (call $symlink (i32.const 4096) (i32.const 4003) (i32.const 3) (i32.const 24) (i32.const 3)))
            (br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 39))))
        (call $two (i32.const 25) (i32.const 0)))
    ;; Directories in directories; gives a descriptor of the innermost.
    (func $well (param $depth i32) (result i32) (local $dir i32) (local $next i32)
        (local.set $dir (i32.const 3))
        (loop $deeper
            (drop (call $mkdir (local.get $dir) (i32.const 0) (i32.const 1)))
            (if (call $open (local.get $dir) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 2)
                    (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 32)) (then (unreachable)))
            (local.set $next (i32.load (i32.const 32)))
            (if (i32.ne (local.get $dir) (i32.const 3)) (then (drop (call $close (local.get $dir)))))
            (local.set $dir (local.get $next))
            (br_if $deeper (local.tee $depth (i32.sub (local.get $depth) (i32.const 1)))))
        (local.get $dir))
    ;; Files in the root.
    (func $many (param $n i32)
        (i32.store8 (i32.const 40) (i32.const 102))
        (loop $next
            (local.set $n (i32.sub (local.get $n) (i32.const 1)))
            (call $four (i32.const 41) (local.get $n))
            (drop (call $close (call $file (i32.const 3) (i32.const 40) (i32.const 5) (i32.const 1))))
            (br_if $next (local.get $n))))
    ;; As many descriptors as there can be but for a few.
    (func $full
        (local $n i32)
        (loop $next
            (drop (call $file (i32.const 3) (i32.const 8) (i32.const 1) (i32.const 1)))
            (br_if $next (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1015)))))
"#;

const LOOPS: [(&str, &str, &str); 19] = [
    ("links that lead to links", "(call $maze)", "(drop (call $stat (i32.const 3) (i32.const 1) (i32.const 24) (i32.const 3) (i32.const 64)))"),
    (
        "moves at the bottom of a deep tree",
        "(local.set $x (call $well (i32.const 3000))) (drop (call $mkdir (local.get $x) (i32.const 8) (i32.const 1)))",
        "(drop (call $rename (local.get $x) (i32.const 8) (i32.const 1) (local.get $x) (i32.const 8) (i32.const 1)))",
    ),
    (
        "files that are opened and closed, beside a thousand",
        "(call $full)",
        "(drop (call $close (call $file (i32.const 3) (i32.const 8) (i32.const 1) (i32.const 0))))",
    ),
    (
        "files that are opened when no more can be",
        "(call $full) (loop $more (br_if $more (i32.eqz (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 1)
            (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 32)))))",
        "(drop (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 1) (i32.const 0) (i64.const 2) (i64.const 0)
            (i32.const 0) (i32.const 32)))",
    ),
    (
        "files that come and go, beside a thousand that are open",
        "(call $full)",
        "(drop (call $close (call $file (i32.const 3) (i32.const 16) (i32.const 1) (i32.const 1))))
        (drop (call $unlink (i32.const 3) (i32.const 16) (i32.const 1)))",
    ),
    (
        "numbers that are changed",
        "(call $full)",
        "(drop (call $file (i32.const 3) (i32.const 8) (i32.const 1) (i32.const 1)))
        (drop (call $renumber (i32.load (i32.const 32)) (i32.const 500)))",
    ),
    ("a directory that is listed", "(call $many (i32.const 2000))", "(drop (call $readdir (i32.const 3) (i32.const 4096) (i32.const 1000000) (i64.const 0) (i32.const 64)))"),
    ("an entry of a directory", "(call $many (i32.const 2000))", "(drop (call $readdir (i32.const 3) (i32.const 4096) (i32.const 1) (i64.const 1000) (i32.const 64)))"),
    (
        "names beside two thousand",
        "(call $many (i32.const 2000))",
        "(drop (call $hard_link (i32.const 3) (i32.const 0) (i32.const 40) (i32.const 5) (i32.const 3) (i32.const 16) (i32.const 1)))
        (drop (call $unlink (i32.const 3) (i32.const 16) (i32.const 1)))",
    ),
    ("waiting for much", "", "(drop (call $poll (i32.const 100000) (i32.const 100000) (i32.const 10000) (i32.const 64)))"),
    ("empty buffers", "", "(drop (call $write (i32.const 1) (i32.const 100000) (i32.const 1024) (i32.const 64)))"),
    (
        "small buffers",
        "(loop $next (i32.store offset=100004 (local.get $x) (i32.const 1))
            (br_if $next (i32.lt_u (local.tee $x (i32.add (local.get $x) (i32.const 8))) (i32.const 8192))))",
        "(drop (call $write (i32.const 1) (i32.const 100000) (i32.const 1024) (i32.const 64)))",
    ),
    ("reading nothing", "", "(drop (call $read (i32.const 0) (i32.const 100000) (i32.const 1024) (i32.const 64)))"),
    (
        "files that grow and shrink",
        "(local.set $x (call $file (i32.const 3) (i32.const 8) (i32.const 1) (i32.const 1)))",
        "(drop (call $set_size (local.get $x) (i64.const 6000000))) (drop (call $set_size (local.get $x) (i64.const 0)))",
    ),
    (
        "a path of a million characters",
        "(memory.fill (i32.const 100000) (i32.const 0xc3) (i32.const 1000000))
        (local.set $x (i32.const 100000))
        (loop $next (i32.store8 offset=1 (local.get $x) (i32.const 0xa4))
            (br_if $next (i32.lt_u (local.tee $x (i32.add (local.get $x) (i32.const 2))) (i32.const 1100000))))",
        "(drop (call $stat (i32.const 3) (i32.const 0) (i32.const 100000) (i32.const 1000000) (i32.const 64)))",
    ),
    ("random bytes", "", "(drop (call $random (i32.const 100000) (i32.const 1000000)))"),
    ("few random bytes", "", "(drop (call $random (i32.const 100000) (i32.const 1)))"),
    ("arguments", "", "(drop (call $args (i32.const 100) (i32.const 200)))"),
    ("the clock", "", "(drop (call $clock (i32.const 0) (i64.const 0) (i32.const 64)))"),
];

/// Guests by name.
pub(crate) fn guests() -> impl Iterator<Item = (&'static str, String)> {
    LOOPS.into_iter().map(|(name, first, again)| {
        let start = format!("(local $x i32) {first} (loop $again {again} (br $again))");
        (name, format!("(module {PRELUDE} (func (export \"_start\") {start}))"))
    })
}
