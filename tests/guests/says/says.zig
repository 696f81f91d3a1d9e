//! An index out of bounds.

fn parse(data: []const u8) u32 {
    if (data.len > 2 and data[0] == 'a') return data[data.len + data[1]];
    return 0;
}

export fn LLVMFuzzerTestOneInput(data: [*]const u8, size: usize) i32 {
    return if (parse(data[0..size]) == 77_777) 1 else 0;
}
