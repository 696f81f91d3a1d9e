//! Properties for fuzzbox in Zig: the imports of `fuzzbox_v1`, and what makes them pleasant. For wasm32-freestanding or wasm32-wasi.
//!
//!     const fuzzbox = @import("fuzzbox"); // --dep fuzzbox -Mroot=program.zig -Mfuzzbox=fuzzbox.zig
//!     // or @import("fuzzbox.zig") of a copy beside the program
//!
//!     export fn fbx_sorted() void {
//!         const n = fuzzbox.int(u32, 0, 100);
//!         ...
//!         if (wrong) fuzzbox.fail("not sorted"); // or any panic
//!     }
//!
//! Every exported function whose name begins with `fbx_` is a property. What the index of a draw means is said in
//! guest-sdk/c/fuzzbox.h and, in full, in guest-sdk/src/index.rs.

const std = @import("std");

const imports = struct {
    extern "fuzzbox_v1" fn draw_int(lo: i64, hi: i64, towards: i64) i64;
    extern "fuzzbox_v1" fn draw_uint(lo: u64, hi: u64, towards: u64) u64;
    extern "fuzzbox_v1" fn draw_bool(p_true: u32) u32;
    extern "fuzzbox_v1" fn draw_choice(n: u32, weights: ?[*]const u32) u32;
    extern "fuzzbox_v1" fn draw_f64(lo: f64, hi: f64, flags: u32) f64;
    extern "fuzzbox_v1" fn draw_bytes(to: [*]u8, min: u32, max: u32) u32;
    extern "fuzzbox_v1" fn draw_str(to: [*]u8, cap: u32, min: u32, max: u32, alphabet: ?[*]const u32, ranges: u32) u32;
    extern "fuzzbox_v1" fn draw_more(min: u32, max: u32, average_q8: u32) u32;
    extern "fuzzbox_v1" fn draw_payload(bits: u32) u64;
    extern "fuzzbox_v1" fn span_begin(label: u32) void;
    extern "fuzzbox_v1" fn span_end(flags: u32) void;
    extern "fuzzbox_v1" fn assume(condition: u32) void;
    extern "fuzzbox_v1" fn reject(why: [*]const u8, len: u32) noreturn;
    extern "fuzzbox_v1" fn fail(class: [*]const u8, len: u32) noreturn;
    extern "fuzzbox_v1" fn target(label: [*]const u8, len: u32, score: f64) void;
    extern "fuzzbox_v1" fn event(label: [*]const u8, len: u32, value: i64) void;
    extern "fuzzbox_v1" fn keyframe(id: u32, arg: i64) void;
    extern "fuzzbox_v1" fn name(kind: u32, id: u32, text: [*]const u8, len: u32) void;
    extern "fuzzbox_v1" fn note(text: [*]const u8, len: u32) void;
    extern "fuzzbox_v1" fn value(type_id: i64, encoding: u32, bytes: [*]const u8, len: u32) void;
    extern "fuzzbox_v1" fn remaining() u32;
    extern "fuzzbox_v1" fn feature(text: [*]const u8, len: u32) u32;
};

/// An integer of a type of at most 64 bits, both bounds included; the simplest is the one nearest to 0.
pub fn int(comptime T: type, lo: T, hi: T) T {
    return intTowards(T, lo, hi, std.math.clamp(0, lo, hi));
}

/// The same with another simplest value.
pub fn intTowards(comptime T: type, lo: T, hi: T, towards: T) T {
    const info = @typeInfo(T).int;
    if (info.bits > 64) @compileError("integers of more than 64 bits are two draws");
    return if (info.signedness == .signed)
        @intCast(imports.draw_int(lo, hi, towards))
    else
        @intCast(imports.draw_uint(lo, hi, towards));
}

/// A boolean; false is simpler.
pub fn boolean() bool {
    return imports.draw_bool(1 << 31) != 0;
}

/// True with a probability in units of 2^-32; 0 and 2^32 - 1 leave no choice.
pub fn chance(p_true: u32) bool {
    return imports.draw_bool(p_true) != 0;
}

/// One of n, the first the simplest.
pub fn choice(n: u32) u32 {
    return imports.draw_choice(n, null);
}

/// One of at most 4096, as likely as their weights say.
pub fn weighted(weights: []const u32) u32 {
    return imports.draw_choice(@intCast(weights.len), weights.ptr);
}

/// One of the variants of an enum; the first is the simplest.
pub fn variant(comptime T: type) T {
    const values = comptime std.enums.values(T);
    return values[choice(values.len)];
}

/// What `float` may give besides finite numbers.
pub const Floats = packed struct(u32) {
    nan: bool = false,
    infinite: bool = false,
    negative_zero: bool = false,
    subnormal: bool = true,
    rest: u28 = 0,
};

/// A number; integers are simpler than fractions.
pub fn float(lo: f64, hi: f64, floats: Floats) f64 {
    return imports.draw_f64(lo, hi, @bitCast(floats));
}

/// From `min` bytes to as many as there is room for.
pub fn bytes(to: []u8, min: u32) []u8 {
    return to[0..imports.draw_bytes(to.ptr, min, @intCast(to.len))];
}

/// A string of `min` to `max` characters in UTF-8. The alphabet is ranges, each a first and a last character; null is all of Unicode.
pub fn string(to: []u8, min: u32, max: u32, alphabet: ?[]const [2]u32) []u8 {
    const ranges: ?[*]const u32 = if (alphabet) |given| @ptrCast(given.ptr) else null;
    const count: u32 = if (alphabet) |given| @intCast(given.len) else 0;
    return to[0..imports.draw_str(to.ptr, @intCast(to.len), min, max, ranges, count)];
}

/// Whether a collection in the innermost span goes on: `while (fuzzbox.more(0, 10)) ...`.
pub fn more(min: u32, max: u32) bool {
    const usual = @max(min *| 2, min +| 5) *| 256;
    const halfway = (@as(u64, min) + max) * 128;
    return imports.draw_more(min, max, @intCast(@min(usual, halfway, std.math.maxInt(i32)))) != 0;
}

/// 1 to 64 bits that must not influence control flow.
pub fn payload(bits: u32) u64 {
    return imports.draw_payload(bits);
}

/// The label of a name: 32-bit FNV-1a.
pub fn label(text: []const u8) u32 {
    return std.hash.Fnv1a_32.hash(text);
}

/// Draws that belong together: `const s = fuzzbox.span("list"); defer s.end();`
pub fn span(comptime kind: []const u8) Span {
    @setEvalBranchQuota(10_000);
    imports.span_begin(comptime label(kind));
    return .{};
}

pub const Span = struct {
    pub fn end(_: Span) void {
        imports.span_end(0);
    }

    /// What was drawn is thrown away.
    pub fn discard(_: Span) void {
        imports.span_end(1);
    }
};

/// Ends the execution if the condition does not hold: it is no case of this property.
pub fn assume(condition: bool) void {
    imports.assume(@intFromBool(condition));
}

/// Ends the execution: it is no case of this property.
pub fn reject(why: []const u8) noreturn {
    imports.reject(why.ptr, @intCast(why.len));
}

/// Ends the execution as a failure.
pub fn fail(class: []const u8) noreturn {
    imports.fail(class.ptr, @intCast(class.len));
}

/// A number that the search should make large.
pub fn target(what: []const u8, score: f64) void {
    imports.target(what.ptr, @intCast(what.len), score);
}

/// Something happened that code coverage doesn't see.
pub fn event(what: []const u8, number: i64) void {
    imports.event(what.ptr, @intCast(what.len), number);
}

/// A predicate of a trace has become true.
pub fn keyframe(id: u32, arg: i64) void {
    imports.keyframe(id, arg);
}

/// Names a label (kind 0) or a key frame (kind 1).
pub fn name(kind: u32, id: u32, text: []const u8) void {
    imports.name(kind, id, text.ptr, @intCast(text.len));
}

/// A line for the report, at most 256 bytes of it.
pub fn note(comptime format: []const u8, arguments: anytype) void {
    if (!feature("fuzzbox:report")) return;
    var buffer: [256]u8 = undefined;
    const text = std.fmt.bufPrint(&buffer, format, arguments) catch buffer[0..];
    imports.note(text.ptr, @intCast(text.len));
}

/// A value, encoded.
pub fn value(type_id: i64, encoding: u32, encoded: []const u8) void {
    imports.value(type_id, encoding, encoded.ptr, @intCast(encoded.len));
}

/// How many draws are still given or random.
pub fn remaining() u32 {
    return imports.remaining();
}

/// Whether a feature takes part.
pub fn feature(text: []const u8) bool {
    return imports.feature(text.ptr, @intCast(text.len)) != 0;
}

/// For `pub const panic = std.debug.FullPanic(fuzzbox.panic);` in the root file: the message becomes a note, then it traps.
pub fn panic(message: []const u8, _: ?usize) noreturn {
    imports.note(message.ptr, @intCast(message.len));
    @trap();
}
