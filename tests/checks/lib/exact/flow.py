"""Random programs in which control goes every way: loops, branches of all kinds, tables, calls, returns, tail calls, code that
cannot be reached, and traps in the middle of all this. Unlike those of wasm-opt's generator they mostly execute what they
contain, often. Everything ends, as loops and calls use up fuel.
"""

import random

from ..breadth.generate import section, sleb, uleb, vec

FUNCS, LOCALS, FUEL, TABLE = 6, 4, 400, 9
END, ELSE, RETURN, UNREACHABLE = b"\x0b", b"\x05", b"\x0f", b"\x00"
VALUE, NONE, LOOP = "value", "none", "loop"  # what branches to a label carry
SPEND = b"\x23\0\x45\x04\x40\x41\7\x0f\x0b\x23\0\x41\1\x6b\x24\0"  # if (!fuel) return 7; fuel--;


def const(n):
    return b"\x41" + sleb(n)


class Flow:
    """A module of functions (i32, i32) -> i32. `trapping`: of how many traps one is possible; 0: there is none. `command`: a
    function _start calls them all, and there are no tail calls.
    """

    def __init__(self, seed, trapping, command=False):
        self.random, self.trapping, self.command = random.Random(seed), trapping, command

    def pick(self, n):
        return self.random.randrange(n)

    def may_trap(self):
        return self.trapping > 0 and self.pick(self.trapping) == 0

    def local(self):
        return uleb(self.pick(LOCALS))

    # Labels are counted from the innermost, which is the last.

    def labels_with(self, labels, *kinds):
        return [k for k, label in enumerate(reversed(labels)) if label in kinds]

    def value(self, depth, labels):
        """Code that leaves one i32 on the stack."""
        simple = [lambda *_: const(self.pick(12) - 3), lambda *_: b"\x20" + self.local()]
        kinds = [self.binary, self.binary, self.divide, self.load, self.truncate, self.block, self.loop, self.choice, self.call,
                 self.select, self.branch_with, self.tee, self.behind] if depth > 0 else simple
        return self.random.choice(kinds + simple)(depth - 1, labels)

    def binary(self, depth, labels):
        return self.value(depth, labels) + self.value(depth, labels) + bytes([self.random.choice([0x6A, 0x6B, 0x6C, 0x71, 0x73, 0x46, 0x48, 0x4D])])

    def divide(self, depth, labels):
        odd = b"" if self.may_trap() else const(1) + b"\x72"
        unsigned = self.random.choice([0x6E, 0x70])
        return self.value(depth, labels) + self.value(depth, labels) + const(3) + b"\x71" + odd + bytes([unsigned])

    def address(self, depth, labels):
        return self.value(depth, labels) + const(0x1FFFF if self.may_trap() else 0x3FF) + b"\x71"

    def load(self, depth, labels):
        return self.address(depth, labels) + b"\x28\2" + uleb(self.pick(8))

    def truncate(self, depth, labels):
        scale = b"\x20\0\xb7\x44\0\0\0\0\0\0\xf0\x41\xa2" if self.may_trap() else b"\x20\0\xb7"  # local 0, as it is or * 2^32
        return self.value(depth, labels) + scale + b"\xaa\x6a"

    def select(self, depth, labels):
        return self.value(depth, labels) + self.value(depth, labels) + self.value(depth, labels) + b"\x1b"

    def tee(self, depth, labels):
        return self.value(depth, labels) + b"\x22" + self.local()

    def behind(self, depth, labels):
        return self.statements(depth, labels) + self.value(depth, labels)

    def block(self, depth, labels):
        return b"\x02\x7f" + self.statements(depth, labels + [VALUE]) + self.last(depth, labels + [VALUE]) + END

    def loop(self, depth, labels):
        return b"\x03\x7f" + SPEND + self.statements(depth, labels + [LOOP]) + self.last(depth, labels + [LOOP]) + END

    def choice(self, depth, labels):
        arms = [self.last(depth, labels + [VALUE]) for _ in range(2)]
        return self.value(depth, labels) + b"\x04\x7f" + arms[0] + ELSE + arms[1] + END

    def call(self, depth, labels, tail=False):
        arguments = self.value(depth, labels) + self.value(depth, labels)
        after = RETURN if tail and self.command else b""
        tail = tail and not self.command
        if self.pick(3) == 0:  # in the table, the last items are of another type, or null
            index = self.value(depth, labels) + const(15 if self.may_trap() else 3) + b"\x71"
            return arguments + index + (b"\x13" if tail else b"\x11") + b"\0\0" + after
        return arguments + (b"\x12" if tail else b"\x10") + uleb(self.pick(FUNCS)) + after

    def branch_with(self, depth, labels):
        targets = self.labels_with(labels, VALUE)
        if not targets:
            return self.value(depth, labels)
        return self.value(depth, labels) + self.value(depth, labels) + b"\x0d" + uleb(self.random.choice(targets))

    def last(self, depth, labels):
        """A value, or code that does not get to its end."""
        return self.leave(depth, labels) if self.pick(5) == 0 else self.value(depth, labels)

    def leave(self, depth, labels):
        """Code after which nothing is executed, and some dead code."""
        plain, kind = self.labels_with(labels, NONE, LOOP), self.pick(6)
        carrying = self.labels_with(labels, VALUE)
        if kind == 0 and self.may_trap():
            code = UNREACHABLE
        elif kind == 1:
            code = self.call(depth, labels, True)
        elif kind in (2, 3) and plain:
            code = b"\x0c" + uleb(self.random.choice(plain))
            if kind == 3:
                targets = [uleb(self.random.choice(plain)) for _ in range(self.pick(4))]
                code = self.value(depth, labels) + b"\x0e" + vec(targets) + uleb(self.random.choice(plain))
        elif carrying:
            targets = [uleb(self.random.choice(carrying)) for _ in range(self.pick(3))]
            code = self.value(depth, labels) + self.value(depth, labels) + b"\x0e" + vec(targets) + uleb(self.random.choice(carrying))
        else:
            code = self.value(depth, labels) + RETURN
        return code + (self.statements(1, labels) if self.pick(3) == 0 else b"")

    def statements(self, depth, labels):
        """Code that leaves the stack as it is."""
        return b"".join(self.statement(depth - 1, labels) for _ in range(self.pick(3))) if depth > 0 else b""

    def statement(self, depth, labels):
        kind = self.pick(9)
        inner = labels + [NONE]
        if kind == 0:
            return self.address(depth, labels) + self.value(depth, labels) + b"\x36\2" + uleb(self.pick(8))
        if kind == 1:
            return self.value(depth, labels) + b"\x04\x40" + self.body(depth, inner) + END
        if kind == 2:
            return self.value(depth, labels) + b"\x04\x40" + self.body(depth, inner) + ELSE + self.body(depth, inner) + END
        if kind == 3:
            return b"\x02\x40" + self.body(depth, inner) + END
        if kind == 4:
            again = labels + [LOOP]
            return b"\x03\x40" + SPEND + self.statements(depth, again) + self.value(depth, again) + b"\x0d\0" + END
        targets = self.labels_with(labels, NONE, LOOP)
        if kind == 5 and targets:
            return self.value(depth, labels) + b"\x0d" + uleb(self.random.choice(targets))
        if kind == 6 and self.may_trap():
            return self.value(depth, labels) + b"\x45\x04\x40" + UNREACHABLE + END
        return self.value(depth, labels) + (b"\x1a" if kind == 7 else b"\x21" + self.local())

    def body(self, depth, labels):
        return self.statements(depth, labels) + (self.leave(depth, labels) if self.pick(3) == 0 else b"")

    def function(self):
        code = vec([uleb(LOCALS - 2) + b"\x7f"]) + SPEND + self.statements(6, [VALUE]) + self.last(6, [VALUE]) + END
        return uleb(len(code)) + code

    def entry(self, index):
        """What is exported: fills up the fuel and calls the function."""
        code = b"\0" + const(FUEL) + b"\x24\0\x20\0\x20\1\x10" + uleb(index) + END
        return uleb(len(code)) + code

    def module(self):
        def name(text):
            return uleb(len(text)) + text.encode()

        items = [*range(FUNCS), 2 * FUNCS]
        exports = [name(f"f{k}") + b"\0" + uleb(FUNCS + k) for k in range(FUNCS)] + [name("memory") + b"\2\0"]
        functions = [self.function() for _ in range(FUNCS)] + [self.entry(k) for k in range(FUNCS)]
        last = b"\0" + END  # the function of another type
        if self.command:
            calls = [const(k) + const(n) + b"\x10" + uleb(FUNCS + k) + b"\x1a" for n in (0, 5, -7) for k in range(FUNCS)]
            last = b"\0" + b"".join(calls) + END
            items, exports = items[:-1], [name("_start") + b"\0" + uleb(2 * FUNCS), *exports[FUNCS:]]
        return b"\0asm\1\0\0\0" + b"".join(self.sections(exports, functions, last, items))

    def sections(self, exports, functions, last, items):
        """Sections with these functions, and these in the table."""
        return [
            section(1, vec([b"\x60\2\x7f\x7f\1\x7f", b"\x60\0\0", b"\x60\1\x7f\1\x7f"])),
            section(3, vec([b"\0"] * (2 * FUNCS) + [b"\1"])),
            section(4, vec([b"\x70\0" + uleb(TABLE)])),
            section(5, vec([b"\0\1"])),
            section(6, vec([b"\x7f\1\x41\0\x0b"])),
            section(7, vec(exports)),
            section(9, vec([b"\0\x41\0\x0b" + vec([uleb(k) for k in items])])),
            section(10, vec([*functions, uleb(len(last)) + last]))]
