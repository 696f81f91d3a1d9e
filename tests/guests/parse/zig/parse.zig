pub fn parse(text: []const u8) void {
    var levels: [2]usize = undefined;
    for (text, 0..) |byte, at| {
        if (byte != '[') break;
        levels[at] = text.len - at;
    }
}
