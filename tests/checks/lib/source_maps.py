"""Source maps of modules, and where the functions of a module are."""

import json

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def numbers(segment):
    """The numbers of a segment of mappings."""
    value = shift = 0
    for digit in map(DIGITS.index, segment):
        value |= (digit & 31) << shift
        shift += 5
        if digit < 32:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0


def mappings(path):
    """{column: [source, line, column]} of a source map; None for what is unmapped. Of equal columns the first counts."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    found, state = {}, [0] * 5
    for segment in content["mappings"].split(","):
        fields = 0
        for fields, delta in enumerate(numbers(segment), 1):
            state[fields - 1] += delta
        place_there = [content["sources"][state[1]], str(state[2] + 1), str(state[3] + 1)] if fields > 1 else None
        found.setdefault(state[0], place_there)
    return found


def leb(data, at):
    """(number, where it ends)."""
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def bodies(path):
    """The file offset of the code section's contents, and of each body."""
    with open(path, "rb") as file:
        data = file.read()
    at = 8
    while data[at] != 10:
        size, begin = leb(data, at + 1)
        at = begin + size
    _, code = leb(data, at + 1)
    count, at = leb(data, code)
    starts = []
    for _ in range(count):
        size, at = leb(data, at)
        starts.append(at)
        at += size
    return code, starts


def imported(path, kind):
    """How many functions (0), tables (1), memories (2) or globals (3) a module imports."""
    with open(path, "rb") as file:
        data = file.read()
    at = 8
    while at < len(data) and data[at] != 2:
        size, begin = leb(data, at + 1)
        at = begin + size
    if at >= len(data):
        return 0
    found, (_, at) = 0, leb(data, at + 1)
    count, at = leb(data, at)
    for _ in range(count):
        for _ in "module", "name":
            size, at = leb(data, at)
            at += size
        found, which, at = found + (data[at] == kind), data[at], at + 1
        if which == 0:
            _, at = leb(data, at)
        elif which == 3:
            at += 2
        elif which == 4:
            _, at = leb(data, at + 1)
        else:
            flags, at = leb(data, at + (which == 1))
            for _ in range(1 + (flags & 1)):
                _, at = leb(data, at)
    return found
