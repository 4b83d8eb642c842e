"""Random control flow with what WebAssembly 2.0 and 3.0 add to it: blocks and loops with parameters and several results, typed
function references and the branches on them, 64-bit memories and tables, instructions on whole memories and tables, arithmetic
in 64 and, if asked for, 128 bits.
"""

from ..breadth.generate import section, uleb, vec
from .flow import END, FUNCS, LOCALS, LOOP, NONE, RETURN, SPEND, TABLE, VALUE, Flow, const

FUNC, PLAIN, PASSING, PAIR, PAIRS = range(5)  # types: of functions; of one without results; of blocks
REF, NULLABLE = b"\x64\0", b"\x63\0"  # references to a function of type FUNC
REFERENCE = LOCALS  # a local of the latter type, of each function
BOTH = "both"  # a label with two values
NULL, AS_NON_NULL, ON_NULL, ON_NON_NULL, CALL_REF, RETURN_CALL_REF = b"\xd0\0", b"\xd4", b"\xd5", b"\xd6", b"\x14", b"\x15"
DROP, EXTEND, EXTEND_U, WRAP = b"\x1a", b"\xac", b"\xad", b"\xa7"


class Modern(Flow):
    """As Flow. `wide`: with instructions of 128 bits, which not every engine has."""

    def __init__(self, seed, trapping, command=False, wide=False):
        super().__init__(seed, trapping, command)
        self.wide, self.memory64, self.table64 = wide, self.pick(3) == 0, self.pick(3) == 0

    # ---- values ----

    def value(self, depth, labels):
        if depth <= 0 or self.pick(5) < 3:
            return super().value(depth, labels)
        kinds = [self.passing, self.passing_loop, self.pair, self.pairs, self.call_ref, self.on_null, self.on_non_null, self.branch_with_both,
                 self.arithmetic, self.is_null, self.sizes, self.grow_table, self.floats]
        return self.random.choice(kinds + [self.wide_arithmetic] * 3 * self.wide)(depth - 1, labels)

    def passing(self, depth, labels):
        inner = labels + [VALUE]
        return self.value(depth, labels) + b"\x02" + uleb(PASSING) + self.behind_parameter(depth, inner) + END

    def passing_loop(self, depth, labels):
        """A loop to whose beginning branches carry a value."""
        inner = labels + [VALUE]
        return self.value(depth, labels) + b"\x03" + uleb(PASSING) + SPEND + self.behind_parameter(depth, inner) + END

    def behind_parameter(self, depth, labels):
        return self.statements(depth, labels) + self.last(depth, labels) + self.random.choice([b"\x6a", b"\x73", b"\x6b"])

    def two(self, depth, labels):
        return self.value(depth, labels) + self.last(depth, labels)

    def pair(self, depth, labels):
        inner = labels + [BOTH]
        return b"\x02" + uleb(PAIR) + self.statements(depth, inner) + self.two(depth, inner) + END + b"\x6a"

    def pairs(self, depth, labels):
        """An if with two parameters and two results, perhaps without an else."""
        inner, code = labels + [BOTH], self.value(depth, labels) + self.value(depth, labels) + self.value(depth, labels)
        code += b"\x04" + uleb(PAIRS) + self.statements(depth, inner)
        if self.pick(2):
            code += b"\x6a" + self.last(depth, inner) + b"\x05" + self.statements(depth, inner) + b"\x6b" + self.value(depth, inner)
        return code + END + b"\x73"

    def branch_with_both(self, depth, labels):
        targets = self.labels_with(labels, BOTH)
        if not targets:
            return self.value(depth, labels)
        return self.two(depth, labels) + self.value(depth, labels) + b"\x0d" + uleb(self.random.choice(targets)) + b"\x6a"

    def arithmetic(self, depth, labels):
        """In 64 bits."""
        operation = bytes([self.random.choice([0x7C, 0x7D, 0x7E, 0x83, 0x84, 0x85, 0x86, 0x88, 0x89])])
        code = self.value(depth, labels) + EXTEND + self.value(depth, labels) + EXTEND_U
        if self.pick(3) == 0:
            odd = b"" if self.may_trap() else b"\x42\1\x84"
            return code + odd + bytes([self.random.choice([0x80, 0x82])]) + WRAP
        return code + operation + (b"\x42\x20\x88" if self.pick(3) == 0 else b"") + WRAP

    def wide_arithmetic(self, depth, labels):
        kind = self.pick(4)
        wide = b"".join(self.value(depth if k == 0 else 0, labels) + (EXTEND if self.pick(2) else EXTEND_U) for k in range(4 if kind < 2 else 2))
        results = self.random.choice([b"\x85", b"\x7c", DROP, b"\x21" + uleb(REFERENCE + 1) + DROP + b"\x20" + uleb(REFERENCE + 1)])
        return wide + b"\xfc" + uleb(19 + kind) + results + WRAP

    def floats(self, depth, labels):
        code = self.value(depth, labels) + b"\xb7" + self.value(depth, labels) + b"\xb7" + bytes([self.random.choice([0xA0, 0xA1, 0xA4, 0xA5])])
        return code + self.random.choice([b"\xfc\2", b"\xb6\xbc", b"\xaa" if self.may_trap() else b"\xfc\3"])

    # ---- references ----

    def reference(self, depth, labels):
        """Of type NULLABLE."""
        a = b"\xd2" + uleb(self.pick(FUNCS))
        kind = self.pick(4)
        if kind == 0:
            return a
        if kind == 1:
            return b"\x20" + uleb(REFERENCE)
        null = NULL if kind == 2 else b"\xd2" + uleb(self.pick(FUNCS)) + b"\x22" + uleb(REFERENCE)
        return a + null + self.value(depth, labels) + b"\x1c" + vec([NULLABLE])

    def non_null(self, depth, labels):
        """Of type REF."""
        if self.may_trap():
            return self.reference(depth, labels) + AS_NON_NULL
        return b"\xd2" + uleb(self.pick(FUNCS))

    def call_ref(self, depth, labels, tail=False):
        null = self.reference if self.may_trap() else self.non_null
        code = self.value(depth, labels) + self.value(depth, labels) + null(depth, labels)
        if tail:
            return code + (CALL_REF + b"\0" + RETURN if self.command else RETURN_CALL_REF + b"\0")
        return code + CALL_REF + b"\0"

    def on_null(self, depth, labels):
        targets = self.labels_with(labels, NONE, LOOP, VALUE)
        if not targets:
            return self.call_ref(depth, labels)
        code = self.value(depth, labels) + self.value(depth, labels) + self.reference(depth, labels)
        return code + ON_NULL + uleb(self.random.choice(targets)) + CALL_REF + b"\0"

    def on_non_null(self, depth, labels):
        inner = labels + [None]
        code = self.value(depth, labels) + self.value(depth, labels) + b"\x02" + REF + self.reference(depth, inner) + ON_NON_NULL + b"\0"
        code += self.statements(depth, inner) + (self.leave(depth, inner) if self.pick(3) == 0 else self.non_null(depth, inner))
        return code + END + CALL_REF + b"\0"

    def is_null(self, depth, labels):
        return self.reference(depth, labels) + b"\xd1"

    # ---- memories and tables ----

    def wrapped_index(self, code, big):
        return code + (EXTEND_U if big else b"")

    def address(self, depth, labels):
        return self.wrapped_index(super().address(depth, labels), self.memory64)

    def index(self, depth, labels):
        code = self.value(depth, labels) + const(15 if self.may_trap() else 7) + b"\x71"
        return self.wrapped_index(code, self.table64)

    def few(self, depth, labels, big):
        return self.wrapped_index(self.value(depth, labels) + const(1) + b"\x71", big)

    def call(self, depth, labels, tail=False):
        if self.pick(3) == 0:
            return self.call_ref(depth, labels, tail)
        code = super().call(depth, labels, tail)
        if not self.table64:
            return code
        after = RETURN if tail and self.command else b""
        arguments = self.value(depth, labels) + self.value(depth, labels)
        index = self.wrapped_index(self.value(depth, labels) + const(15 if self.may_trap() else 3) + b"\x71", True)
        return arguments + index + (b"\x13" if tail and not self.command else b"\x11") + b"\0\0" + after

    def sizes(self, depth, labels):
        big, code = self.random.choice([(self.memory64, b"\x3f\0"), (self.table64, b"\xfc\x10\0")])
        return code + (WRAP if big else b"")

    def grow_table(self, depth, labels):
        return NULL[:1] + b"\x70" + self.few(depth, labels, self.table64) + b"\xfc\x0f\0" + (WRAP if self.table64 else b"")

    def statement(self, depth, labels):
        if self.pick(4):
            return super().statement(depth, labels)
        kind = self.pick(6)
        if kind == 0:
            return self.reference(depth, labels) + b"\x21" + uleb(REFERENCE)
        if kind == 1:
            return self.index(depth, labels) + self.reference(depth, labels) + b"\x26\0" if self.may_trap() else \
                self.index(depth, labels) + b"\xd2" + uleb(self.pick(FUNCS)) + b"\x26\0"
        if kind == 2:
            return self.address(depth, labels) + self.value(depth, labels) + self.few(depth, labels, self.memory64) + b"\xfc\x0b\0"
        if kind == 3:
            return self.address(depth, labels) + self.address(depth, labels) + self.few(depth, labels, self.memory64) + b"\xfc\x0a\0\0"
        if kind == 4:
            return self.index(depth, labels) + self.index(depth, labels) + self.few(depth, labels, self.table64) + b"\xfc\x0e\0\0"
        return self.index(depth, labels) + b"\x25\0" + DROP

    def leave(self, depth, labels):
        both, kind = self.labels_with(labels, BOTH), self.pick(4)
        if both and kind == 0:
            targets = [uleb(self.random.choice(both)) for _ in range(self.pick(3))]
            return self.two(depth, labels) + self.value(depth, labels) + b"\x0e" + vec(targets) + uleb(self.random.choice(both))
        if both and kind == 1:
            return self.two(depth, labels) + b"\x0c" + uleb(self.random.choice(both))
        return super().leave(depth, labels)

    # ---- the module ----

    def function(self):
        code = vec([uleb(LOCALS - 2) + b"\x7f", b"\1" + NULLABLE, b"\1\x7e"]) + SPEND + self.statements(6, [VALUE]) + self.last(6, [VALUE]) + END
        return uleb(len(code)) + code

    def types(self):
        return [b"\x60\2\x7f\x7f\1\x7f", b"\x60\0\0", b"\x60\1\x7f\1\x7f", b"\x60\0\2\x7f\x7f", b"\x60\2\x7f\x7f\2\x7f\x7f"]

    def sections(self, exports, functions, last, items):
        start = b"\x42\0\x0b" if self.table64 else b"\x41\0\x0b"
        return [
            section(1, vec(self.types())),
            section(3, vec([b"\0"] * (2 * FUNCS) + [b"\1"])),
            section(4, vec([b"\x70" + (b"\5" if self.table64 else b"\1") + uleb(TABLE) + uleb(TABLE + 3)])),
            section(5, vec([b"\4\1" if self.memory64 else b"\0\1"])),
            section(6, vec([b"\x7f\1\x41\0\x0b"])),
            section(7, vec(exports)),
            section(9, vec([b"\0" + start + vec([uleb(k) for k in items])])),
            section(10, vec([*functions, uleb(len(last)) + last]))]
