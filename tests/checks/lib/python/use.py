"""Uses the Python package as people do, and compares what it gives with what others say.

usage: use.py PROGRAMS WHAMMC DIRECTORY

Prints a line of JSON for each test: its title, what is wrong, or null, and perhaps why it was skipped.
"""

import collections
import doctest
import html.parser
import importlib
import json
import os
import pkgutil
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor

import pandas
import polars
import pyarrow as pa
import wasmtime

import whammc
from harness import assembled, raises, run_tests, same, test
from whammc import _arrow

PROGRAMS, WHAMMC, DIRECTORY = sys.argv[1:]
FIB = os.path.join(PROGRAMS, "fib.wasm")
COMPILER = b"clang\x0614.0.6"  # as in tests/checks/manual
CALLS = "wasm:opcode:call:before { report var n: u64; n++; }"


def command_line(words):
    """What whammc prints into a file: programs can tell files from pipes, and do different things then."""
    with open(os.path.join(DIRECTORY, "stdout"), "w+b") as out:
        done = subprocess.run([WHAMMC, *words], stdout=out, stderr=subprocess.PIPE, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "WHAMMC_WASMTIME_PYTHON": sys.executable})
        assert done.returncode == 0, done.stderr.decode()
        out.seek(0)
        return out.read()


# ---- reports, read by something that is not ours ----


def plain(value, kind):
    """What json has read, as the package gives it."""
    parts = _arrow.parts_of(kind)
    if parts is None:
        return float(value.replace("+", "")) if kind in ("f32", "f64") and isinstance(value, str) else value
    if parts[0] == "tuple":
        return tuple(plain(one, each) for one, each in zip(value, parts[1]))
    return {plain(entry["key"], parts[1][0]): plain(entry["value"], parts[1][1]) for entry in value}


def for_arrow(value, kind):
    """The same as pyarrow makes arrays of."""
    parts = _arrow.parts_of(kind)
    if parts is None or value is None:
        return value
    if parts[0] == "tuple":
        return {str(k): for_arrow(one, each) for k, (one, each) in enumerate(zip(value, parts[1]))}
    return [(for_arrow(key, parts[1][0]), for_arrow(item, parts[1][1])) for key, item in value.items()]


def compared(text, report):
    """Compares a report with its JSON: rows, and the table cell by cell."""
    rows = [json.loads(line) for line in text.decode().splitlines() if line.startswith("{")]
    found = list(report.rows())
    same([(r.variable, r.script, r.probe, r.fid, r.pc) for r in found],
         [(r["name"], r["script"], r["probe"], r["fid"], r["pc"]) for r in rows], "the rows")
    values = [plain(row["value"], row["type"]) for row in rows]
    same([repr(row.value) for row in found], [repr(value) for value in values], "their values")
    table = report.to_arrow()
    places = [tuple(row) for row in zip(*(table[name].to_pylist() for name in ("script", "probe", "fid", "pc")))]
    names = _arrow.column_names(report.variables, {"script", "probe", "function", "fid", "pc", "instruction"})
    columns = collections.Counter((row["name"], row["type"], row["script"]) for row in rows)
    same(len(names), len(columns), "the variables")
    for variable, name in zip(report.variables, names):
        wanted = {}
        for row, value in zip(rows, values):
            if (row["name"], row["type"], row["script"]) == (variable.name, variable.type, variable.script):
                wanted[row["script"], row["probe"], row["fid"], row["pc"]] = value
        kind = _arrow.arrow_type(variable.type)
        oracle = pa.array([for_arrow(wanted.get(place), variable.type) for place in places], kind)
        column = table[name].combine_chunks()
        column.validate(full=True)
        same(column.type, kind, f"the type of {name}")
        assert column.equals(oracle) or repr(column.to_pylist()) == repr(oracle.to_pylist()), f"{name}: {column} is not {oracle}"
    return len(rows)


@test("reports of `whammc run`: rows, values and Arrow columns are those of their JSON")
def _():
    total = 0
    for script in ("types", "branches", "imix-map", "hotness", "icount", "loops", "callgraph", "calls", "memory", "texts"):
        for program, args in (("fib", ["9"]), ("quicksort", ["60"])):
            path = os.path.join(DIRECTORY, f"{script}-{program}.json")
            command_line(["run", "--engine=wasmtime", "-s", script, "--report-format=json", "-o", path, os.path.join(PROGRAMS, program + ".wasm"), *args])
            with open(path, "rb") as file:
                text = file.read()
            report = whammc.Report.read(path)
            total += compared(text, report)
            ours = whammc.run(os.path.join(PROGRAMS, program + ".wasm"), script, args=args, name=os.path.join(PROGRAMS, program + ".wasm"))
            same(ours.report.convert("json"), report.convert("json"), f"run() of {script} and {program}")
            for format in ("csv", "csv-rfc4180"):
                again = whammc.Report.read(report.convert(format))
                if script != "texts":  # whose strings plain CSV cannot tell from separators
                    same(again.to_arrow().num_rows, report.to_arrow().num_rows, format)
                if format == "csv-rfc4180":
                    same(again.convert("csv-rfc4180"), report.convert("csv-rfc4180"), format)
    assert total > 30000, total


def row(name, kind, value, number, **place):
    whole = {"id": number, "id_type": "global_id", "name": name, "type": kind, "wasm_type": "i32", "script": "script0", "fname": None,
             "fid": None, "pc": None, "probe": None, **place}
    return json.dumps(whole)[:-1] + f',"value":{value}}}'


@test("every type, with its limits, against pyarrow")
def _():
    cases = {
        "u8": ["0", "255"], "i8": ["-128", "127"], "u16": ["65535"], "i16": ["-32768"], "u32": ["4294967295"], "i32": ["-2147483648"],
        "u64": ["18446744073709551615", "9007199254740993"], "i64": ["-9223372036854775808"], "bool": ["true", "false"],
        "f32": ["1e-1", "3.4028235e38", '"NaN"', '"-inf"'], "f64": ["1e-1", "1.7976931348623157e308", '"+inf"', "5e-324"],
        "str": ['""', '"\\u00e4\\n\\"x\\""', '"\\ud83d\\ude00"'],
        "(u8,(str,f64))": ['[1,["x",2e0]]'], "map<i32,bool>": ['[{"key":-1,"value":true}]', "[]"],
        "map<(u8,str),u64>": ['[{"key":[1,"a"],"value":18446744073709551615}]'],
        "map<str,map<u8,u8>>": ['[{"key":"a","value":[{"key":1,"value":2},{"key":3,"value":4}]},{"key":"b","value":[]}]'], "()": ["[]"],
    }  # fmt: skip
    for kind, values in cases.items():
        place = lambda k: {"fname": "f", "fid": 4294967295, "pc": k, "probe": "1_wasm:opcode:nop:before"}  # noqa: E731
        text = "\n".join(row("x", kind, value, k, **place(k)) for k, value in enumerate(values)).encode() + b"\n"
        report = whammc.Report.read(text)
        if kind in ("f32", "f64"):  # repr of both is what python reads, but for the width
            table = report.to_arrow()
            wanted = pa.array([float(str(json.loads(v)).replace("+", "")) for v in values], pa.float64()).cast(_arrow.arrow_type(kind), safe=False)
            same(str(table["x"].combine_chunks()), str(wanted), kind)
            continue
        compared(text, report)


@test("aggregations: values, and columns of Arrow, pandas and polars")
def _():
    site = {"fname": "f", "fid": 1, "pc": 2, "probe": "1_wasm:opcode:nop:before"}
    hist, top = '[{"key":4,"value":1},{"key":0,"value":2}]', '[{"key":"g","value":5}]'
    cases = {  # type, value in a report, value, type of Arrow; map<str, type> as well
        "s": ("stats", "[4,8,-1,5,2e0,36e0]", {"count": 4, "sum": 8, "min": -1, "max": 5, "mean": 2.0, "deviation": 3.0},
              "struct<count: uint64, sum: int64, min: int64, max: int64, mean: double, deviation: double>"),
        "none": ("stats(f64)", "[0,0e0,0e0,0e0,0e0,0e0]", {"count": 0, "sum": 0.0, "min": None, "max": None, "mean": None, "deviation": None},
                 "struct<count: uint64, sum: double, min: double, max: double, mean: double, deviation: double>"),
        "a": ("avg(u64)", "[2,3]", {"count": 2, "sum": 3, "mean": 1.5}, "struct<count: uint64, sum: uint64, mean: double>"),
        "m": ("min", "[1,-3]", {"count": 1, "min": -3}, "struct<count: uint64, min: int64>"),
        "h": ("hist", hist, [(0, 1, 2), (4, 8, 1)], "list<item: struct<low: int64, high: int64, count: uint64>>"),
        "u": ("hist(u64)", hist, [(0, 1, 2), (4, 8, 1)], "list<item: struct<low: uint64, high: uint64, count: uint64>>"),
        "l": ("lhist(0,6,4)", '[{"key":4,"value":1},{"key":-9223372036854775808,"value":2}]', [(None, 0, 2), (4, 6, 1)],
              "list<item: struct<low: int64, high: int64, count: uint64>>"),
        "t": ("top(3,str)", top, {"g": 5}, "map<large_string, uint64>"),
        "c": ("count", "7", 7, "uint64"),
        "n": ("sum(f64)", "7.5e0", 7.5, "double"),
    }  # fmt: skip
    rows = [row(name, kind, value, k, **site) for k, (name, (kind, value, *_)) in enumerate(cases.items())]
    rows += [row("in_" + name, f"map<str,{kind}>", f'[{{"key":"k","value":{value}}}]', k) for k, (name, (kind, value, *_)) in enumerate(cases.items())]
    report = whammc.Report.read("\n".join([*rows, ""]).encode())
    table = report.to_arrow()
    for name, (_, _, value, arrow) in cases.items():
        same(report.value(name), value, name)
        same(report.value("in_" + name), {"k": value}, name)
        same(str(table.schema.field(name).type), arrow)
        column = table[name].to_pylist()[0]
        shown = [tuple(each.values()) for each in column] if arrow.startswith("list") else dict(column) if name == "t" else column
        same(shown, value, name)
        same(len(table["in_" + name].to_pylist()[1]), 1)
    frame = report.to_pandas("s", "h")
    same((frame["s"][0]["max"], frame["h"][0][1]["count"]), (5, 1))
    same(report.to_polars("s").unnest("s")["deviation"].to_list(), [3.0])
    assert "[4, 8)" in report._repr_html_() and "deviation" in report._repr_html_()


@test("the fields of aggregations are those of the compiler")
def _():
    rows = [row(kind, kind, "[1,2,2,2,2e0,0e0]" if kind == "stats" else "[1,2]", 0) for kind in _arrow.RECORDS]
    for each in whammc.Report.read("\n".join([*rows, ""]).encode()).rows():
        same(list(each.value), list(_arrow.RECORDS[each.variable]))


@test("one table of variables with different places, twice the same place, two types of one name")
def _():
    site = {"fname": "f", "fid": 1, "pc": 2, "probe": "1_wasm:opcode:nop:before"}
    text = "\n".join([row("a", "u64", "1", 0, **site), row("a", "u64", "2", 1, **site), row("b", "i8", "-3", 2, **site),
                      row("b", "str", '"s"', 3), row("probe", "u8", "7", 4), ""]).encode()
    table = whammc.Report.read(text).to_arrow()
    same(table["a"].to_pylist(), [1, 2, None])
    same(table["script0.b"].to_pylist(), [-3, None, None])
    same(table["script0.b.2"].to_pylist(), [None, None, "s"])
    same(table["script0.probe"].to_pylist(), [None, None, 7])
    same(table.schema.field("function").type, pa.dictionary(pa.int32(), pa.string()))
    only = whammc.Report.read(text).to_arrow("a")
    same((only.num_rows, only.column_names[-1]), (2, "a"))
    raises(KeyError, lambda: whammc.Report.read(text).to_arrow("c"), "no variable 'c'")


@test("derived columns of a sum")
def _():
    site = {"fname": "f", "fid": 1, "pc": 2, "probe": "1_wasm:opcode:nop:before"}
    text = lambda hits: "\n".join([row("hits", "u64", hits, 0, **site), row("all", "u64", "4", 1), row("rate", "f64=hits all /", '"NaN"', 2), ""])  # noqa: E731
    report = whammc.Report.merge([whammc.Report.read(text(n).encode()) for n in ("1", "4")])
    same((report.value("rate"), [each.value for each in report.rows("rate")]), (0.625, [0.625, 0.625]))
    same([(each.type, each.formula) for each in report.variables], [("u64", None), ("u64", None), ("f64", "hits all /")])
    same(report.to_arrow("rate")["rate"].to_pylist(), [0.625, 0.625])


@test("several modules and instances in one text")
def _():
    site = {"fname": "f", "fid": 1, "pc": 2, "probe": "1_wasm:opcode:nop:before"}
    part = lambda name, instance, n: (  # noqa: E731
        f'{{"whammc":1,"name":"{name}","instance":{instance}}}\n{row("a", "u64", n, 0, **site)}\n{{"whammc":"end"}}\n'
    )
    text = (part("x.wasm", 1, 1) + part("y.wasm", 1, 20) + part("x.wasm", 2, 3)).encode()
    report = whammc.Report.read(text)
    same([(each.module, each.value) for each in report.rows("a")], [("x.wasm", 4), ("y.wasm", 20)])
    table = report.to_arrow()
    same((table["module"].to_pylist(), table["a"].to_pylist()), (["x.wasm", "y.wasm"], [4, 20]))
    same([each.value for each in (report + report).rows()], [8, 40])
    same([each.value for each in whammc.Report.merge(iter([report, report, report])).rows()], [12, 60])
    one = whammc.Report.read(text, only="y")
    same((one.value("a"), "module" in one.to_arrow().column_names, (one + report).value("a")), (20, False, 40))
    raises(whammc.WhammError, lambda: whammc.Report.read(text, only="z"), "it has no module 'z'")


@test("threads are added up, or kept apart")
def _():
    site = {"fname": "f", "fid": 1, "pc": 2, "probe": "1_wasm:opcode:nop:before"}
    part = lambda thread, n: (  # noqa: E731
        f'{{"whammc":1,"name":"x.wasm","thread":{thread}}}\n{row("a", "u64", n, 0, **site)}\n{{"whammc":"end"}}\n'
    )
    text = (part(2, 5) + part(0, 7) + part(10, 30)).encode()
    apart = whammc.Report.read(text, by_thread=True)
    threads = [("0", 7), ("2", 5), ("10", 30)]
    same([(each.thread, each.value) for each in apart.rows("a")], threads)
    table = apart.to_arrow()
    same(list(zip(table["thread"].to_pylist(), table["a"].to_pylist())), threads)
    same([each.value for each in (apart + apart).rows()], [14, 10, 60])
    same([(each.thread, each.value) for each in whammc.Report.merge([apart, apart]).rows()], [("0", 14), ("2", 10), ("10", 60)])
    together = whammc.Report.read(text)
    same(([(each.thread, each.value) for each in together.rows()], "thread" in together.to_arrow().column_names), ([(None, 42)], False))


@test("pandas and polars keep numbers of 64 bits")
def _():
    place = {"fname": "f", "fid": 1, "pc": 2, "probe": "1_wasm:opcode:nop:before"}
    text = "\n".join([row("big", "u64", "18446744073709551615", 0, **place), row("small", "i8", "-1", 1), ""]).encode()
    report = whammc.Report.read(text)
    frame = report.to_pandas()
    same((str(frame["big"].dtype), frame["big"][0], frame["big"].isna().tolist()), ("UInt64", 18446744073709551615, [False, True]))
    frame = report.to_polars()
    same((frame["big"].dtype, frame["big"].to_list()), (polars.UInt64, [18446744073709551615, None]))
    same(isinstance(report.to_pandas(), pandas.DataFrame), True)


@test("damaged reports are errors or warnings, and nothing else")
def _():
    with open(os.path.join(DIRECTORY, "types-fib.json"), "rb") as file:
        good = file.read()[:60000]
    good = good[: good.rindex(b"\n") + 1]
    generator, read = random.Random(1), 0
    for n in range(150):
        data = bytearray(good)
        for _ in range(generator.randrange(1, 40)):
            at = generator.randrange(len(data))
            data[at : at + generator.choice((0, 1, 1, 5))] = generator.randbytes(generator.choice((0, 1, 1, 4)))
        if n % 3 == 0:
            del data[generator.randrange(len(data)) :]
        try:
            report = whammc.Report.read(bytes(data))
            report.to_arrow().validate(full=True)
            report._repr_html_()
            read += 1
        except whammc.WhammError as error:
            assert error.diagnostics or "not of its type" in str(error), error
    assert read > 20, read
    deep = row("x", "(" * 3000 + "u8" + ")" * 3000, "1", 0).encode() + b"\n"
    same(whammc.Report.read(deep).to_arrow()["x"].to_pylist(), [None])
    raises(whammc.WhammError, lambda: whammc.Report.read(b"no report"), "no report")


@test("sums and differences, against arithmetic and `whammc report`")
def _():
    path = os.path.join(DIRECTORY, "hotness-fib.json")
    one = whammc.Report.read(path)
    counts = [r.value for r in one.rows()]
    for many, factor in ((one + one, 2), (sum([one] * 3), 3), (whammc.Report.merge(one for _ in range(50)), 50),
                         (whammc.Report.merge([one] * 5) - one, 4), (whammc.Report.merge([one] * 5) + one, 6)):
        same([r.value for r in many.rows()], [factor * n for n in counts], f"{factor} times")
    same((one + one).convert("json"), command_line(["report", "--format=json", path, path]))
    other = whammc.Report.read(os.path.join(DIRECTORY, "branches-fib.json"))
    raises(whammc.WhammError, lambda: one + other)
    same([r.value for r in one.rows()], counts, "operands do not change")


@test("profiles: the tree and its flame graph, against folded stacks and `whammc report`")
def _():
    result = whammc.run(FIB, "calltree", args=["12"])
    report = result.report
    profile = report.profile()
    folded = collections.Counter()
    for line in report.convert("folded").decode().splitlines():
        stack, _, count = line.rpartition(" ")
        folded[tuple(stack.split(";"))] += int(count)
    ours = collections.Counter()
    for root in profile.tree():
        for node in root.walk():
            ours[node.stack] += node.self_value
            same(node.total, node.self_value + sum(child.total for child in node.children), node.stack)
    same(+ours, +folded)
    flat = {r.function: r for r in profile.flat()}
    same((flat["fib"].calls, profile.timed), (whammc.run(FIB, "wasm:func:entry / fname == \"fib\" / { report var n: u64; n++; }", args=["12"])
                                              .report.value("n"), True))
    same(sum(r.self_ns for r in profile.flat()), sum(root.total for root in profile.tree()), "times")
    graph = profile.flamegraph(title="Fibonacci <12>")
    xml.etree.ElementTree.fromstring(graph.svg)
    assert "Fibonacci &lt;12&gt;" in graph.svg
    assert "<script" in graph.svg, "one can click"
    table = profile.flat().to_arrow()
    same(str(table.schema.field("calls").type), "uint64")
    arcs = {(a.caller, a.callee): a.calls for a in profile.arcs()}
    same(sum(n for (_, callee), n in arcs.items() if callee == "fib"), flat["fib"].calls + flat["fib"].recursive_calls)
    raises(whammc.WhammError, lambda: whammc.Report.read(os.path.join(DIRECTORY, "hotness-fib.json")).profile())


class Balance(html.parser.HTMLParser):
    """Whether the tags of a page match."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], collections.Counter()

    def handle_starttag(self, tag, attrs):
        self.seen[tag] += 1
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "iframe":
            inner = Balance()
            inner.feed(dict(attrs)["srcdoc"])
            inner.close()
            same(inner.open, [])
            self.seen += inner.seen

    def handle_endtag(self, tag):
        same(self.open.pop() if self.open else None, tag)


@test("what notebooks show: tables with bars, a flame graph; names are escaped")
def _():
    for script, wanted in (("hotness", "table"), ("imix-map", "table"), ("types", "table"), ("calltree", "svg"), ("callgraph", "table")):
        page = Balance()
        page.feed(whammc.run(FIB, script, args=["9"])._repr_html_())
        page.close()
        same(page.open, [])
        assert page.seen[wanted], (script, page.seen)
    evil = whammc.Report.read(row("n", "u64", "3", 0, fname="<script>alert(1)</script>", fid=1, pc=1, probe="1_a:b:c:d").encode() + b"\n")
    assert "<script>" not in evil._repr_html_()
    assert "alert(1)" in evil._repr_html_()


# ---- scripts ----


@test("diagnostics have ranges, labels, hints")
def _():
    text = "// ä\nwasm:opcode:call:before {\n  report var n: u64;\n  m++;\n}\n"
    error = raises(whammc.WhammError, lambda: whammc.Script(text, name="bad.whamm"), "bad.whamm:4:3: error", "m++;")
    found, = error.diagnostics
    start, end = found.range.start, found.range.end
    same((found.severity, found.code, found.file), ("error", "undeclared-name", "bad.whamm"))
    same(text.encode()[start.offset : end.offset], b"m")
    same((start.line, start.column, end.line, end.column), (4, 3, 4, 4))
    words = ["check", "--message-format=json", os.path.join(DIRECTORY, "bad.whamm")]
    with open(words[-1], "w", encoding="utf-8") as file:
        file.write(text)
    said = json.loads(subprocess.run([WHAMMC, *words], capture_output=True, check=False, text=True).stderr)
    same((said["message"], said["tag"], said["hints"]), (found.message, found.code, list(found.hints)))
    same(whammc.check(text)[0].message, found.message)
    raises(whammc.WhammError, lambda: whammc.Script(CALLS).instrument(b"\0asm\1\0\0\0\xff"), "program.wasm")
    raises(whammc.WhammError, lambda: whammc.Script("nope"), "bundled")
    os.makedirs("scripts", exist_ok=True)
    with open("scripts/a.whamm", "w") as file:
        file.write('include "b.whamm"; include "c.whamm"; wasm:begin / b == c / { }')
    with open("scripts/b.whamm", "w") as file:
        file.write('include "a.whamm"; const b: u32 = 1;')
    endless = "report var n: u32; wasm:begin { while (true) { n++; } }"
    assert whammc.Script(endless, steps=5).instrument(FIB) != whammc.Script(endless).instrument(FIB)
    script = whammc.Script("scripts/a.whamm", files={"c.whamm": "const c: u32 = 1;"})
    assert [(c.script, c.name) for c in script.constants] == [(os.path.join("scripts", "b.whamm"), "b"), ("c.whamm", "c")]
    raises(whammc.WhammError, lambda: whammc.Script("scripts/a.whamm"), 'include "c.whamm"')
    raises(TypeError, lambda: whammc.Script(CALLS).instrument(FIB, hots="js"), "no option 'hots'")
    raises(ValueError, lambda: whammc.Script(CALLS).instrument(FIB, host="nowhere"), "'wasi'")
    raises(FileNotFoundError, lambda: whammc.Script(CALLS).instrument("missing.wasm"))


@test("instrumented programs, monitors and bound programs are those of the command line")
def _():
    out = os.path.join(DIRECTORY, "out.wasm")
    for script in whammc.bundled_names():
        try:
            ours = whammc.Script(script).instrument(FIB, host="none", name="fib.wasm")
        except whammc.WhammError:
            done = subprocess.run([WHAMMC, "instr", "--host=none", "-s", script, FIB, "-o", out], capture_output=True, check=False)
            same(done.returncode, 1, script)
            continue
        command_line(["instr", "--host=none", "-s", script, FIB, "-o", out])
        with open(out, "rb") as file:
            assert file.read() == ours, script
    monitor = whammc.Script("icount").monitor()
    command_line(["monitor", "-s", "icount", "-o", out])
    with open(out, "rb") as file:
        same(file.read(), monitor)
    bound = whammc.bind(FIB, [out])
    command_line(["bind", out, FIB, "-o", out + ".bound"])
    with open(out + ".bound", "rb") as file:
        assert file.read() == bound
    assert sum(a.places for a in bound.attached) > 1000


@test("sites: those of `whammc list`, and where they come from")
def _():
    script = whammc.Script("wasm:opcode:call|call_indirect:before { report var n: u64; n++; }")
    sites = script.sites(FIB, lines=True)
    listed = command_line(["list", "--lines", "-s", _file(script), FIB]).decode().splitlines()[2:]
    found = [(line.split(), re.search(r":(\d+):\d+(?= |$)", line)) for line in listed]
    same([(s.fname, str(s.fid), str(s.pc), s.instruction.split()[0], s.line) for s in sites],
         [(*words[:4], int(place[1]) if place else None) for words, place in found])
    frame = sites.to_pandas()
    same(len(frame), script.instrument(FIB).probes[0].sites)
    assert frame["file"].str.endswith("fib.c").any()


@test("components: core modules inside are chosen by name")
def _():
    core = bytes.fromhex("0061736d 01000000 01040160 0000 03020100 0a070105 00 01 01 01 0b".replace(" ", ""))
    part = bytes([1, len(core)]) + core
    component = b"\0asm\x0d\0\1\0" + part + part + part + bytes([2, 10, 3, 0, 0, 0, 0, 1, 0, 0, 2, 0])
    script = whammc.Script("wasm:opcode:nop:before { report unshared var n: u64; n++; }")
    sites = script.sites(component)
    same(sorted({site.module for site in sites}), ["module 0", "module 1", "module 2"])
    same(list(script.sites(component, modules=["*1"])), [site for site in sites if site.module == "module 1"])
    made, other = script.instrument(component), script.instrument(component, modules=["module 0"])
    same((made.probes[0].sites, other.probes[0].sites), (9, 3))
    same((made.host, len({len(made), len(other), len(component)})), ("component", 3))
    raises(whammc.WhammError, lambda: script.instrument(component, modules=["main"]), "main")


def _file(script):
    path = os.path.join(DIRECTORY, "calls.whamm")
    with open(path, "wb") as file:
        file.write(script._inputs.scripts[0][1])
    return path


@test("constants, libraries, several scripts")
def _():
    text = "const least: u32 = 0; wasm:opcode:call:before / imm0 >= least / { report var n: u64; n++; }"
    script = whammc.Script(text, {"least": 12}, name="c.whamm")
    same([(c.name, c.type, c.value) for c in script.constants], [("least", "u32", "12")])
    assert 0 < len(script.sites(FIB)) < len(whammc.Script(text).sites(FIB))
    raises(whammc.WhammError, lambda: whammc.Script(text, {"most": 1}), "most")
    library = assembled('(module (func (export "twice") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2))))')
    both = whammc.Script(["use double; report var t: u64; wasm:opcode:call:before { t = t + double.twice(3) as u64; }", CALLS],
                         libraries={"double": library})
    report = whammc.run(FIB, both, args=["9"]).report
    same(report.value("t"), 6 * sum(r.value for r in report.rows("n")))
    same([v.script for v in report.variables if v.name == "t"], ["script0"])


@test("events: as many as `whammc info` has")
def _():
    for rule in ("wasm:opcode:*load*:before", "wasm:opcode:br_if:*", "wasm:func:*"):
        listed = command_line(["info", rule]).decode()
        texts = [line.split()[0] for line in listed.splitlines() if line.startswith("wasm:")]
        same([event.text.replace(":<no-mode>", "") for event in whammc.info(rule)], texts, rule)
    raises(whammc.WhammError, lambda: whammc.info("wasm:opcode:nothing:before"))
    assert {"wasm:opcode:call:before", "wasm:func:entry"} <= {event.text.replace(":<no-mode>", "") for event in whammc.events()}


# ---- threads ----


@test("one script in eight threads, and the interpreter runs meanwhile")
def _():
    script = whammc.Script("hotness")
    with open(os.path.join(PROGRAMS, "scheme.wasm"), "rb") as file:
        program = file.read()
    alone = script.instrument(program)
    with ThreadPoolExecutor(8) as pool:
        for made in pool.map(lambda _: script.instrument(program), range(16)):
            assert made == alone
        results = list(pool.map(lambda n: (n, whammc.run(FIB, script, args=[str(n)])), range(1, 17)))
    for n, result in results:
        assert f"fib({n})" in result.stdout, result.stdout
        same(result.report.convert("json"), whammc.run(FIB, script, args=[str(n)]).report.convert("json"))
    report = results[0][1].report
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(lambda _: report.to_arrow(), range(32)))
    assert all(table.equals(tables[0]) for table in tables)
    ticks, over = [0], threading.Event()

    def tick():
        while not over.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    script.instrument(program, coalesce=False)  # one call of C
    before = ticks[0]
    over.set()
    thread.join()
    assert before > 3, f"{before} ticks while compiling"


# ---- running ----


@test("streams, arguments, environment, directories, exit codes")
def _():
    echo = assembled("""(module
      (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
      (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (memory (export "memory") 1)
      (func (export "_start") (local $sum i32)
        (i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 1000))
        (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (i32.store (i32.const 4) (i32.load (i32.const 8)))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
        (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
        (drop (call $args (i32.const 16) (i32.const 20)))
        (drop (call $environ (i32.const 24) (i32.const 28)))
        (call $exit (i32.add (i32.load (i32.const 16)) (i32.mul (i32.const 10) (i32.load (i32.const 24)))))))""")
    for script in (None, CALLS):
        result = whammc.run(echo, script, args=["a", "b"], env={"X": "1", "Y": "2"}, stdin="Gänse\n")
        same((result.stdout, result.stderr, result.exit_code, result.trap), ("Gänse\n", "Gänse\n", 23, None))
        same(whammc.run(echo, script).exit_code, 1, "the program's name alone")
    same(sum(r.value for r in result.report.rows()), 6)
    scheme = os.path.join(PROGRAMS, "scheme.wasm")
    same(whammc.run(scheme, args=["-e", "(* 6 7)"]).stdout, "42\n")


@test("fuel is wasmtime's, to the unit")
def _():
    exact = whammc.run(FIB, args=["9"], fuel=10**9)
    same((exact.exit_code, exact.trap), (0, None))
    same(whammc.run(FIB, args=["9"], fuel=exact.fuel).exit_code, 0)
    less = whammc.run(FIB, args=["9"], fuel=exact.fuel // 2)
    same((less.exit_code, less.trap.kind), (None, "out_of_fuel"))
    engine = wasmtime.Config()
    engine.consume_fuel = True
    engine = wasmtime.Engine(engine)
    store, linker, wasi = wasmtime.Store(engine), wasmtime.Linker(engine), wasmtime.WasiConfig()
    linker.define_wasi()
    wasi.argv = ["fib.wasm", "9"]
    store.set_wasi(wasi)
    store.set_fuel(10**9)
    linker.instantiate(store, wasmtime.Module.from_file(engine, FIB)).exports(store)["_start"](store)
    same(exact.fuel, 10**9 - store.get_fuel(), "what wasmtime says itself")


@test("traps and limits end a program, and not its report")
def _():
    divide = assembled("""(module (func $f (param i32) (result i32) (nop) (i32.div_u (i32.const 1) (local.get 0)))
      (func (export "main") (result i32) (drop (call $f (i32.const 1))) (call $f (i32.const 0))))""")
    result = whammc.run(divide, "wasm:opcode:*:before { report var n: u64; n++; }")
    same((result.exit_code, result.trap.kind, result.trap.functions[0]), (None, "integer_division_by_zero", "f"))
    same([r.value for r in result.report.rows() if r.function == "f"], [2, 2, 2, 2, 1])
    loop = assembled('(module (func (export "main") (result i32) (loop (br 0)) (unreachable)))')
    start = time.monotonic()
    result = whammc.run(loop, "icount", timeout=0.3)
    same((result.trap.kind, result.report.variables[0].type), ("timeout", "i64"))
    assert time.monotonic() - start < 20
    assert result.report.value("instructions") > 1000
    result = whammc.run(loop, "icount", fuel=10**6)
    same(result.trap.kind, "out_of_fuel")
    assert 10**5 < result.report.value("instructions") <= 10**6, result.report.value("instructions")
    grow = assembled('(module (memory 1) (func (export "main") (result i32) (memory.grow (i32.const 100))))')
    same([whammc.run(grow, script, memory=m).exit_code for script in (None, "icount") for m in (1 << 20, 1 << 24)], [255, 1, 255, 1])
    raises(whammc.RunError, lambda: whammc.run(assembled("(module (memory 200))"), memory=1 << 20), "memory")
    raises(whammc.RunError, lambda: whammc.run(assembled('(module (import "a" "b" (func)))')), "a::b")
    raises(whammc.WhammError, lambda: whammc.run(FIB).report, "wrote no report")
    unreachable = assembled('(module (func $s unreachable) (start $s))')
    same(whammc.run(unreachable).trap.kind, "unreachable")


@test("callbacks see what scripts count")
def _():
    counts = collections.Counter()
    script = whammc.Script(CALLS).on("wasm:opcode:call:before", lambda fid, pc: counts.update([(fid, pc)]), args=["fid", "pc"])
    result = whammc.run(FIB, script, args=["9"])
    same(dict(counts), {(r.fid, r.pc): r.value for r in result.report.rows("n") if r.value})
    taken = []
    script = whammc.Script().on("wasm:opcode:br_if:before", lambda t, a: taken.append((t, a)), args=["taken", "arg0: i32"])
    whammc.run(FIB, script, args=["9"])
    branches = whammc.run(FIB, "branches", args=["9"]).report.to_pandas()
    branches = branches[branches["probe"].str.endswith(":br_if:before")]
    same((sum(t for t, _ in taken), len(taken)), (branches["times_taken"].sum(), (branches["times_taken"] + branches["times_not_taken"]).sum()))
    assert all(t is (a != 0) for t, a in taken)
    module = assembled("""(module (func $f (param i64 f64 i32)) (func $g (param f32))
      (func (export "main") (result i32) (call $f (i64.const -1) (f64.const 0.5) (i32.const -1)) (call $g (f32.const 1.5)) (i32.const 0)))""")
    seen = []
    whammc.run(module, whammc.Script().on("wasm:opcode:call:before", lambda *all: seen.append(all), args=["imm0", "arg0"]))
    same(seen, [(0, -1), (1, 1.5)], "operands of any type")
    seen.clear()
    whammc.run(module, whammc.Script().on("wasm:opcode:call:before", lambda *all: seen.append(all), args=["arg0: u32", "arg2: i64", "arg1"],
                                         when="imm0 == 0"))
    same(seen, [(4294967295, -1, 0.5)])

    def fails():
        raise ZeroDivisionError("mine")

    raises(ZeroDivisionError, lambda: whammc.run(FIB, whammc.Script().on("wasm:func:entry", fails)), "mine")
    raises(whammc.WhammError, lambda: whammc.Script().on("wasm:opcode:call:before", print, args=["fname"]), "str")
    raises(whammc.WhammError, lambda: whammc.Script().on("wasm:opcode:call:before", print, args=["nope"]), "nope")
    raises(ValueError, lambda: whammc.Script().on("wasm:opcode:call:before", print, args=["a b"]), "bound name")


# ---- examples ----


@test("examples in docstrings")
def _():
    attempted = 0
    for info in pkgutil.iter_modules(whammc.__path__):
        if info.name not in ("_native", "_host"):
            done = doctest.testmod(importlib.import_module("whammc." + info.name))
            same(done.failed, 0, info.name)
            attempted += done.attempted
    assert attempted > 10, attempted


@test("examples in the manual")
def _():
    page = os.path.join(os.environ["WHAMMC_SRCDIR"], "docs", "python.md")
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)
    with open(FIB, "rb") as file:
        if COMPILER not in file.read():
            raise unittest.SkipTest("another compiler made the programs, with other numbers")
    shutil.copy(FIB, DIRECTORY)
    os.chdir(DIRECTORY)
    wrong, names, runner, attempted = [], {}, doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), 0
    for k, block in enumerate(blocks):
        example = doctest.DocTestParser().get_doctest(block, names, f"python.md, block {k + 1}", page, 0)
        lines = []
        done = runner.run(example, out=lines.append, clear_globs=False)
        names = example.globs
        wrong += lines
        attempted += done.attempted
    assert not wrong, "".join(wrong)
    assert attempted > 10, attempted


run_tests()
