"""Small WebAssembly programs: their bytes, where each instruction is in them, and what happens when they run.

A program is a Program of Funcs whose bodies are lists of tuples (name, immediate...); `block`, `loop` and `if` have a result
type or None. Nothing here knows of whammc: the table of instructions, ops.tsv, is from the reference of the language.
"""

import math
import os
import struct

PAGE = 65536
TYPES = {"i32": 0x7F, "i64": 0x7E, "f32": 0x7D, "f64": 0x7C}
BITS = {"i32": 32, "i64": 64}


class Op:
    """An instruction of the table."""

    def __init__(self, row, index):
        name, code, category, category_id, operands, results, modes, names = row
        self.name, self.code, self.index = name, int(code, 16), index
        self.category, self.category_id = category, int(category_id)
        self.operands = operands.split(",") if operands else []
        self.results = results.split(",") if results else []
        self.modes = []  # (as written, internal name)
        for mode in modes.split(","):
            written, _, internal = mode.partition("[")
            self.modes.append((written, internal.rstrip("]") or written))
        self.names = {}  # name: (type, static)
        self.data_size = None  # bytes of an access
        for item in names.split(","):
            item, _, value = item.partition("=")
            if item and "(" not in item:
                name, kind, life = item.split(":")
                self.names[name] = (kind, life == "s" and name != "target")
                if name == "data_size":
                    self.data_size = int(value)


def read_ops():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops.tsv")
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    return {row[0]: Op(row, i) for i, row in enumerate(rows)}


OPS = read_ops()


class Trap(Exception):
    """The program traps, or the sample is of no use."""


# ---- bytes ----


def unsigned(n):
    out = bytearray()
    while True:
        byte = n & 0x7F
        n >>= 7
        out.append(byte | (0x80 if n else 0))
        if not n:
            return bytes(out)


def signed(n):
    out = bytearray()
    while True:
        byte = n & 0x7F
        n >>= 7
        done = (n == 0 and not byte & 0x40) or (n == -1 and byte & 0x40)
        out.append(byte | (0 if done else 0x80))
        if done:
            return bytes(out)


def vector(items):
    return unsigned(len(items)) + b"".join(items)


def text(name):
    return unsigned(len(name.encode())) + name.encode()


def section(number, content):
    return bytes([number]) + unsigned(len(content)) + content


class Func:
    def __init__(self, name, params, result, locals_, body):
        self.name, self.params, self.result = name, params, result
        self.locals, self.body = locals_, body  # locals without parameters; the last instruction is an `end`
        self.pc = []  # of each instruction
        self.type = None

    def local_types(self):
        return self.params + self.locals


class Program:
    """imports: (name, params, result) from module "env"; globals: (type, value), all mutable and exported as g0, g1 ...;
    table: indices of functions, or None for an empty entry."""

    def __init__(self, imports, funcs, globals_, table):
        self.imports, self.funcs, self.globals, self.table = imports, funcs, globals_, table
        self.types = []
        for f in funcs:
            f.type = self.type_index(f.params, f.result)
            self.analyse(f)

    def type_index(self, params, result):
        t = (tuple(params), result)
        if t not in self.types:
            self.types.append(t)
        return self.types.index(t)

    def signature(self, fid):
        if fid < len(self.imports):
            return self.imports[fid][1], self.imports[fid][2]
        f = self.funcs[fid - len(self.imports)]
        return f.params, f.result

    def name(self, fid):
        return None if fid < len(self.imports) else self.funcs[fid - len(self.imports)].name

    def shown(self, fid):
        """What a defined function is called: its name, else what it is exported as (only the last one is), else its number."""
        last = len(self.imports) + len(self.funcs) - 1
        return self.name(fid) or ("_start" if fid == last else f"#{fid}")

    def analyse(self, f):
        """Where constructs begin and end: f.end[i], f.orelse[i] by their first instruction, f.begin[i] by the end."""
        f.end, f.orelse, f.begin, f.labels = {}, {}, {}, {}
        open_ = [None]
        for i, instr in enumerate(f.body):
            f.labels[i] = list(open_)  # what is open in front of it, outermost first; None = the function
            if instr[0] in ("block", "loop", "if"):
                open_.append(i)
            elif instr[0] == "else":
                f.orelse[open_[-1]] = i
            elif instr[0] == "end":
                start = open_.pop()
                f.begin[i] = start
                if start is not None:
                    f.end[start] = i
        assert not open_ and f.body[-1][0] == "end"

    # -- encoding --

    def instruction(self, instr):
        name, *imms = instr
        code = bytes([OPS[name].code])
        if name in ("block", "loop", "if"):
            return code + (bytes([TYPES[imms[0]]]) if imms[0] else b"\x40")
        if name == "i32.const":
            return code + signed(imms[0] - (1 << 32) if imms[0] >> 31 else imms[0])
        if name == "i64.const":
            return code + signed(imms[0] - (1 << 64) if imms[0] >> 63 else imms[0])
        if name == "f32.const":
            return code + struct.pack("<f", imms[0])
        if name == "f64.const":
            return code + struct.pack("<d", imms[0])
        if name == "br_table":
            return code + vector([unsigned(n) for n in imms[0]]) + unsigned(imms[1])
        if name == "call_indirect":
            params, result = imms
            return code + unsigned(self.type_index(params, result)) + b"\0"
        if name in ("memory.size", "memory.grow"):
            return code + b"\0"
        if ".load" in name or ".store" in name:
            align, offset = imms
            return code + unsigned(align) + unsigned(offset)
        return code + b"".join(unsigned(n) for n in imms)

    def code(self, f):
        runs = []
        for t in f.locals:
            if runs and runs[-1][1] == t:
                runs[-1][0] += 1
            else:
                runs.append([1, t])
        body = vector([unsigned(n) + bytes([TYPES[t]]) for n, t in runs])
        f.pc = []
        for instr in f.body:
            f.pc.append(len(body))
            body += self.instruction(instr)
        return unsigned(len(body)) + body

    def encode(self):
        codes = vector([self.code(f) for f in self.funcs])  # enters types
        imports = vector([text("env") + text(name) + b"\0" + unsigned(self.type_index(params, result))
                          for name, params, result in self.imports])
        types = vector([b"\x60" + vector([bytes([TYPES[t]]) for t in params]) + vector([bytes([TYPES[result]])] if result else [])
                        for params, result in self.types])
        out = b"\0asm\1\0\0\0" + section(1, types)
        if self.imports:
            out += section(2, imports)
        out += section(3, vector([unsigned(f.type) for f in self.funcs]))
        out += section(4, vector([b"\x70\0" + unsigned(len(self.table))]))
        out += section(5, vector([b"\1\1\4"]))
        out += section(6, vector([bytes([TYPES[t], 1]) + self.instruction((t + ".const", value)) + b"\x0b"
                                  for t, value in self.globals]))
        exports = [text("memory") + b"\2\0", text("_start") + b"\0" + unsigned(len(self.imports) + len(self.funcs) - 1)]
        exports += [text(f"g{i}") + b"\3" + unsigned(i) for i in range(len(self.globals))]
        out += section(7, vector(exports))
        elements = [b"\0" + self.instruction(("i32.const", i)) + b"\x0b" + vector([unsigned(fid)])
                    for i, fid in enumerate(self.table) if fid is not None]
        if elements:
            out += section(9, vector(elements))
        out += section(10, codes)
        names = [unsigned(len(self.imports) + i) + text(f.name) for i, f in enumerate(self.funcs) if f.name]
        inner = vector(names)
        return out + section(0, text("name") + b"\1" + unsigned(len(inner)) + inner)


# ---- numbers ----


def single(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def wrap(x, bits):
    return x & ((1 << bits) - 1)


def as_signed(x, bits):
    return x - (1 << bits) if x >> (bits - 1) else x


def int_to_float(x, t):
    """The nearest value, by one rounding."""
    if t == "f64":
        return float(x)
    n, sign = abs(x), -1 if x < 0 else 1
    shift = n.bit_length() - 24
    if shift > 0:
        low, half = n & ((1 << shift) - 1), 1 << (shift - 1)
        n >>= shift
        n += low > half or (low == half and n & 1)
        n <<= shift
    return sign * float(n)


def divide(x, y):
    """Towards zero."""
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def integer(op, bits, x, y):
    sx, sy = as_signed(x, bits), as_signed(y, bits)
    if op in ("div_s", "div_u", "rem_s", "rem_u"):
        if y == 0 or (op == "div_s" and sx == -(1 << (bits - 1)) and sy == -1):
            raise Trap
        a, b = (sx, sy) if op.endswith("s") else (x, y)
        return wrap(divide(a, b) if op[0] == "d" else a - b * divide(a, b), bits)
    k = y % bits
    return {
        "add": lambda: wrap(x + y, bits), "sub": lambda: wrap(x - y, bits), "mul": lambda: wrap(x * y, bits),
        "and": lambda: x & y, "or": lambda: x | y, "xor": lambda: x ^ y,
        "shl": lambda: wrap(x << k, bits), "shr_u": lambda: x >> k, "shr_s": lambda: wrap(sx >> k, bits),
        "rotl": lambda: wrap(x << k | x >> (bits - k), bits), "rotr": lambda: wrap(x >> k | x << (bits - k), bits),
        "eq": lambda: int(x == y), "ne": lambda: int(x != y),
        "lt_s": lambda: int(sx < sy), "gt_s": lambda: int(sx > sy), "le_s": lambda: int(sx <= sy), "ge_s": lambda: int(sx >= sy),
        "lt_u": lambda: int(x < y), "gt_u": lambda: int(x > y), "le_u": lambda: int(x <= y), "ge_u": lambda: int(x >= y),
    }[op]()


def integer_unary(op, bits, x):
    if op.startswith("extend"):
        n = int(op[6:-2])
        return wrap(as_signed(wrap(x, n), n), bits)
    return {
        "eqz": lambda: int(x == 0), "clz": lambda: bits - x.bit_length(),
        "ctz": lambda: (x & -x).bit_length() - 1 if x else bits, "popcnt": lambda: bin(x).count("1"),
    }[op]()


def real(op, t, x, y):
    if op in ("eq", "ne", "lt", "gt", "le", "ge"):
        return int({"eq": x == y, "ne": x != y, "lt": x < y, "gt": x > y, "le": x <= y, "ge": x >= y}[op])
    if op in ("min", "max"):
        if x == y == 0:
            low, high = (x, y) if math.copysign(1, x) < 0 else (y, x)
            return low if op == "min" else high
        return min(x, y) if op == "min" else max(x, y)
    r = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y}
    if op == "div" and y == 0:
        raise Trap  # not wanted: infinities and NaN
    value = r[op]()
    return single(value) if t == "f32" else value


def convert(name, x):
    to, rest = name.split(".")
    what, _, source = rest.partition("_")
    if what == "wrap":
        return wrap(x, 32)
    if what == "extend":
        return x if source.endswith("u") else wrap(as_signed(x, 32), 64)
    if what == "convert":
        bits = int(source[1:3])
        return int_to_float(as_signed(x, bits) if source.endswith("s") else x, to)
    return single(x) if what == "demote" else x


# ---- running ----


class Frame:
    def __init__(self, fid, func, values):
        self.fid, self.func, self.locals, self.stack = fid, func, values, []
        self.labels = []  # (index of the construct or None, height of the stack)
        self.jumped = False  # to the `end` that comes
        self.landing = None  # the branch that control comes from
        self.own = {}     # what a listener keeps for this activation


class Listener:
    """What a run tells; all methods may change frame.stack and frame.locals."""

    def first(self, frame): pass               # in front of everything else in the function
    def enter(self, frame): pass               # after the code before its first instruction
    def leave(self, frame, i): pass            # in front of instruction i, after which the function is left
    def before(self, frame, i): pass
    def after(self, frame, i, operands): pass  # operands: what was popped, the last one last
    def inside(self, frame, i): pass           # at the start of a construct, or of an arm
    def landed(self, frame, i): pass           # at the head of a loop or the end of the function, by branch i
    def close(self, frame, i): pass            # a construct's body ends by falling through; i is the construct or the else
    def behind(self, frame, i, branch): pass   # after construct i, whichever way control leaves it; by which branch, or None


class Machine:
    def __init__(self, program, listener, limit=20000):
        self.p, self.on, self.left = program, listener, limit
        self.memory = bytearray(PAGE)
        self.globals = [value for _, value in program.globals]
        self.depth = 0

    def run(self):
        return self.call(len(self.p.imports) + len(self.p.funcs) - 1, [])

    def call(self, fid, args):
        if fid < len(self.p.imports):
            return [wrap(args[0] + 3, 32)] if self.p.imports[fid][2] else []
        f = self.p.funcs[fid - len(self.p.imports)]
        self.depth += 1
        if self.depth > 60:
            raise Trap
        frame = Frame(fid, f, args + [0.0 if t[0] == "f" else 0 for t in f.locals])
        frame.labels.append((None, 0))
        self.body(frame)
        self.depth -= 1
        return frame.stack[-1:] if f.result else []

    def body(self, frame):
        f, i = frame.func, 0
        first = True
        while i is not None:
            self.left -= 1
            if self.left < 0:
                raise Trap
            if first:
                self.on.first(frame)
            if f.body[i][0] == "end":
                self.close(frame, i)
            self.on.before(frame, i)
            if first:
                self.on.enter(frame)
                first = False
            name = f.body[i][0]
            if (name == "end" and f.begin[i] is None) or name == "return":
                self.land(frame)
                self.on.leave(frame, i)
            i = self.step(frame, i, *f.body[i])

    def result_of(self, frame, construct):
        return frame.func.result if construct is None else frame.func.body[construct][1]

    def pop(self, frame, n):
        values = frame.stack[len(frame.stack) - n:]
        del frame.stack[len(frame.stack) - n:]
        return values

    def branch(self, frame, i, depth):
        """Where control goes on."""
        f = frame.func
        frame.landing = i
        target, height = frame.labels[-1 - depth]
        if target is not None and f.body[target][0] == "loop":
            del frame.stack[height:]
            del frame.labels[len(frame.labels) - 1 - depth:]
            return target
        values = self.pop(frame, 1) if self.result_of(frame, target) else []
        frame.stack[height:] = values
        del frame.labels[len(frame.labels) - depth:]
        frame.jumped = True
        return len(f.body) - 1 if target is None else f.end[target]

    def land(self, frame):
        if frame.landing is not None:
            self.on.landed(frame, frame.landing)
            frame.landing = None

    def step(self, frame, i, name, *imms):
        f, s = frame.func, frame.stack
        if name in ("block", "loop", "if"):
            if name == "if":
                condition = s.pop()
            frame.labels.append((i, len(s)))
            if name == "if" and not condition:
                if i not in f.orelse:
                    frame.jumped = True
                    return f.end[i]
                self.on.inside(frame, f.orelse[i])
                return f.orelse[i] + 1
            self.on.inside(frame, i)
            self.land(frame)
            return i + 1
        if name == "else":
            self.on.close(frame, frame.labels[-1][0])
            frame.jumped = True
            return f.end[frame.labels[-1][0]]
        if name == "end":
            return self.end(frame, i)
        if name == "br":
            return self.branch(frame, i, imms[0])
        if name == "return":
            s[:] = s[-1:] if f.result else []
            return None
        if name in ("br_if", "br_table"):
            index = s.pop()
            if name == "br_table":
                return self.branch(frame, i, imms[0][index] if index < len(imms[0]) else imms[1])
            if index:
                return self.branch(frame, i, imms[0])
            operands = [index]
        else:
            operands = self.plain(frame, name, imms)
        self.on.after(frame, i, operands)
        return i + 1

    def close(self, frame, i):
        """Tells of an `end` that control falls into, in front of it."""
        start = frame.labels[-1][0]
        if start is not None and not frame.jumped:
            self.on.close(frame, frame.func.orelse.get(start, start))
        frame.jumped = False

    def end(self, frame, i):
        f = frame.func
        start = frame.labels.pop()[0]
        if start is None:
            return None
        self.on.after(frame, i, [])
        self.on.behind(frame, start, frame.landing)
        frame.landing = None
        return i + 1

    def plain(self, frame, name, imms):
        """Executes an instruction and gives its operands."""
        s, operands = frame.stack, []

        def take(n):
            operands[:] = self.pop(frame, n)
            return operands

        t, _, op = name.partition(".")
        if name == "nop":
            pass
        elif name == "drop":
            take(1)
        elif name == "select":
            x, y, c = take(3)
            s.append(x if c else y)
        elif t == "local":
            if op == "get":
                s.append(frame.locals[imms[0]])
            else:
                frame.locals[imms[0]] = take(1)[0]
                if op == "tee":
                    s.append(operands[0])
        elif t == "global":
            if op == "get":
                s.append(self.globals[imms[0]])
            else:
                self.globals[imms[0]] = take(1)[0]
        elif op == "const":
            s.append(imms[0])
        elif op == "size":
            s.append(len(self.memory) // PAGE)
        elif op == "grow":
            pages = len(self.memory) // PAGE
            n = take(1)[0]
            if pages + n <= 4:
                self.memory.extend(bytes(n * PAGE))
            s.append(pages if pages + n <= 4 else 0xFFFFFFFF)
        elif op.startswith("load") or op.startswith("store"):
            self.access(take, s, t, op, imms[1])
        elif name == "call":
            params, _ = self.p.signature(imms[0])
            s.extend(self.call(imms[0], list(take(len(params)))))
        elif name == "call_indirect":
            params, result = imms
            take(len(params) + 1)
            index = operands[-1]
            fid = self.p.table[index] if index < len(self.p.table) else None
            if fid is None or self.p.signature(fid) != (params, result):
                raise Trap
            s.extend(self.call(fid, operands[:-1]))
        elif name in ("i32.wrap_i64", "f64.promote_f32", "f32.demote_f64") or "_i32_" in name or "convert" in op:
            s.append(convert(name, *take(1)))
        elif t in BITS and (op in ("eqz", "clz", "ctz", "popcnt") or op.startswith("extend")):
            s.append(integer_unary(op, BITS[t], *take(1)))
        elif t in BITS:
            s.append(integer(op, BITS[t], *take(2)))
        elif op in ("neg", "abs"):
            x = take(1)[0]
            s.append(-x if op == "neg" else abs(x))
        else:
            s.append(real(op, t, *take(2)))
        if s and s[-1] != s[-1]:
            raise Trap  # NaN: which one is up to the engine
        return operands

    def access(self, take, s, t, op, offset):
        bits = int("".join(c for c in op.split("_")[0] if c.isdigit()) or t[1:])
        n = bits // 8
        values = take(2 if op[0] == "s" else 1)
        at = values[0] + offset
        if at + n > len(self.memory):
            raise Trap
        if t[0] == "f":
            code = "<f" if t == "f32" else "<d"
            if op == "store":
                self.memory[at:at + n] = struct.pack(code, values[1])
            else:
                s.append(struct.unpack(code, self.memory[at:at + n])[0])
        elif op[0] == "s":
            self.memory[at:at + n] = wrap(values[1], bits).to_bytes(n, "little")
        else:
            x = int.from_bytes(self.memory[at:at + n], "little")
            s.append(wrap(as_signed(x, bits), BITS[t]) if op.endswith("_s") else x)
