"""Calls that reports of profiles tell, as {(caller, callee): calls} by function index or name; used by checks and by bench."""

import collections
import json

HOST, NOBODY = 0xFFFFFFFF, 0xFFFFFFFE


def leb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def name_at(data, at):
    size, at = leb(data, at)
    return data[at:at + size].decode("utf-8", "replace"), at + size


def sections(data):
    """(id, start, end) of each section of a module."""
    at = 8
    while at < len(data):
        kind = data[at]
        size, at = leb(data, at + 1)
        yield kind, at, at + size
        at += size


def imported(data, at):
    """The imported functions' names, of an import section."""
    names = []
    count, at = leb(data, at)
    for _ in range(count):
        _, at = name_at(data, at)
        field, at = name_at(data, at)
        kind, at = data[at], at + 1
        if kind in (0, 4):  # function, tag
            at += kind == 4
            _, at = leb(data, at)
            if kind == 0:
                names.append(field)
        elif kind == 3:
            at += 2
        else:
            at += kind == 1  # the element type of a table
            flags, at = leb(data, at)
            _, at = leb(data, at)
            if flags & 1:
                _, at = leb(data, at)
    return names


class Module:
    """What this needs to know of a module: names of functions, by index, and how many are imported."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.names, self.imports = {}, 0
        for kind, at, end in sections(data):
            if kind == 2:
                names = imported(data, at)
                self.imports = len(names)
                self.names.update(enumerate(names))
            elif kind == 7:
                self.read_exports(data, at)
            elif kind == 0:
                title, at = name_at(data, at)
                while title == "name" and at < end:
                    part, (size, at) = data[at], leb(data, at + 1)
                    if part == 1:
                        self.read_names(data, at)
                    at += size

    def read_exports(self, data, at):
        """Functions without a name of their own have that of their export."""
        count, at = leb(data, at)
        for _ in range(count):
            name, at = name_at(data, at)
            kind, (index, at) = data[at], leb(data, at + 1)
            if kind == 0:
                self.names.setdefault(index, name)

    def read_names(self, data, at):
        count, at = leb(data, at)
        for _ in range(count):
            index, at = leb(data, at)
            self.names[index], at = name_at(data, at)

    def name(self, index):
        return {HOST: "host", NOBODY: "nobody"}.get(index) or self.names.get(index, f"#{index}")


def read_json(text):
    """The variables of the last report in a text of JSON lines: {name: value}; maps as {key: value}, numbers of sites as sums by
    function."""
    values, seen = {}, set()
    for line in text.splitlines():
        if not line.startswith('{"id":'):
            continue
        row = json.loads(line)
        if (row["id"], row["id_type"]) in seen:  # the next report begins
            values, seen = {}, set()
        seen.add((row["id"], row["id_type"]))
        name, value = row["name"], row["value"]
        if row["id_type"] == "map_id":
            values[name] = {tuple(e["key"]) if isinstance(e["key"], list) else e["key"]: e["value"] for e in value}
        elif row["fid"] is not None and isinstance(value, int):
            values.setdefault(name, {}).setdefault(row["fid"], 0)
            values[name][row["fid"]] += value
        else:
            values[name] = value
    return values


def of_profile(values):
    """{(caller, callee): [calls, nanoseconds, open]} of a report of profile.whamm, or of what WasmProf saves of it: all closed."""
    found = {}
    for name in ("arcs", "others"):
        for arc, value in values.get(name, {}).items():
            old = found.get(arc, [0, 0, 0])
            found[arc] = [a + b for a, b in zip(old, [*value, 0])]
    return found


def counts(arcs):
    return {arc: value[0] for arc, value in arcs.items() if value[0]}


def of_tree(values):
    """{(caller, callee): calls} of a report of calltree.whamm: the arcs that its nodes are."""
    found, tree = collections.Counter(), values["tree"]
    for parent, function, calls, *_ in tree.values():
        found[tree[parent][1] if parent in tree else HOST, function] += calls
    return dict(found)


def entries(arcs, first):
    """How often each function from number `first` on was entered: {function: times}."""
    found = collections.Counter()
    for (_, callee), calls in arcs.items():
        if callee >= first and callee != HOST:
            found[callee] += calls
    return dict(found)


def self_times(values):
    """{function: nanoseconds in itself} of a report of profile.whamm, and the time of all that the host called.

    An arc that is open has the time until the report."""
    selfs, total = collections.Counter(), 0
    for (caller, callee), (_, spent, still_open) in of_profile(values).items():
        spent += still_open * values.get("ended", 0)
        if caller == callee:
            continue
        selfs[callee] += spent
        if caller == HOST:
            total += spent
        else:
            selfs[caller] -= spent
    return dict(selfs), total


def named(arcs, module):
    """{"caller -> callee": calls}, as it is easy to write down."""
    return {f"{module.name(a)} -> {module.name(b)}": n for (a, b), n in arcs.items()}


def differences(title, found, wanted):
    keys = sorted({*found, *wanted}, key=str)
    return [f"{title} {key}: {found.get(key)}, not {wanted.get(key)}" for key in keys if found.get(key, 0) != wanted.get(key, 0)]


def agree(values, first):
    """Whether profile, tree and entries of one run say the same; `first`: number of the first function that is not imported."""
    profile, tree = counts(of_profile(values)), of_tree(values)
    entered = {function: times for function, times in values.get("entered", {}).items() if times}
    direct = {arc: value[0] for arc, value in values.get("arcs", {}).items() if value[0]}
    problems = differences("calls of", entries(profile, first), entered)
    problems += differences("calls in the tree of", entries(tree, first), entered)
    return problems + differences("direct calls", direct, values.get("direct", {}))
