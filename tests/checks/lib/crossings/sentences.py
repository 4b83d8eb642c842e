"""Sentences of the language that are to work in each place.

A sentence has a script scope, declarations and statements, in which N stands for a number (u32) of the place. `same` is what the
interpreter of tests/checks/lib/oracle runs where that knows the sentence by other words only: it must report the same.
"""

from dataclasses import dataclass


@dataclass
class Sentence:
    scope: str
    declared: str
    said: str
    same: "Sentence | None" = None


ALL = {}


def add(name, scope, declared, said, same=None):
    """`same`: scope, declarations and statements, None for what is as it was."""
    mine = (scope, declared, said)
    other = same and Sentence(*[m if s is None else s for m, s in zip(mine, same)])
    ALL[name] = Sentence(*mine, other)


ADDED = {"count": "", "sum": "N as i64", "sum(u64)": "N as u64", "sum(f64)": "N as f64", "min": "N as i64", "max": "N as i64",
         "max(f64)": "N as f64", "avg": "N as i64", "avg(u64)": "N as u64", "hist": "N as i64", "hist(u64)": "N as u64",
         "lhist(0, 10, 2)": "N as i64", "top(3, u32)": "N", "top(2, str)": '"a"', "top(2, (u32, str))": '(N, "b")', "top(3, i64)": "N as i64"}
READ = {"count": [], "sum": [], "sum(f64)": [], "min": ["count", "min"], "max": ["count", "max"], "max(f64)": ["count", "max"],
        "avg": ["count", "sum"]}

for kind, value in ADDED.items():
    add(f"{kind} of the script", f"report var a: {kind}; report var m: map<u32, {kind}>;", "", f"a.add({value}); m[N].add({value});")
    add(f"{kind} of a probe", "", f"report unshared var a: {kind}; report shared var b: {kind}; report unshared var m: map<u32, {kind}>;",
        f"a.add({value}); b.add({value}); m[N].add({value});")
    add(f"{kind} that is emptied", f"report var a: {kind}; report var m: map<str, {kind}>; var n: u32;", "",
        f'n++; if (n == 3) {{ a.clear(); }} a.add({value}); m["x"].add({value});')
for kind, fields in READ.items():
    reads = " ".join(f"o[{i}] = a.{field}() as f64;" for i, field in enumerate(fields)) or "o[0] = a as f64;"
    add(f"{kind} that is read", f"var a: {kind}; report var o: map<u32, f64>;", "", f"a.add({ADDED[kind]}); {reads}")
add("stats that are read", "var a: stats; report var o: map<u32, f64>;", "",
    "a.add(N); o[0] = a.count() as f64; o[1] = a.sum() as f64; o[2] = a.min() as f64; o[3] = a.max() as f64; o[4] = ((a.mean() * 100.0) as u32) as f64;",
    ("var s: avg; var l: min; var h: max; report var o: map<u32, f64>;", None,
     "s.add(N); l.add(N); h.add(N); o[0] = s.count() as f64; o[1] = s.sum() as f64; o[2] = l.min() as f64; o[3] = h.max() as f64; "
     "o[4] = ((s.sum() as f64 / s.count() as f64 * 100.0) as u32) as f64;"))

add("for: range", "report var r: map<u32, u64>;", "", "for (i in 0 as u32..N & 7) { if (i == 5) { break; } if (i == 2) { continue; } r[i]++; }")
add("for: u8", "report var r: u64;", "", "for (i in 250 as u8..255) { r += i as u64; }")
add("for: i64", "report var r: i64;", "", "for (i in -3 as i64..3) { r += i; var z: u32; z++; r += z as i64; }",
    (None, None, "for (i in -3 as i64..3) { r += i; r += 1; }"))
add("for: i16 in i16", "report var r: i64;", "", "for (i in -3 as i16..3) { for (j in 0 as i16..i) { r++; } }")
add("while", "report var r: u64;", "", "var k: u32 = N & 15; while (k > 0) { k--; r += k as u64; if (r > 1000) { return; } }")
add("for: keys", "var m: map<u32, u64>; report var r: u64;", "", "m[N]++; for (k in m) { r += k as u64; }")
add("for: keys and values", "var m: map<(u32, str), (u64, f32)>; report var r: u64;", "",
    'm[(N, "q")].0++; for (k, v in m) { r += k.0 as u64 + v.0; if (k.1 == "q") { delete m[k]; } }')
add("for: maps of maps", 'var a: map<u32, u64>; var m: map<str, map<u32, u64>>; m["x"] = a; report var r: u64;', "",
    'a[N]++; for (k, v in m["x"]) { r += v; } for (q in m) { r++; }',
    ("var a: map<u32, u64>; report var r: u64;", None, "a[N]++; for (k, v in a) { r += v; } r++;"))
add("for: bool", "var m: map<bool, i8>; report var r: i64;", "", "m[N > 2]--; for (k, v in m) { r += v as i64; }")
add("for: f64", "var m: map<f64, i8>; report var r: f64;", "", "m[N as f64]--; for (k, v in m) { r += k; }")
add("for: aggregations", "var m: map<u32, stats>; report var r: u64;", "", "m[N].add(3); for (k in m) { r++; }",
    ("var m: map<u32, avg>; report var r: u64;", None, None))
add("map: keys", "var m: map<u32, u64>; report var r: u64; report var y: bool;", "",
    "m[N]++; r += m.len() as u64; y = 3 as u32 in m; delete m[4]; if (m.len() > 2) { m.clear(); }")
add("map: of an execution", "report var r: u64;", "",
    'var m: map<str, bool>; m["a"] = true; m["b"] = true; delete m["a"]; r += m.len() as u64; if ("b" in m) { r++; }', (None, None, "r += 2;"))
add("map: unshared", "report var r: u64;", "unshared var m: map<u32, u32>; shared var q: map<u32, u32>;",
    "m[N]++; q[N]++; r += (m.len() + q.len()) as u64; m.clear(); delete q[N];")
add("array", "report var a: array<u32, 5>; report var q: array<f64, 3>;", "report unshared var b: array<u8, 4>;",
    "a[N & 7] += N; a[2]++; b[N & 3]--; q[a[1] & 3] = 1.5; q[0] *= 2.0; a[4] = a.len(); if (a[0] > 50) { b.clear(); }")
add("str", "report var r: u64; var s: str;", "",
    's = N > 3 ? "abc" : "b"; r += s.len() as u64; if (s.starts_with("ab") || s.ends_with("x") || !s.contains("b")) { r += 10; }')

add("print", 'var u: (u32, bool, str, f32) = (1, true, "x\\n", 1.5); report var c: u32;', "",
    'c++; print("c {c} {u} {N:#x} {c:>5}|{c:<5}|{c:^5}|{c:05} {u.3:.3} {u.3:e} {u.2:?} {u.1:6}|{{}}");')
add("print every", "report var c: u32;", "", 'c++; print("every {c}") every 2; print("limit {c}") limit 2;')
add("print a value", "report var c: f64;", "", 'c += 0.5; print(c); print("{c:.2}"); print("{(c, 1 as u8)}");')
add("print integers", "", "", 'print("{N as u8:b} {N as i8:o} {N as u64:X} {-(N as i64)} {N as f32} {N > 2}");')
add("trap", "report var c: u32;", "", 'c++; if (c == 3) { trap("c is {c}"); } c += 0;')
add("assert", "report var c: u32;", "", 'c++; assert(c < 3, "c is {c}");')
add("exit", "report var c: u32;", "", "c++; if (c == 3) { exit(4); }")
add("trap at once", "", "", 'trap("now");')
add("exit at once", "report var c: i32;", "", "c++; exit(c);")

add("shadow var", "shadow var t: u8[per 1]; shadow var q: i64[per 16]; shadow var b: bool[per 4]; report var r: u64;", "",
    "t[N] = 3; q[N * 8]--; b.fill(N, 100, true); if (b.any(N, 3)) { r += t[N] as u64; } t.copy(N + 7, N, 9); r += t[N + 7] as u64; "
    "r += t.lost(); if (r > 50) { q.clear(); } t[N] += 4;")
add("shadow value", "shadow value t: u8; report var r: u64;", "",
    "t.fill(N, 9, 3); if (t.any(N + 2, 4)) { r += t[N + 3] as u64; } t[N] = 4; r += t[N] as u64;",
    ("shadow var t: u8[per 1]; report var r: u64;", None, None))
add("shadow value of a local", "shadow value t: u32; report var r: u64;", "", "local0.t = 5; r += local0.t as u64;",
    ("report var r: u64;", None, "r += 5;"))

add("operators", "report var a: i64; report var b: u8; report var f: f64; report var m: map<u32, (u64, f32)>;", "",
    "a += N as i64; a <<= 1; a ^= 5; a |= 1; a %= 1000003; b -= 3; b >>= 1; b &= 127; f *= 1.5; f += 1.0; f /= 3.0; m[N].0 += 2; "
    "m[N].1 -= 0.5; a = -a; f = -f; b = -b; if (a == 3) { a++; } else if (a > 7) { a--; } else { a += 2; }")
add("mathematics", "report var a: i64; report var f: f32; report var u: u8;", "",
    "a += min(N as i64, 3) + max(N as i64, 2) + abs(-(N as i64)); f = max(f, N as f32); "
    "u = clz(N as u8) + ctz(N as u16) as u8 + popcnt(N) as u8;")
add("conversions", "report var a: i64; report var f: f32; report var b: bool;", "",
    "a += (N as i8) as i64 - (N as f64 / 3.0) as i64; f = (a as f32) * 0.5; b = N as bool != (f < 1.0);")
add("recursion", "report var r: u64; fn f(n: u32) -> u32 { if (n == 0) { return 0; } return 1 + f(n - 1); }", "", "r += f(N & 31) as u64;")
add("constants", 'const k: u32 = 3; const l: str = "1,5-9"; report var r: u64;', "", "r += (k * 2) as u64; if (l.lists(6)) { r++; }")
add("atomic of the script", "report atomic var n: u64;", "", "n += 3; n++;", ("report var n: u64;", None, None))
add("frame", "report var r: u64;", "frame var n: u32;", "n += 2; for (i in 0 as u32..n) { r++; }")
add("unshared and shared", "", "report unshared var a: u64; report shared var b: i32; report unshared var t: (u8, f32);",
    "a += N as u64; b--; t.0 += 2; t.1 -= 0.5;")
add("initial values", "var k: u32 = 7;", "report unshared var a: u32 = k * 2; report shared var b: f64 = 1.5;", "a++; b *= 2.0;")
add("@exit", "report var r: u64;", "unshared var n: u64; report unshared var x: f64;",
    "n++; @exit { r += n; x = n as f64 / 2.0; for (i in 0 as u32..3) { r++; } }")
add("@init", "report var r: u64;", "report unshared var n: u64;", "n++; @init { n = 100; for (i in 0 as u32..3) { n++; r++; } }")
add("name_of", "report var m: map<str, u64>;", "", "m[name_of((N & 1) as i32 + 1)]++; m[name_of(-1)]++;",
    (None, None, 'm[(N & 1) == 0 ? "leaf" : "main"]++; m[""]++;'))
add("stack", "report var m: map<bool, u64>;", "", "m[stack.len() < 1000]++;", (None, None, "m[true]++;"))
add("stack that changes", "var last: str; report var c: u32;", "", 'if (stack != last || stack == last) { c++; last = stack; }', (None, None, "c++;"))
add("arguments", "report var r: u64;", "", "if (args.len() < 9) { r++; }", (None, None, "r++;"))
add("package", "use std.wasi; report var r: map<str, u64>;", "", "r[wasi.error(N & 1)]++;",
    ("report var r: map<str, u64>;", None, 'r[(N & 1) == 0 ? "success" : "E2BIG"]++;'))
add("interval", "report var c: u64; report var t: u64; wasm:interval:86400s { c++; }", "", "t++;",
    ("report var c: u64; report var t: u64;", None, None))
