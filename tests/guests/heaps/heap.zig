//! Notes what the input holds, takes memory and fills it, and looks at the input again.
const std = @import("std");

fn check(data: [*]const u8, size: usize) void {
    const heap = std.heap.wasm_allocator;
    const input = data[0..size];
    const noted = heap.dupe(u8, input) catch return;
    defer heap.free(noted);
    const bytes: usize = if (size > 0) @as(usize, input[0]) << 14 else 100;
    for (0..3) |_| {
        const block = heap.alloc(u8, bytes) catch return;
        @memset(block, 0xee);
    }
    if (!std.mem.eql(u8, noted, input)) @trap();
}

export fn parse(data: [*]const u8, size: usize) void {
    check(data, size);
}

var behind: u8 = 0;

export fn planted(data: [*]const u8, size: usize) void {
    check(data, size);
    if (size > 1 and data[1] == 'x') @as(*volatile u8, &behind).* = data[size];
}
