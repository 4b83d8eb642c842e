"""Components byte by byte: an assembler, and components that are valid or wrong in one way."""

import itertools

from lib.wasm import leb, section, sized

HEADER = bytes.fromhex("00 61 73 6d 0d 00 01 00")
CORE_TYPES = {"i32": 0x7F, "i64": 0x7E, "f32": 0x7D, "f64": 0x7C, "funcref": 0x70}
CORE_KINDS = {"func": 0, "table": 1, "memory": 2, "global": 3, "tag": 4}
PRIMITIVES = {"bool": 0x7F, "s8": 0x7E, "u8": 0x7D, "s16": 0x7C, "u16": 0x7B, "s32": 0x7A, "u32": 0x79, "s64": 0x78, "u64": 0x77,
              "f32": 0x76, "f64": 0x75, "char": 0x74, "string": 0x73, "error-context": 0x64}
SORTS = {**{f"core {kind}": bytes([0, n]) for kind, n in CORE_KINDS.items()}, "core type": b"\0\x10", "core module": b"\0\x11",
         "core instance": b"\0\x12", "func": b"\1", "value": b"\2", "type": b"\3", "component": b"\4", "instance": b"\5"}
UTF8, UTF16, COMPACT, ASYNC, GC = b"\0", b"\1", b"\2", b"\6", b"\x09"


def vector(items):
    """A vector."""
    items = list(items)
    return leb(len(items)) + b"".join(items)


def name(text):
    """A name."""
    return sized(text if isinstance(text, bytes) else text.encode())


# --- Core modules ---------------------------------------------------------------------------------------


def core_func(params, results):
    """The type of a core function, from names of types, such as "i32 i64"."""
    return b"\x60" + vector(bytes([CORE_TYPES[t]]) for t in params.split()) + vector(bytes([CORE_TYPES[t]]) for t in results.split())


def core_module(functions=(), imports=(), memory=None, extra=b""):
    """A core module. Functions: (exported name, parameters, results), all of them trap. Imports: (module, name, parameters, results).
    A memory is exported as `memory`, with these bytes of its limits."""
    types = [core_func(*item[-2:]) for item in (*imports, *functions)]
    parts = [section(1, vector(types))]
    if imports:
        parts.append(section(2, vector(name(m) + name(n) + b"\0" + leb(k) for k, (m, n, *_) in enumerate(imports))))
    parts.append(section(3, vector(leb(len(imports) + k) for k in range(len(functions)))))
    if memory:
        parts.append(section(5, vector([memory])))
    exports = [name(f[0]) + b"\0" + leb(len(imports) + k) for k, f in enumerate(functions)] + ([name("memory") + b"\2\0"] if memory else [])
    parts += [section(7, vector(exports)), section(10, vector([sized(b"\0\0\x0b")] * len(functions)))]
    return b"\0asm\1\0\0\0" + b"".join(parts) + extra


# --- Types ----------------------------------------------------------------------------------------------


def val(t):
    """A value type: the name of a primitive one, or the index of a type."""
    if isinstance(t, str):
        return bytes([PRIMITIVES[t]])
    out = bytearray()
    while t > 63:  # signed
        out.append(t & 127 | 128)
        t >>= 7
    return bytes(out + bytes([t]))


def optional(t):
    """A type that may be None."""
    return b"\0" if t is None else b"\1" + val(t)


def func(params=(), result=None, asynchronous=False):
    """The type of a function; parameters are pairs."""
    return (b"\x43" if asynchronous else b"\x40") + vector(name(n) + val(t) for n, t in params) + (b"\1\0" if result is None else b"\0" + val(result))


def record(fields):
    """A record type."""
    return b"\x72" + vector(name(n) + val(t) for n, t in fields)


def variant(cases):
    """A variant type."""
    return b"\x71" + vector(name(n) + optional(t) + b"\0" for n, t in cases)


def labels(code, names):
    """An enum type (0x6d) or flags (0x6e)."""
    return bytes([code]) + vector(name(n) for n in names)


def tuple_of(types):
    """A tuple type."""
    return b"\x6f" + vector(val(t) for t in types)


def list_of(t, length=None):
    """A list type."""
    return b"\x70" + val(t) if length is None else b"\x67" + val(t) + leb(length)


def option(t):
    """An option type."""
    return b"\x6b" + val(t)


def result_of(ok=None, error=None):
    """A result type."""
    return b"\x6a" + optional(ok) + optional(error)


def handle(code, resource):
    """An own (0x69) or borrow (0x68) type."""
    return bytes([code]) + leb(resource)


def own(resource):
    """An own type."""
    return handle(0x69, resource)


def borrow(resource):
    """A borrow type."""
    return handle(0x68, resource)


def resource_type(rep="i32", destructor=None):
    """A new resource."""
    return b"\x3f" + bytes([CORE_TYPES[rep]]) + (b"\0" if destructor is None else b"\1" + leb(destructor))


def instance_type(declarations):
    """The type of an instance; `component_type` that of a component. Declarations: see below."""
    return b"\x42" + vector(declarations)


def component_type(declarations):
    """The type of a component."""
    return b"\x41" + vector(declarations)


def declare_type(content):
    """A declaration of a type in such a type."""
    return b"\1" + content


def declare_alias(sort, up, index):
    """An outer alias there."""
    return b"\2" + SORTS[sort] + b"\2" + leb(up) + leb(index)


def declare_import(text, what):
    """An import there; `what` as in Component.add_import."""
    return b"\3\0" + name(text) + what


def declare_export(text, what):
    """An export there."""
    return b"\4\0" + name(text) + what


def is_a(sort, index):
    """What an import or export is: something of this type."""
    return SORTS[sort] + leb(index)


def equals(index):
    """... a type that equals another."""
    return b"\3\0" + leb(index)


RESOURCE = b"\3\1"  # ... a resource


# --- Components -----------------------------------------------------------------------------------------


class Component:
    """A component; what adds something returns its index."""

    def __init__(self):
        self.sections = []
        self.count = dict.fromkeys(SORTS, 0)

    def bytes(self):
        """The component."""
        return HEADER + b"".join(self.sections)

    def section(self, number, *items):
        """A section of these items."""
        self.sections.append(section(number, vector(items)))

    def take(self, sort, n=1):
        """The next index."""
        self.count[sort] += n
        return self.count[sort] - n

    def core_module(self, content):
        """A core module."""
        self.sections.append(section(1, content))
        return self.take("core module")

    def core_instance(self, module, **arguments):
        """Instantiates a core module with core instances; `_` is the empty name."""
        named = [name("" if n == "_" else n) + b"\x12" + leb(i) for n, i in arguments.items()]
        self.section(2, b"\0" + leb(module) + vector(named))
        return self.take("core instance")

    def core_exports(self, *exports):
        """A core instance that consists of (name, kind, index)."""
        self.section(2, b"\1" + vector(name(n) + bytes([CORE_KINDS[kind]]) + leb(i) for n, kind, i in exports))
        return self.take("core instance")

    def core_type(self, content):
        """A core type."""
        self.section(3, content)
        return self.take("core type")

    def component(self, content):
        """A component inside."""
        self.sections.append(section(4, content.bytes() if isinstance(content, Component) else content))
        return self.take("component")

    def instance(self, component, *arguments):
        """Instantiates a component with (name, sort, index)."""
        self.section(5, b"\0" + leb(component) + vector(name(n) + SORTS[sort] + leb(i) for n, sort, i in arguments))
        return self.take("instance")

    def exports(self, *exports):
        """An instance that consists of (name, sort, index)."""
        self.section(5, b"\1" + vector(b"\0" + name(n) + SORTS[sort] + leb(i) for n, sort, i in exports))
        return self.take("instance")

    def alias(self, sort, instance, text):
        """An export of an instance."""
        self.section(6, SORTS[sort] + (b"\1" if sort.startswith("core ") and sort != "core module" else b"\0") + leb(instance) + name(text))
        return self.take(sort)

    def outer(self, sort, up, index):
        """An alias for something of an enclosing component."""
        self.section(6, SORTS[sort] + b"\2" + leb(up) + leb(index))
        return self.take(sort)

    def type(self, content):
        """A type."""
        self.section(7, content)
        return self.take("type")

    def canon(self, content, sort="core func"):
        """A canonical definition."""
        self.section(8, content)
        return self.take(sort)

    def lift(self, core, of_type, *options):
        """A function that calls a core function."""
        return self.canon(b"\0\0" + leb(core) + vector(options) + leb(of_type), "func")

    def lower(self, function, *options):
        """A core function that calls a function."""
        return self.canon(b"\1\0" + leb(function) + vector(options))

    def add_import(self, text, what, attributes=None):
        """An import: what it is, from is_a, equals or RESOURCE."""
        self.section(10, (b"\0" + name(text) if attributes is None else b"\2" + name(text) + vector(attributes)) + what)
        return self.take(next(sort for sort, code in sorted(SORTS.items(), key=lambda s: -len(s[1])) if what.startswith(code)))

    def add_export(self, text, sort, index, what=None):
        """An export."""
        self.section(11, b"\0" + name(text) + SORTS[sort] + leb(index) + (b"\0" if what is None else b"\1" + what))
        return self.take(sort)


def memory(index):
    """The option of a memory; the others are those of functions."""
    return b"\3" + leb(index)


def realloc(index):
    """The option realloc."""
    return b"\4" + leb(index)


def post_return(index):
    """The option post-return."""
    return b"\5" + leb(index)


def callback(index):
    """The option callback."""
    return b"\7" + leb(index)


REALLOC = ("realloc", "i32 i32 i32 i32", "i32")
MEMORY = b"\0\1"


def with_core(*functions, memory_limits=MEMORY):
    """(component, core functions) with these functions and `realloc` of an instance that has a memory, core memory 0."""
    c = Component()
    i = c.core_instance(c.core_module(core_module([*functions, REALLOC], memory=memory_limits)))
    c.alias("core memory", i, "memory")
    return c, [c.alias("core func", i, f[0]) for f in (*functions, REALLOC)]


# --- Cases: (name, bytes, None or a part of the message) ------------------------------------------------


def lifting():
    """Functions that are lifted."""
    shapes = [  # parameters, result, core parameters, core results
        ("numbers", ["u8", "s64", "f32", "f64"], "bool", "i32 i64 f32 f64", "i32"),
        ("text", ["string"], "string", "i32 i32", "i32"),
        ("many", ["u32"] * 17, None, "i32", ""),
        ("as many as fit", ["u64"] * 16, None, " ".join(["i64"] * 16), ""),
    ]
    for title, params, result, core_params, core_results in shapes:
        for wrong in (False, True):
            c, (f, r) = with_core(("f", core_params + (" f32" if wrong else ""), core_results))
            t = c.type(func([(f"p{k}", p) for k, p in enumerate(params)], result))
            c.add_export("f", "func", c.lift(f, t, memory(0), realloc(r)))
            yield f"lift {title}{', wrong' if wrong else ''}", c.bytes(), "expected a function of type" if wrong else None
    options = [((), "option `memory` is required"), ((memory(0),), "option `realloc` is required"), ((realloc(1),), "`realloc` needs `memory`"),
               ((memory(0), realloc(0)), "option `realloc`: core function 0: expected a function of type (i32, i32, i32, i32) -> (i32)"), ((memory(0), memory(0), realloc(1)), "more than once"),
               ((memory(0), realloc(1), UTF8, UTF16), "conflicts"), ((memory(1), realloc(1)), "unknown core memory 1"),
               ((memory(0), realloc(9)), "unknown core function 9"), ((memory(0), realloc(1), callback(0)), "needs `async`"),
               ((memory(0), realloc(1), ASYNC), "requires the type of an async function"),
               ((memory(0), realloc(1), post_return(1)), "option `post-return`: core function 1: expected a function of type () -> ()"),
               ((memory(0), realloc(1), COMPACT), None)]
    for k, (given, message) in enumerate(options):
        c, (f, _) = with_core(("f", "i32 i32", ""))
        c.lift(f, c.type(func([("s", "string")])), *given)
        yield f"options of lift {k}", c.bytes(), message
    c, (f, _) = with_core(("f", "", ""), memory_limits=b"\3\1\2")
    c.lift(f, c.type(func()), memory(0))
    yield "a shared memory", c.bytes(), "not shared"


def lowering():
    """Functions that are lowered, and what is linked with them."""
    for core_params, message in (("i32 i32", None), ("i32", "expected a function of type (i32) -> (), found (i32, i32) -> ()")):
        c, (_,) = with_core()
        f = c.lower(c.add_import("f", is_a("func", c.type(func([("s", "string")])))), memory(0))
        m = c.core_module(core_module(imports=[("host", "f", core_params, "")]))
        c.core_instance(m, host=c.core_exports(("f", "func", f)))
        yield f"lower to {core_params}", c.bytes(), message
    for what, message in (("f", None), ("g", "does not export it")):
        c = Component()
        a = c.core_instance(c.core_module(core_module([("f", "", "")])))
        c.core_instance(c.core_module(core_module(imports=[("a", what, "", "")])), a=a)
        yield f"import {what}", c.bytes(), message
    c = Component()
    c.core_instance(c.core_module(core_module(imports=[("a", "f", "", "")])))
    yield "a missing argument", c.bytes(), "expected an argument of this name"


def types():
    """Types of values."""
    good = [record([("a", "u8"), ("b-c", "string")]), variant([("a", None), ("b", "u64")]), labels(0x6D, ["x", "y"]), labels(0x6E, ["x"]),
            tuple_of(["u8", "f64"]), list_of("char"), list_of("u8", 3), option("string"), result_of(), result_of("u8", "string"),
            func([("a", "u8")], "string"), func(asynchronous=True), b"\x66\1\x7d", b"\x65\0", b"\x63\x73\x7d"]
    bad = [(record([]), "at least one field"), (record([("a", "u8"), ("A", "u8")]), "conflicts"), (record([("a_b", "u8")]), "kebab"),
           (record([("1a", "u8")]), "kebab"), (labels(0x6E, [f"f{k}" for k in range(33)]), "more than 32"), (list_of("u8", 0), "zero elements"),
           (list_of("u8", 1 << 28), "exceeds the maximum byte size"), (option(7), "unknown type 7"), (b"\x66\1\x74", "stream of char"),
           (b"\x63\x76\x7d", "key of a map"), (own(0), "expected the type of a resource"), (func([("a", "u8"), ("a", "u8")]), "conflicts"),
           (resource_type("f32"), "i32 or i64"), (b"\x40", "unexpected end"), (b"\x99", "malformed type")]
    for k, content in enumerate(good):
        c = Component()
        c.type(content)
        yield f"type {k}", c.bytes(), None
    for k, (content, message) in enumerate(bad):
        c = Component()
        c.type(func())
        c.type(content)
        yield f"wrong type {k}", c.bytes(), message
    c = Component()
    t = c.type(tuple_of(["u8", "u8"]))
    for _ in range(40):
        t = c.type(tuple_of([t, t]))
    yield "a type that explodes", c.bytes(), "effective size"
    c = Component()
    t = c.type(option("u8"))
    for _ in range(120):
        t = c.type(option(t))
    yield "a deep type", c.bytes(), "nested too deeply"


def core_types():
    """Core types, and types of core modules."""
    memory_import, alias = b"\0" + name("m") + name("n") + b"\2", b"\2\x10\1\1\0"  # an import without its limits; of the first core type
    use = b"\3" + name("f") + b"\0"  # an export, of the type whose index follows
    good = [b"\x4e\0", b"\x4e\2\x60\0\1\x64\2\x60\0\1\x64\1", b"\0\x50\0\x5f\0", b"\x50\0", b"\x50" + vector([alias, use + b"\0"]),
            b"\x50" + vector([b"\1" + core_func("i32", ""), memory_import + b"\1\1\2", use + b"\0"])]
    bad = [(b"\x60\1\x64\7\0", "unknown type 7"), (b"\0\x60\0\0", "malformed core type"), (b"\x50" + vector([b"\2\x10\1\3\0"]), "enclosing scopes"),
           (b"\x50" + vector([b"\2\x10\1\1\x09"]), "unknown core type 9"), (b"\x50" + vector([use + b"\0"]), "unknown type 0"),
           (b"\x50" + vector([memory_import + b"\1\2\1"]), "greater than the maximum"),
           (b"\x50" + vector([alias, use + b"\0", use + b"\0"]), "two exports of a core module"), (b"\x4f\1\0\x60\0\0", "which is final")]
    for k, content in enumerate(good):
        c = Component()
        c.core_type(core_func("i32", "i64"))
        c.core_type(content)
        yield f"core type {k}", c.bytes(), None
    for k, (content, message) in enumerate(bad):
        c = Component()
        c.core_type(core_func("i32", "i64"))
        c.core_type(content)
        yield f"wrong core type {k}", c.bytes(), message
    for limits, message in ((b"\0\1", None), (b"\0\2", "expected a memory of type 2, found 1")):
        inner = Component()
        t = inner.core_type(b"\x50" + vector([b"\3" + name("memory") + b"\2" + limits]))
        inner.add_import("m", is_a("core module", t))
        c = Component()
        c.instance(c.component(inner), ("m", "core module", c.core_module(core_module([("f", "", "")], memory=MEMORY))))
        yield f"a core module as an argument, for {limits.hex()}", c.bytes(), message


def imports_and_exports():
    """Names, and types that have to be named."""
    names = [("a", None), ("a-B1-c", None), ("a:b/c", None), ("a:b/c@1.2.3-rc.1+x", None), ("url=<https://x>", "not a valid name"),
             ("", "not a valid name"), ("a_b", "not a valid name"), ("a:b", "not a valid name"), ("a:b/c@1.2", "invalid interface version"),
             ("A:b/c", "not a valid name"), ("[method]a", "not a valid name"), ("[method]a.b", "first parameter of a method"),
             ("[static]a.b", "not a resource"), ("[constructor]a", "must return")]
    for text, message in names:
        c = Component()
        c.add_import(text, is_a("func", c.type(func())))
        yield f"import {text!r}", c.bytes(), message
    for first, second, message in (("f", "f", "conflicts"), ("f", "F", "conflicts"), ("f", "g", None), ("f-g", "fg", None)):
        c = Component()
        t = c.type(func())
        c.add_import(first, is_a("func", t))
        c.add_import(second, is_a("func", t))
        yield f"imports {first} and {second}", c.bytes(), message
    for named in (True, False):
        c = Component()
        t = c.type(record([("a", "u8")]))
        t = c.add_import("r", equals(t)) if named else t
        c.add_import("f", is_a("func", c.type(func([("x", t)]))))
        yield f"a record that is {'' if named else 'not '}named", c.bytes(), None if named else "not imported themselves"


def resources():
    """Resources of components and instances."""
    for title, exported in (("exported", True), ("not exported", False)):
        c, (f, _) = with_core(("f", "i32", ""))
        r = c.type(resource_type())
        t = c.add_export("r", "type", r) if exported else r
        b = c.type(borrow(t))
        c.add_export("[method]r.f" if exported else "f", "func", c.lift(f, c.type(func([("self", b)]))))
        yield f"a resource that is {title}", c.bytes(), None if exported else "not exported themselves"
    c = Component()
    r = c.type(resource_type())
    for code in (2, 3, 4):
        c.canon(bytes([code]) + leb(r))
    yield "built-in functions of a resource", c.bytes(), None
    c = Component()
    r = c.add_import("r", RESOURCE)
    c.canon(b"\2" + leb(r))
    yield "resource.new of an imported resource", c.bytes(), "not a local resource"
    inner = Component()
    inner.add_export("r", "type", inner.type(resource_type()))
    sink = Component()
    r = sink.add_import("r", RESOURCE)
    sink.add_import("f", is_a("func", sink.type(func([("x", sink.type(own(r)))]))))
    for same in (True, False):
        c, (f, _) = with_core(("f", "i32", ""))
        k = c.component(inner)
        a, b = [c.alias("type", c.instance(k), "r") for _ in range(2)]
        lifted = c.lift(f, c.type(func([("x", c.type(own(a)))])))
        c.instance(c.component(sink), ("r", "type", a if same else b), ("f", "func", lifted))
        yield f"{'the same' if same else 'another'} instance's resource", c.bytes(), None if same else "expected the same resource"


def scopes():
    """Aliases and components inside."""
    c = Component()
    t = c.type(list_of("u8"))
    inner = Component()
    inner.type(option(inner.outer("type", 1, t)))
    c.component(inner)
    yield "an outer type", c.bytes(), None
    c = Component()
    r = c.type(resource_type())
    inner = Component()
    inner.outer("type", 1, r)
    c.component(inner)
    yield "an outer resource", c.bytes(), "refers to resources"
    for up, index, message in ((2, 0, "no 2 enclosing scopes"), (1, 5, "unknown type 5"), (0xFFFFFFFF, 0, "enclosing scopes")):
        inner = Component()
        inner.outer("type", up, index)
        c = Component()
        c.component(inner)
        yield f"an outer type {up} {index}", c.bytes(), message
    nested = Component()
    for _ in range(120):
        outer = Component()
        outer.component(nested)
        nested = outer
    yield "components that are nested deeply", nested.bytes(), "nested too deeply"
    for sort, message in (("func", None), ("type", "expected a type, found a function"), ("core module", "expected a core module")):
        c = Component()
        t = c.type(instance_type([declare_type(func()), declare_export("f", is_a("func", 0))]))
        c.alias(sort, c.add_import("i", is_a("instance", t)), "f")
        yield f"alias for a {sort}", c.bytes(), message


def instances():
    """Instantiation of components."""
    inner = Component()
    inner.add_import("f", is_a("func", inner.type(func([("x", "u8")]))))
    for params, argument, message in (([("x", "u8")], "f", None), ([("x", "u16")], "f", "expected u8, found u16"), ([("y", "u8")], "f", "expected the name \"x\""),
                                      ([("x", "u8")], "g", "expected an argument of this name")):
        c = Component()
        f = c.add_import("f", is_a("func", c.type(func(params))))
        c.instance(c.component(inner), (argument, "func", f))
        yield f"an argument {argument}{params}", c.bytes(), message
    taker = Component()
    t = taker.type(component_type([declare_type(func()), declare_import("a", is_a("func", 0)), declare_export("b", is_a("func", 0))]))
    taker.add_import("c", is_a("component", t))
    for has_export, message in ((True, None), (False, "expected an export of this name")):
        given = Component()
        f = given.add_import("a", is_a("func", given.type(func())))
        if has_export:
            given.add_export("b", "func", f)
        c = Component()
        c.instance(c.component(taker), ("c", "component", c.component(given)))
        yield f"a component as an argument{'' if has_export else ', wrong'}", c.bytes(), message


def builtins():
    """Built-in functions."""
    plain = [0x05, 0x0D, 0x1E, 0x1F, 0x22, 0x23, 0x24, 0x25, 0x26, 0x28]
    c = Component()
    for code in plain:
        c.canon(bytes([code]))
    for code in (0x06, 0x0C, 0x29, 0x2A, 0x2B, 0x2C, 0x2D):
        c.canon(bytes([code, 0]))
    yield "plain ones", c.bytes(), None
    for kind, codes in ((0x66, range(0x0E, 0x15)), (0x65, range(0x15, 0x1C))):
        for wrong in (False, True):
            c, _ = with_core()
            t = c.type(list_of("u8") if wrong else bytes([kind]) + b"\1\x7d")
            for k, code in enumerate(codes):
                c.canon(bytes([code]) + leb(t) + (vector([memory(0)]) if k in (1, 2) else b"\0" if k in (3, 4) else b""))
            yield f"those of type 0x{kind:02x}{', wrong' if wrong else ''}", c.bytes(), "found that of a list" if wrong else None
    for slots, message in ((("i32", 0, "i32", 1), None), (("i32", 0, "i64", 0), "expected the type i32 as before"), (("i32", 2, "i32", 0), "0 or 1"),
                           (("f32", 0, "f32", 0), "only for i32 and i64")):
        c = Component()
        c.canon(bytes([0x0A, CORE_TYPES[slots[0]]]) + leb(slots[1]))
        c.canon(bytes([0x0B, CORE_TYPES[slots[2]]]) + leb(slots[3]))
        yield f"context {slots}", c.bytes(), message


def malformed():
    """What is no component."""
    c, _ = with_core()
    whole = c.bytes()
    yield "an unknown version", HEADER[:4] + b"\x0e\0\1\0", "unknown version"
    yield "a section that is cut off", whole[:-1], "unexpected end"
    yield "an unknown section", HEADER + section(13, b""), "malformed section id"
    yield "a core module that is not valid", HEADER + section(1, core_module([("f", "", "i32")]).replace(sized(b"\0\0\x0b"), sized(b"\0\1\x0b"))), "core module 0: "
    yield "a core instance of nothing", HEADER + section(2, vector([b"\0\0\0"])), "unknown core module 0"


def every():
    """All cases."""
    return itertools.chain(lifting(), lowering(), types(), core_types(), imports_and_exports(), resources(), scopes(), instances(), builtins(), malformed())
