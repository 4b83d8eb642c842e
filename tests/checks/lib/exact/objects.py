"""Random control flow with what the interpreter in src/eval/ cannot run: objects and casts, branches on casts, exceptions with
try_table, vectors, atomic instructions.
"""

from ..breadth.generate import section, uleb, vec
from .flow import END, LOOP, NONE, VALUE, const
from .modern import DROP, Modern

STRUCT, ARRAY, SUBSTRUCT, TAG_TYPES = 5, 6, 7, (8, 1)  # types, after those of Modern
CAUGHT, EMPTY = 0, 1  # tags: with an i32, without
ANY, EXNREF = b"\x6e", b"\x69"
NEW, GET = b"\xfb\0", b"\xfb\2"
BRANCH, THROW, THROW_REF, TRY_TABLE = b"\x0c", b"\x08", b"\x0a", b"\x1f"


class Objects(Modern):
    def value(self, depth, labels):
        if depth <= 0 or self.pick(3):
            return super().value(depth, labels)
        kinds = [self.cast, self.on_cast, self.on_cast_fail, self.array, self.i31, self.vector, self.atomic, self.try_table, self.try_table,
                 self.try_reference, self.test, self.equal]
        return self.random.choice(kinds)(depth - 1, labels)

    # ---- objects ----

    def structure(self, depth, labels):
        return self.value(depth, labels) + NEW + uleb(STRUCT)

    def small(self, depth, labels):
        """A small object without fields."""
        return self.value(depth, labels) + b"\xfb\x1c"

    def anything(self, depth, labels):
        kind = self.pick(5)
        if kind == 0:
            return self.small(depth, labels)
        if kind == 1:
            return self.structure(depth, labels)
        if kind == 2:
            return self.value(depth, labels) + self.value(depth, labels) + NEW + uleb(SUBSTRUCT)
        if kind == 3:
            return b"\xd0\x71"
        return self.value(depth, labels) + const(3) + b"\x71\xfb\7" + uleb(ARRAY)

    def cast(self, depth, labels):
        code = self.structure(depth, labels)
        if self.may_trap():
            code = self.anything(depth, labels) + self.random.choice([b"\xfb\x16", b"\xfb\x17"]) + uleb(STRUCT)
        return code + GET + uleb(STRUCT) + b"\0"

    def on_cast(self, depth, labels):
        inner = labels + [None]
        code = b"\x02\x64" + uleb(STRUCT) + self.anything(depth, inner) + b"\xfb\x18\1\0" + ANY + uleb(STRUCT) + DROP
        code += self.statements(depth, inner) + (self.leave(depth, inner) if self.pick(3) == 0 else self.structure(depth, inner))
        return code + END + GET + uleb(STRUCT) + b"\0"

    def on_cast_fail(self, depth, labels):
        inner = labels + [VALUE]
        code = b"\x02\x7f\x02" + ANY + self.anything(depth, inner + [None]) + b"\xfb\x19\1\0" + ANY + uleb(STRUCT) + GET + uleb(STRUCT) + b"\0"
        return code + BRANCH + b"\1" + END + DROP + self.value(depth, inner) + END

    def array(self, depth, labels):
        within = b"" if self.may_trap() else const(3) + b"\x71"
        return self.value(depth, labels) + const(4) + b"\xfb\6" + uleb(ARRAY) + self.value(depth, labels) + within + b"\xfb\x0d" + uleb(ARRAY)

    def i31(self, depth, labels):
        return self.small(depth, labels) + self.random.choice([b"\xfb\x1d", b"\xfb\x1e"])

    def test(self, depth, labels):
        kind = self.random.choice([uleb(STRUCT), uleb(SUBSTRUCT), b"\x6c", b"\x6d"])
        return self.anything(depth, labels) + self.random.choice([b"\xfb\x14", b"\xfb\x15"]) + kind

    def equal(self, depth, labels):
        return self.small(depth, labels) + self.small(depth, labels) + b"\xd3"

    # ---- vectors, atomic instructions ----

    def vector(self, depth, labels):
        load, lane, kind = self.address(depth, labels) + b"\xfd\0\0" + uleb(self.pick(8)), bytes([self.pick(4)]), self.pick(4)
        if kind == 0:
            return load + b"\xfd\x1b" + lane
        if kind == 1:
            return load + self.value(depth, labels) + b"\xfd\x11\xfd\xae\1\xfd\x1b" + lane
        if kind == 2:
            return load + b"\xfd\x53"
        return self.address(depth, labels) + load + b"\xfd\x56\0\4" + lane + b"\xfd\x1b" + lane

    def atomic(self, depth, labels):
        aligned = b"" if self.may_trap() else b"\x42\x7c\x83" if self.memory64 else b"\x41\x7c\x71"
        address, kind = self.address(depth, labels) + aligned, self.pick(3)
        operands = b"".join(self.value(depth, labels) for _ in range(kind))
        return address + operands + (b"\xfe\x10", b"\xfe\x1e", b"\xfe\x48")[kind] + b"\2\0"

    # ---- exceptions ----

    def throw(self, depth, labels):
        return THROW + uleb(EMPTY) if self.pick(2) else self.value(depth, labels) + THROW + uleb(CAUGHT)

    def try_table(self, depth, labels):
        outer, catches = labels + [VALUE], []
        carrying, plain = self.labels_with(outer, VALUE), self.labels_with(outer, NONE, LOOP)
        for _ in range(1 + self.pick(3)):
            if self.pick(2) or not plain:
                catches.append(b"\0" + uleb(CAUGHT) + uleb(self.random.choice(carrying)))
            else:
                catches.append(self.random.choice([b"\0" + uleb(EMPTY), b"\2"]) + uleb(self.random.choice(plain)))
        inner = outer + [VALUE]
        last = self.throw(depth, inner) if self.pick(3) == 0 else self.last(depth, inner)
        return b"\x02\x7f" + TRY_TABLE + b"\x7f" + vec(catches) + self.statements(depth, inner) + last + END + END

    def try_reference(self, depth, labels):
        """Catches everything, and perhaps throws it again."""
        inner = labels + [VALUE, None, VALUE]
        code = b"\x02\x7f\x02" + EXNREF + TRY_TABLE + b"\x7f\1\3\0" + self.statements(depth, inner) + self.last(depth, inner) + END
        after = THROW_REF if self.pick(2) else DROP + self.value(depth, labels + [VALUE])
        return code + BRANCH + b"\1" + END + after + END

    def leave(self, depth, labels):
        return self.throw(depth, labels) if self.pick(5) == 0 else super().leave(depth, labels)

    def statement(self, depth, labels):
        if self.pick(12) == 0:
            return self.value(depth, labels) + b"\x04\x40" + self.throw(depth, labels + [NONE]) + END
        return super().statement(depth, labels)

    # ---- the module ----

    def types(self):
        fields = [b"\x50\0\x5f\1\x7f\1", b"\x5e\x78\1", b"\x50\1" + uleb(STRUCT) + b"\x5f\2\x7f\1\x7f\1"]
        return [*super().types(), *fields, b"\x60\1\x7f\0"]

    def sections(self, exports, functions, last, items):
        found = super().sections(exports, functions, last, items)
        tags = section(13, vec([b"\0" + uleb(kind) for kind in TAG_TYPES]))
        return [*found[:4], tags, *found[4:]]  # behind the memory
