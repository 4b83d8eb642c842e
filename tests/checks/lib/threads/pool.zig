// Four threads, which call kernel 1000, 2000 ... times, and the first one, which calls it once.
const std = @import("std");
pub const panic = std.debug.no_panic;

export fn kernel(seed: u32) u32 {
    var h = seed;
    var i: u32 = 0;
    while (i < 100) : (i += 1) h = (h *% 31) +% (i ^ (h >> 7));
    return h;
}

var results: [4]u32 = .{ 0, 0, 0, 0 };
var room: [8 << 20]u8 = undefined;

fn worker(t: u32) void {
    var s: u32 = 0;
    var i: u32 = 0;
    while (i < 1000 * (t + 1)) : (i += 1) s ^= @call(.never_inline, kernel, .{i});
    results[t] = s;
}

pub fn main() void {
    var fixed = std.heap.FixedBufferAllocator.init(&room);
    var handles: [4]std.Thread = undefined;
    for (0..4) |t| handles[t] = std.Thread.spawn(.{ .allocator = fixed.allocator() }, worker, .{@as(u32, @intCast(t))}) catch unreachable;
    for (handles) |h| h.join();
    results[0] ^= @call(.never_inline, kernel, .{7});
}
