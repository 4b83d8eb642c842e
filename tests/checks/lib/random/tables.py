"""Random programs whose functions are named in all ways: by tables that they change, references, exports, imports of another instance, tail
calls; with values of all types, several results, floats in loops with rare calls, exceptions, and memories of all kinds. They do not trap."""

import random

from ..breadth.generate import section, sleb, uleb, vec

# Value types, by letter; s: a reference to a struct of one i32, r: to any function.
TYPES = {"i": b"\x7f", "I": b"\x7e", "f": b"\x7d", "F": b"\x7c", "v": b"\x7b", "e": b"\x6f", "s": b"\x63\x00", "r": b"\x70"}
BOX, OPEN, FINAL = 0, 1, 2  # types: a struct; i32 to i32, which may have subtypes; its subtype
SIGNATURES = [("i", "i"), ("i", "i"), ("", ""), ("iFf", "iIfF"), ("isr", "irs"), ("iveI", "veiI"), ("FF", "F"), ("i", "i")]
FIRST = 1  # the type index of the first signature
EFFECT = FIRST + len(SIGNATURES)  # the type of tags
HOST = [0, 0, 4, 2]  # signatures of imported functions
FUNCS, TABLE = 9, 16
MEMORIES = ["none", "one", "maximum", "shared", "wide", "two", "imported"]
END = b"\x0b"


def i32(n):
    return b"\x41" + sleb(n)


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.memory = MEMORIES[seed % len(MEMORIES)]
        self.signatures = HOST + [0, 1, *(self.pick(len(SIGNATURES)) for _ in range(FUNCS - 2))]
        self.imports_table = self.pick(4) == 0
        self.tails, self.throws, self.refers = (self.pick(3) > 0 for _ in range(3))
        self.exported = [k for k in range(len(HOST), len(self.signatures)) if "v" not in "".join(SIGNATURES[self.signatures[k]]) and self.pick(3)]

    def pick(self, n):
        return self.random.randrange(n)

    # ---- values ----

    def default(self, t):
        return {"i": i32(0), "I": b"\x42\0", "f": b"\x43\0\0\0\0", "F": b"\x44" + bytes(8), "v": b"\xfd\x0c" + bytes(16), "e": b"\xd0\x6f",
                "s": b"\xd0\0", "r": b"\xd0\x70"}[t]

    def local(self, t):
        """A local of the type: a scratch one, or perhaps a parameter."""
        own = [k for k, p in enumerate(self.params) if p == t]
        return uleb(self.random.choice(own) if own and self.pick(2) else self.scratch(t))

    def scratch(self, t, n=0):
        return len(self.params) + 2 * "iIfFvesr".index(t) + n

    def value(self, t, depth):
        if depth <= 0 or self.pick(4) == 0:
            return self.simple(t)
        if self.pick(3) == 0:
            found = self.call(t, depth - 1)
            if found:
                return found
        if self.pick(8) == 0:
            return b"\x02" + TYPES[t] + self.statements(depth - 1) + self.value(t, depth - 1) + END
        if self.pick(10) == 0:
            return self.value("i", depth - 1) + b"\x04" + TYPES[t] + self.value(t, depth - 1) + b"\x05" + self.value(t, depth - 1) + END
        return getattr(self, "value_" + t)(depth - 1)

    def simple(self, t):
        if self.pick(2):
            return b"\x20" + self.local(t)
        if t == "i":
            return i32(self.pick(20) - 3)
        if t == "F":
            return i32(self.pick(9)) + b"\xb7"
        if t == "r" and self.refers and self.pick(2):
            return b"\xd2" + uleb(self.pick(len(self.signatures)))
        return self.default(t)

    def value_i(self, depth):
        kind = self.pick(10)
        if kind == 9 and self.memory != "none":
            return self.pages(b"\x3f") if self.pick(3) else self.grow()
        if kind == 0:
            return self.value("r", depth) + b"\xd1"
        if kind == 1:
            return self.value("r", depth) + b"\xfb\x14" + sleb(self.pick(2) + OPEN)
        if kind == 2:
            return b"\xfc\x10" + uleb(self.pick(2))
        if kind == 3:
            return self.value("s", depth) + b"\x22" + uleb(self.scratch("s", 1)) + b"\xd1\x04\x7f" + i32(5) + b"\x05\x20" + uleb(
                self.scratch("s", 1)) + b"\xfb\x02\0\0" + END
        if kind == 4:
            return self.value("F", depth) + b"\xfc\x02"
        if kind == 5:
            return self.value("v", depth) + b"\xfd\x1b" + bytes([self.pick(4)])
        if kind == 6 and self.memory != "none":
            return self.address(depth) + (b"\xfe\x10\2\0" if self.memory == "shared" else b"\x28" + self.where())
        if kind == 7:
            return self.value("s", depth) + self.value("s", depth) + b"\xd3"
        return self.value("i", depth) + self.value("i", depth) + bytes([self.random.choice([0x6A, 0x6B, 0x71, 0x73, 0x46, 0x48])])

    def where(self):
        return b"\x42\1\0" if self.memory == "two" and self.pick(2) else b"\2\0"

    def pages(self, number):
        """memory.size, or memory.grow of what is on the stack."""
        wrap, extend = (b"\xa7", b"\xad") if self.memory == "wide" else (b"", b"")
        return (extend if number == b"\x40" else b"") + number + b"\0" + wrap

    def address(self, depth):
        """In the first page, or the last one of memory 0."""
        last = self.pages(b"\x3f") + i32(1) + b"\x6b" + i32(16) + b"\x74\x6a" if self.pick(2) and self.memory != "two" else b""
        return self.value("i", depth) + i32(0xFFC) + b"\x71" + last + (b"\xad" if self.memory == "wide" else b"")

    def grow(self):
        """Up to some pages."""
        return self.pages(b"\x3f") + i32(20) + b"\x49\x04\x7f" + i32(self.pick(3)) + self.pages(b"\x40") + b"\x05" + i32(-2) + END

    def value_I(self, depth):
        return self.value("I", depth) + self.value("i", depth) + b"\xac\x7c"

    def value_f(self, depth):
        return self.value("f", depth) + self.value("f", depth) + b"\x92"

    def value_F(self, depth):
        if self.pick(3) == 0:
            return self.value("i", depth) + b"\xb7"
        return self.value("F", depth) + self.value("F", depth) + bytes([self.random.choice([0xA0, 0xA1])])

    def value_v(self, depth):
        return self.value("v", depth) + self.value("i", depth) + b"\xfd\x1c" + bytes([self.pick(4)])

    def value_e(self, depth):
        return self.value("e", depth) + self.value("e", depth) + self.value("i", depth) + b"\x1c\1\x6f"

    def value_s(self, depth):
        return self.value("i", depth) + b"\xfb\0\0"

    def value_r(self, depth):
        return self.index(depth) + b"\x25" + uleb(self.pick(2))

    def index(self, depth):
        return self.value("i", depth) + i32(7) + b"\x71"

    # ---- calls ----

    def arguments(self, params, depth):
        return b"".join(self.value(t, depth if k == 0 else min(depth, 1)) for k, t in enumerate(params))

    def take(self, results, t):
        """Leaves one result of type t, or none."""
        wanted = [k for k, r in enumerate(results) if r == t]
        keep = self.random.choice(wanted) if wanted else -1
        out = b""
        for k in reversed(range(len(results))):
            out += b"\x21" + uleb(self.scratch(results[k], k == keep))
        return out + (b"\x20" + uleb(self.scratch(t, 1)) if wanted else b"")

    def call(self, t, depth):
        """A call that has a result of type t (None: any), if there is such a function."""
        way = self.pick(4)
        if way < 2:
            fits = [k for k, s in enumerate(self.signatures) if t is None or t in SIGNATURES[s][1]]
            if not fits:
                return None
            func = self.random.choice(fits)
            params, results = SIGNATURES[self.signatures[func]]
            return self.arguments(params, depth) + b"\x10" + uleb(func) + self.take(results, t)
        fits = [s for s in range(len(SIGNATURES)) if t is None or t in SIGNATURES[s][1]]
        if not fits:
            return None
        # Only if what the table has there is of the type.
        s = self.random.choice(fits)
        params, results = SIGNATURES[s]
        table, at, func = uleb(self.pick(2)), uleb(self.scratch("i", 1)), uleb(self.scratch("r", 1))
        else_ = self.default(t) if t else b""
        arguments = self.arguments(params, depth)
        out = arguments + b"".join(b"\x21" + uleb(self.scratch(p, 0)) for p in reversed(params))
        again = b"".join(b"\x20" + uleb(self.scratch(p, 0)) for p in params)
        out += self.index(0) + b"\x22" + at + b"\x25" + table + b"\x22" + func + b"\xfb\x14" + sleb(FIRST + s)
        out += b"\x04" + (TYPES[t] if t else b"\x40") + again
        if way == 2:
            out += b"\x20" + at + b"\x11" + uleb(FIRST + s) + table
        else:
            out += b"\x20" + func + b"\xfb\x16" + sleb(FIRST + s) + b"\x14" + uleb(FIRST + s)
        return out + self.take(results, t) + b"\x05" + else_ + END

    def tail_call(self, depth):
        fits = [k for k, s in enumerate(self.signatures) if SIGNATURES[s][1] == self.results]
        if not fits or not self.tails:
            return None
        func = self.random.choice(fits)
        s = self.signatures[func]
        params = SIGNATURES[s][0]
        if self.pick(3) == 0 and self.refers:
            return self.arguments(params, depth) + b"\xd2" + uleb(func) + b"\x15" + uleb(FIRST + s)
        return self.arguments(params, depth) + b"\x12" + uleb(func)

    # ---- statements ----

    def statements(self, depth):
        return b"".join(self.statement(depth - 1) for _ in range(self.pick(3) + 1)) if depth > 0 else b""

    def statement(self, depth):
        kind = self.pick(13)
        table = uleb(self.pick(2))
        if kind == 0:
            return self.index(depth) + self.value("r", depth) + b"\x26" + table
        if kind == 1:  # table.copy
            return i32(self.pick(4)) + i32(self.pick(4)) + i32(self.pick(4)) + b"\xfc\x0e" + table + uleb(self.pick(2))
        if kind == 2:  # table.init of the segment that stays
            return i32(self.pick(4)) + i32(self.pick(2)) + i32(self.pick(3)) + b"\xfc\x0c\1" + table
        if kind == 3:  # table.grow, table.fill
            if self.pick(2):
                return self.value("r", depth) + i32(self.pick(2)) + b"\xfc\x0f" + table + b"\x21" + uleb(self.scratch("i"))
            return i32(self.pick(7)) + self.value("r", depth) + i32(self.pick(2)) + b"\xfc\x11" + table
        if kind in (4, 5):
            return self.call(None, depth) or b""
        if kind == 6:
            return self.value("i", depth) + b"\x04\x40" + self.statements(depth) + self.leave(depth) + END
        if kind == 7:
            return self.loop(depth)
        if kind == 8 and self.throws:  # both ways: what is caught is dropped, or thrown again
            again = self.pick(2)
            body = self.statements(depth)
            if again:
                return b"\x02\x40\x02\x69\x1f\x40\1\3\0" + body + END + b"\x0c\1" + END + b"\x0a" + END
            return b"\x02\x40\x1f\x40\1\2\0" + body + END + END
        if kind == 9 and self.memory != "none":
            return self.address(depth) + self.value("i", depth) + (b"\xfe\x17\2\0" if self.memory == "shared" else b"\x36" + self.where())
        if kind == 10:
            return self.value("r", depth) + b"\x24\1"
        t = self.random.choice("iIfFvesr")
        return self.value(t, depth) + b"\x21" + self.local(t)

    def leave(self, depth):
        kind = self.pick(8)
        if kind == 0 and self.throws:
            return self.value("i", depth) + b"\x08\0"
        if kind in (1, 2):
            return self.tail_call(depth) or b""
        if kind == 3:
            return b"".join(self.value(t, 0) for t in self.results) + b"\x0f"
        return b""

    def loop(self, depth):
        """Adds up floats, and calls something in one of its iterations."""
        if self.nested:
            return b""
        self.nested = True
        count, sum_ = uleb(len(self.params) + 16), uleb(len(self.params) + 17)
        out = self.value("i", depth) + i32(15) + b"\x71" + i32(1) + b"\x6a\x21" + count + b"\x03\x40"
        out += b"\x20" + sum_ + self.value("F", 1) + b"\xa0\x21" + sum_
        out += b"\x20" + count + i32(self.pick(5)) + b"\x46\x04\x40" + (self.call(None, depth) or b"") + END
        out += b"\x20" + count + i32(1) + b"\x6b\x22" + count + b"\x0d\0" + END + b"\x20" + sum_ + b"\x21" + uleb(self.scratch("F"))
        self.nested = False
        return out

    # ---- the module ----

    def function(self, signature):
        self.params, self.results = SIGNATURES[signature]
        self.nested = False
        locals_ = vec([uleb(2) + TYPES[t] for t in "iIfFvesr"] + [b"\1\x7f", b"\1\x7c"])
        defaults = b"".join(self.default(t) for t in self.results)
        fuel = b"\x23\0\x45\x04\x40" + defaults + b"\x0f" + END + b"\x23\0" + i32(1) + b"\x6b\x24\0"
        body = self.statements(4) + b"".join(self.value(t, 3) for t in self.results)
        code = locals_ + fuel + body + END
        return uleb(len(code)) + code

    def module(self):
        def name(text):
            return uleb(len(text)) + text.encode()

        def func(signature):
            params, results = SIGNATURES[signature]
            return b"\x60" + vec([TYPES[t] for t in params]) + vec([TYPES[t] for t in results])

        limits = {"maximum": b"\1\1\4", "shared": b"\3\1\4", "wide": b"\4\1"}.get(self.memory, b"\0\1")
        types = [b"\x5f\1\x7f\1", b"\x50\0" + func(0), b"\x4f\1\1" + func(1), *(func(k) for k in range(2, len(SIGNATURES))), b"\x60\1\x7f\0"]
        imports = [name("host") + name(f"h{k}") + b"\0" + uleb(FIRST + s) for k, s in enumerate(HOST)]
        if self.imports_table:
            imports.append(name("host") + name("table") + b"\1\x70\0" + uleb(TABLE))
        if self.memory == "imported":
            imports.append(name("host") + name("memory") + b"\2\0\1")
        tables = [b"\x70\0" + uleb(TABLE)] * (1 if self.imports_table else 2)
        memories = [] if self.memory in ("none", "imported") else [limits] + ([b"\0\1"] if self.memory == "two" else [])
        n = len(self.signatures)
        exports = [name(f"f{k}") + b"\0" + uleb(k) for k in self.exported] + [name("again") + b"\0" + uleb(self.exported[0] if self.exported else 0),
                   name("fuel") + b"\3\0", name("kept") + b"\3\1", name("table") + b"\1\0"]
        exports += [name(f"h{k}") + b"\0" + uleb(k) for k in range(len(HOST))]
        if memories:
            exports.append(name("memory") + b"\2\0")
        some = [self.pick(n) for _ in range(TABLE)]
        more = [self.pick(n) for _ in range(5)]
        elements = [b"\0\x41\0\x0b" + vec([uleb(k) for k in some]), b"\5\x70" + vec([b"\xd2" + uleb(k) + END for k in more]),
                    b"\2\1\x41\0\x0b\0" + vec([uleb(k) for k in reversed(some)]), b"\3\0" + vec([uleb(k) for k in range(n)])]
        if not self.refers:
            elements.pop()
        globals_ = [b"\x7f\1" + i32(0) + END, b"\x70\1\xd2" + uleb(self.random.choice(some)) + END]
        functions = [self.function(s) for s in self.signatures[len(HOST):]]
        starts = [k for k in range(len(HOST), n) if self.signatures[k] == 2]
        return b"\0asm\1\0\0\0" + b"".join([
            section(1, vec(types)),
            section(2, vec(imports)),
            section(3, vec([uleb(FIRST + s) for s in self.signatures[len(HOST):]])),
            section(4, vec(tables)),
            section(5, vec(memories)) if memories else b"",
            section(13, vec([b"\0" + uleb(EFFECT)])),
            section(6, vec(globals_)),
            section(7, vec(exports)),
            section(8, uleb(starts[0])) if starts and self.pick(2) else b"",
            section(9, vec(elements)),
            section(10, vec(functions))])
