"""Modules as nobody writes them: the same with longer numbers, empty sections, and custom sections between all others that tools
have made or damaged.
"""

import random

from ..breadth.generate import uleb, vec
from ..ways.arcs import sections
from .flow import FUNCS

CUSTOM, TYPES, DATA, DATA_COUNT = 0, 1, 11, 12
ORDER = (1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11)
NAMES = ("", "producers", "target_features", "sourceMappingURL", "external_debug_info", ".debug_info", ".debug_line", ".debug_abbrev", "linking",
         "reloc.CODE", "dylink.0", "metadata.code.branch_hint", "metadata.code.other", "build_id", "whammc.traps", "whammc", "\u20ac")


class Odd:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, n):
        return self.random.randrange(n)

    def uleb(self, n):
        """In up to five bytes."""
        short = uleb(n)
        if self.pick(3) or len(short) == 5:
            return short
        return short[:-1] + bytes([short[-1] | 128]) + b"\x80" * self.pick(5 - len(short)) + b"\0"

    def sized(self, content):
        return self.uleb(len(content)) + content

    def name_map(self, names):
        return vec([self.uleb(self.random.choice([*range(2 * FUNCS + 1), 99, 2**32 - 1])) + self.sized(name) for name in names])

    def names(self):
        """Parts of a section "name", in any order, some of them twice, unknown, or damaged."""
        out = b""
        for _ in range(self.pick(5)):
            kind = self.random.choice([0, 1, 1, 1, 2, 4, 7, 9, 11, 77, 255])
            words = [self.random.choice([b"", b"f", b"\xff\xfe", b"long" * 50, "\u00e9".encode(), b"\0"]) for _ in range(self.pick(8))]
            content = self.sized(b"module") if kind == 0 else vec([self.uleb(k) + self.name_map(words[:2]) for k in range(2)]) if kind == 2 else self.name_map(words)
            if self.pick(5) == 0:
                content = content[:self.pick(len(content) + 1)]
            out += bytes([kind]) + self.sized(content + b"\1\2" * (self.pick(9) == 0))
        return out[:self.pick(len(out) + 1)] if self.pick(5) == 0 else out

    def custom(self):
        name = self.random.choice(["name", *NAMES, "name"])
        content = self.names() if name == "name" else self.random.randbytes(self.pick(40))
        return bytes([CUSTOM]) + self.sized(self.sized(name.encode()) + content)

    def module(self, module):
        found = {kind: module[start:end] for kind, start, end in sections(module)}
        found.update({number: b"\0" for number in (2, 13, DATA_COUNT, DATA) if number not in found and self.pick(3) == 0})
        if DATA_COUNT in found and found.get(DATA, b"\0") == b"\0" and self.pick(2):
            found[DATA_COUNT], found[DATA] = b"\1", b"\1\1\0"  # one that is empty
        out = module[:8]
        for number in (n for n in ORDER if n in found):
            out += b"".join(self.custom() for _ in range(self.pick(3))) + bytes([number]) + self.sized(found[number])
        return out + b"".join(self.custom() for _ in range(self.pick(3)))
