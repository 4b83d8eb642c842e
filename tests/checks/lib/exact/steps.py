"""Random control flow in which most loops are straight-line code that adds the same to a local in each iteration, and accesses
memory at addresses made of it: loops that are counted by what they do to that local, and some that are not quite such loops. They
are left in all ways: at their end, by branches to labels of all kinds, and by traps when they have gone through the memory.
"""

from .flow import END, LOOP, NONE, VALUE, Flow, const, uleb

SPEND = b"\x23\0\x23\0\x41\0\x47\x6b\x24\0"  # fuel -= fuel != 0
BIASES = [0, 0, 64, 65000, 65500, 0x7FFFFFE0, 0x80000010, 0xFFFFFFC0]
EXPONENTS = [0, 0, 1, 2, 2, 3, 3, 4, 8, 12, 16, 17]
ADD, SUB, MUL, AND, SHL, OR = b"\x6a", b"\x6b", b"\x6c", b"\x71", b"\x74", b"\x72"
PASSING = 2  # the type of a loop that takes an i32 and leaves one


def wrapped(n):
    n &= 0xFFFFFFFF
    return const(n - (1 << 32) if n >> 31 else n)


class Steps(Flow):
    def loop(self, depth, labels):
        kind = self.pick(4)
        if kind == 0:
            return super().loop(depth, labels)
        if kind == 1:
            return self.stepped(depth, labels, b"\x40") + self.value(0, labels)
        return self.stepped(depth, labels, b"\x7f" if kind == 2 else uleb(PASSING))

    def statement(self, depth, labels):
        return self.stepped(depth, labels, b"\x40") if depth > 0 and self.pick(3) == 0 else super().statement(depth, labels)

    def get(self, local):
        return b"\x20" + uleb(local)

    def stepped(self, depth, labels, kind):
        local, other, step = self.pick(4), self.pick(4), 1 << self.random.choice(EXPONENTS)
        bias = self.random.choice(BIASES)
        if self.pick(12) == 0:
            step = self.random.choice([0, 3, 24])
        first = bias + self.pick(64)
        start = wrapped(first) + b"\x21" + uleb(local)
        if self.pick(2):
            step = -step
        inside = [*labels, LOOP]
        fueled = not step or self.pick(4) == 0
        pieces = [self.piece(local, other if fueled else (local + 1) % 4, bias, inside) for _ in range(2 + self.pick(5))]
        pieces.insert(self.pick(len(pieces) + 1), self.update(local, other, step, fueled))
        body = b"".join(pieces)
        if kind == b"\x7f":
            body += self.get(other)
        if fueled:
            ends = self.random.choice([const(1), self.get(other) + b"\x41\0\x47"])
            more = SPEND + b"\x23\0\x41\0\x47" + ends + AND + b"\x0d\0"
        else:
            more = self.get(local) + wrapped(first + step * (1 + self.pick(40))) + b"\x47\x0d\0"
        if self.pick(12) == 0:
            more += self.value(0, inside) + b"\x1a"  # something after the branch
        before = self.value(0, labels) if kind == uleb(PASSING) else b""
        return start + before + b"\x03" + kind + body + more + END

    def update(self, local, other, step, fueled):
        kind = self.pick(6)
        if kind == 0:
            return self.get(local) + wrapped(-step) + SUB + b"\x21" + uleb(local)
        if kind == 1 and other != local:
            return wrapped(step) + self.get(local) + ADD + b"\x22" + uleb(other) + b"\x21" + uleb(local)
        if kind == 2:  # in two steps
            half = step // 2
            return self.get(local) + wrapped(half) + ADD + b"\x22" + uleb(local) + wrapped(step - half) + ADD + b"\x21" + uleb(local)
        if kind == 3 and (fueled or self.pick(4) == 0):  # not the same each time the loop is entered
            return self.get(local) + self.get(other) + ADD + wrapped(step) + ADD + b"\x21" + uleb(local)
        return self.get(local) + wrapped(step) + ADD + b"\x21" + uleb(local)

    def address(self, depth, labels, local=None, bias=0):
        if local is None:
            return super().address(depth, labels)
        value = self.get(local) + wrapped(bias) + SUB
        kind = self.pick(8)
        if kind == 0:
            return value + const(self.pick(4)) + SHL
        if kind == 1:
            return value + const(self.pick(5) - 2) + MUL
        if kind == 2:
            return value + const(0x3FF) + AND
        if kind == 3:
            return const(0x8000) + value + SUB
        if kind == 4:
            return self.get(self.pick(4)) + const(0xFF) + AND + value + ADD
        return value

    def piece(self, local, other, bias, labels):
        """Straight-line code that may write to the other local."""
        kind = self.pick(7)
        address = self.address(0, labels, local, bias)
        if kind < 2:
            return address + b"\x28\2" + uleb(self.pick(8)) + (b"\x1a" if kind else b"\x21" + uleb(other))
        if kind == 2:
            return address + self.get(self.pick(4)) + b"\x36\2" + uleb(self.pick(8))
        if kind == 3:
            return self.get(self.pick(4)) + const(self.pick(9)) + OR + b"\x21" + uleb(other)
        leaves = self.get(local) + wrapped(bias + self.pick(300) - 100) + b"\x46"
        plain = [k for k in self.labels_with(labels, NONE, LOOP) if k]
        carrying = self.labels_with(labels, VALUE)
        if kind == 4 and plain:
            return leaves + b"\x0d" + uleb(self.random.choice(plain))
        if kind == 5 and carrying:
            return self.get(self.pick(4)) + leaves + b"\x0d" + uleb(self.random.choice(carrying)) + b"\x1a"
        if kind == 6 and self.may_trap():
            return const(7) + self.get(local) + wrapped(bias) + SUB + b"\x6e\x1a"  # divides by it
        return address + b"\x2d\0\0\x1a"
