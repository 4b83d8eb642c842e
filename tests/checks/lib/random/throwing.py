"""Random programs that throw and catch, call and leave functions in all ways, with a function of the host between."""

import random

from ..breadth.generate import section, sleb, uleb, vec

I32, EXNREF = 0x7F, 0x69
HOST, FUNCS, TAGS = 2, 7, 3  # imported functions, others, tags: 1 and 2 may be the same
EXPORTS = 4
FUEL = b"\x23\0\x45\x04\x40\x20\0\x0f\x0b\x23\0\x41\1\x6b\x24\0"  # returns if there is none; takes one


class Program:
    """A module of functions i32 -> i32. `refs`: try_table and throw_ref, else try, rethrow and delegate. `loops`: and loops."""

    def __init__(self, seed, refs, loops=False):
        self.random, self.refs, self.loops = random.Random(seed), refs, loops

    def pick(self, n):
        return self.random.randrange(n)

    def const(self):
        return b"\x41" + sleb(self.pick(9) - 2)

    def call(self, depth, labels, tail=False):
        """A call; recursion ends when the fuel is used up."""
        operand = self.value(depth - 1, labels)
        if self.pick(4) == 0:
            return operand + b"\x41" + sleb(self.pick(HOST + FUNCS)) + (b"\x13" if tail else b"\x11") + b"\0\0"
        return operand + (b"\x12" if tail else b"\x10") + uleb(self.pick(HOST + FUNCS))

    def throw(self, depth, labels):
        return self.value(depth - 1, labels) + b"\x08" + uleb(self.pick(TAGS))

    def leave(self, depth, labels):
        """Code after which nothing runs."""
        kind = self.pick(5)
        if kind == 0:
            return self.value(depth - 1, labels) + b"\x0f"
        if kind == 1:
            return self.call(depth, labels, True)
        caught = [k for k, label in enumerate(reversed(labels)) if label == "caught"]
        if kind == 2 and caught and not self.refs:
            return b"\x09" + uleb(self.random.choice(caught))
        if kind == 3:
            targets = [k for k, label in enumerate(reversed(labels)) if label != "exception"]
            return self.value(depth - 1, labels) + b"\x0c" + uleb(self.random.choice(targets))
        return self.throw(depth, labels)

    def condition(self, depth, labels):
        """Perhaps leaves."""
        return self.value(0, labels) + b"\x41" + sleb(self.pick(4)) + b"\x46\x04\x40" + self.leave(depth, labels + ["none"]) + b"\x0b"

    def legacy(self, depth, labels):
        out = b"\x06\x7f" + self.value(depth - 1, labels + ["value"])
        if self.pick(4) == 0:
            return out + b"\x18" + uleb(self.pick(len(labels)))
        inner = labels + ["caught"]
        kind = self.pick(4)
        for tag in range(TAGS):
            if kind != 1 and self.pick(2):
                out += b"\x07" + uleb(tag) + (self.value(depth - 1, inner) + b"\x6a")
        if kind:
            out += b"\x19" + self.value(depth - 1, inner)
        return out + b"\x0b"

    def table(self, depth, labels):
        """Either the payload of a tag is the value, or what has been caught is thrown again, or replaced."""
        if self.pick(2):
            tag = self.pick(TAGS)
            body = self.value(depth - 1, labels + ["value", "value"])
            clauses = [b"\0" + uleb(tag) + b"\0"] + ([b"\0" + uleb(self.pick(TAGS)) + b"\0"] if self.pick(2) else [])
            return b"\x02\x7f\x1f\x7f" + vec(clauses) + body + b"\x0b\x0b"
        body = self.value(depth - 1, labels + ["value", "exception", "value"])
        handler = b"\x0a" if self.pick(2) else b"\x1a" + self.value(depth - 1, labels + ["value"])
        return b"\x02\x7f\x02" + bytes([EXNREF]) + b"\x1f\x7f\1\3\0" + body + b"\x0b\x0c\1\x0b" + handler + b"\x0b"

    def loop(self, depth, labels):
        """It ends when the fuel is used up."""
        again = self.value(0, labels) + b"\x41" + sleb(self.pick(4)) + b"\x46\x0d\0"
        return b"\x03\x7f" + FUEL + self.value(depth - 1, labels + ["none"]) + again + b"\x0b"

    def value(self, depth, labels):
        kind = self.pick(12 if self.loops else 9) if depth > 0 else self.pick(2)
        if kind == 0:
            return self.const()
        if kind == 1:
            return b"\x20\0"
        if kind == 2:
            return self.value(depth - 1, labels) + self.value(depth - 1, labels) + b"\x6a"
        if kind == 3:
            return b"\x02\x7f" + self.value(depth - 1, labels + ["value"]) + b"\x0b"
        if kind == 4:
            return self.condition(depth, labels) + self.value(depth - 1, labels)
        if kind in (5, 6):
            return self.call(depth, labels)
        if kind > 8:
            return self.loop(depth, labels)
        return self.table(depth, labels) if self.refs else self.legacy(depth, labels)

    def function(self):
        code = b"\0" + FUEL + self.value(6, ["value"]) + b"\x0b"
        return uleb(len(code)) + code

    def module(self):
        name = lambda text: uleb(len(text)) + text.encode()
        imports = [name("host") + name(f"f{k}") + b"\0\0" for k in range(HOST)]
        imports += [name("host") + name("tag") + b"\4\0\1" for _ in range(2)]
        exports = [name(f"f{k}") + b"\0" + uleb(HOST + k) for k in range(EXPORTS)] + [name("fuel") + b"\3\0"]
        funcs = b"".join(uleb(k) for k in range(HOST + FUNCS))
        return b"\0asm\1\0\0\0" + b"".join([
            section(1, vec([b"\x60\1\x7f\1\x7f", b"\x60\1\x7f\0"])),
            section(2, vec(imports)),
            section(3, vec([b"\0"] * FUNCS)),
            section(4, vec([b"\x70\0" + uleb(HOST + FUNCS)])),
            section(13, vec([b"\0\1"] * (TAGS - 2))),
            section(6, vec([b"\x7f\1\x41\0\x0b"])),
            section(7, vec(exports)),
            section(9, vec([b"\0\x41\0\x0b" + uleb(HOST + FUNCS) + funcs])),
            section(10, vec([self.function() for _ in range(FUNCS)]))])
