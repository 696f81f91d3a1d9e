//! Sorting keeps every number. Almost: equal ones are lost.
const std = @import("std");
const fuzzbox = @import("fuzzbox");

pub const panic = std.debug.FullPanic(fuzzbox.panic);

fn sort(numbers: []i32) []i32 {
    std.mem.sort(i32, numbers, {}, std.sort.asc(i32));
    var kept: usize = 0;
    for (numbers) |number| {
        // The planted bug.
        if (kept > 0 and numbers[kept - 1] == number) continue;
        numbers[kept] = number;
        kept += 1;
    }
    return numbers[0..kept];
}

export fn fbx_sorts() void {
    var numbers: [64]i32 = undefined;
    var len: usize = 0;
    const list = fuzzbox.span("list");
    while (fuzzbox.more(0, numbers.len)) {
        const element = fuzzbox.span("element");
        numbers[len] = fuzzbox.int(i32, -100, 100);
        len += 1;
        element.end();
    }
    list.end();
    fuzzbox.note("{any}", .{numbers[0..len]});
    if (sort(numbers[0..len]).len != len) fuzzbox.fail("a number is lost");
}
