"""Runs corpora of programs, harmless and hostile, and compares the datasets with what single runs give and with each other.

usage: corpus.py PROGRAMS DIRECTORY
"""

import collections
import concurrent.futures
import contextlib
import csv
import doctest
import functools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

import duckdb
import fsspec
import polars
import pyarrow as pa

import whammc
from harness import assembled, raises, run_tests, same, test
from whammc import corpus
from whammc.corpus import dataset, examine, jobs, manifest, sandbox, schedule, summary, worker

PROGRAMS, DIRECTORY = sys.argv[1:]
SOURCE = os.environ["WHAMMC_SRCDIR"]
SCRIPTS = os.path.join(SOURCE, "examples", "scripts")
FIB = os.path.join(PROGRAMS, "fib.wasm")
ICOUNT, BRANCHES, IMIX = (os.path.join(SCRIPTS, f"{name}.whamm") for name in ("icount", "branches", "imix-map"))
COMMAND = [sys.executable, "-m", "whammc.corpus"]

MAIN = '(module {} (func (export "main") (result i32) {}))'
HOSTILE = {
    "endless": MAIN.format("", "(loop (br 0)) (unreachable)"),
    "divides": MAIN.format("", "(i32.div_u (i32.const 1) (i32.const 0))"),
    "deep": '(module (func $f (export "main") (result i32) (call $f) (i32.const 1) (i32.add)))',
    "greedy": MAIN.format("(memory 1)", "(loop (br_if 0 (i32.ne (memory.grow (i32.const 1000)) (i32.const -1)))) "
                          "(memory.fill (i32.const 0) (i32.const 1) (i32.mul (i32.const 65535) (memory.size))) (memory.size)"),
    "large": '(module (memory 65536) (func (export "main") (result i32) (i32.const 3)))',
    "imports": '(module (import "env" "f" (func)) (func (export "main") (result i32) (call 0) (i32.const 0)))',
    "nothing": "(module)",
    "talks": """(module (import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32))) (memory (export "memory") 2)
        (func (export "_start") (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 65536))
        (loop (br_if 0 (i32.eqz (call $w (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))))""",
    "sleeps": """(module (import "wasi_snapshot_preview1" "poll_oneoff" (func $p (param i32 i32 i32 i32) (result i32))) (memory (export "memory") 1)
        (func (export "_start") (i32.store (i32.const 16) (i32.const 1)) (i64.store (i32.const 24) (i64.const 3600000000000))
        (drop (call $p (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)))))""",
}  # fmt: skip


def folder(name, *parts):
    path = os.path.join(DIRECTORY, name, *parts)
    os.makedirs(path, exist_ok=True)
    return path


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def good_modules(place, count):
    """Small programs, all different, that count up to a number of their own; and some that fail."""
    for k in range(count):
        body = f"(local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const {1000 + k})))) (i32.const {k % 256})"
        write(os.path.join(place, f"count{k:03}.wasm"), assembled(MAIN.format("", body)))
    for name in ("divides", "imports", "endless"):
        write(os.path.join(place, f"{name}.wasm"), assembled(HOSTILE[name]))
    write(os.path.join(place, "damaged.wasm"), assembled(MAIN.format("", "(i32.const 1)"))[:-3])
    return place


def table_of(out, kind):
    """All rows of a table of a dataset in the order of their keys, without what differs from run to run."""
    files = dataset.Files(out)
    found = {}
    for part in files.parts(kind):
        rows = files.read(part.path)
        keep = [name for name in rows.column_names if name not in dataset.VARYING]
        found.setdefault(part.folder, []).append(rows.select(keep))
    return {name: sorted(pa.concat_tables(tables, promote_options="default").to_pylist(), key=repr) for name, tables in found.items()}


def same_datasets(one, other, kinds=("modules", "runs", "rows")):
    for kind in kinds:
        first, second = table_of(one, kind), table_of(other, kind)
        same(sorted(first), sorted(second), kind)
        for name, rows in first.items():
            keys = [row["key"] for row in rows]
            assert kind == "rows" or len(set(keys)) == len(keys), f"{name}: a key is there twice"
            for a, b in zip(rows, second[name]):
                same(a, b, name)
            same(len(rows), len(second[name]), name)


LIMITS = jobs.Limits(fuel=10**7, deadline=30.0)  # as in RUN
WORKERS = contextlib.ExitStack()  # ends them


@functools.lru_cache(maxsize=None)
def workers():
    """The scheduler of two workers for all runs that are not about workers: they start more slowly than most runs are done."""
    return WORKERS.enter_context(schedule.connected(None, 2)).scheduler_info()["address"]


def go(scripts, modules, out, own=False, **more):
    """A run of a corpus, with workers of its own or with those that are there."""
    more.setdefault("settings", jobs.Settings(LIMITS))
    return corpus.run(scripts, modules, out, say=None, **{"workers": 2} if own else {"scheduler": workers()}, **more)


def command(words, **more):
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=900, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def runs_of(out):
    return {(row["script"], os.path.basename(row["url"]), row["input"]): row
            for row in corpus.connect(out).sql("SELECT * FROM runs").to_arrow_table().to_pylist()}


# ---- what comes out ----


@test("runs are those of whammc.run: rows, exit codes, output")
def _():
    place, out = folder("plain"), os.path.join(DIRECTORY, "plain-out")
    for name in ("fib", "quicksort"):
        shutil.copy(os.path.join(PROGRAMS, f"{name}.wasm"), place)
    outcome = go(["none", ICOUNT, BRANCHES, IMIX], place, out, own=True, inputs=[jobs.Input("9", ("9",)), jobs.Input("60", ("20",))])
    same((outcome.modules, outcome.runs, outcome.done, dict(outcome.states)), (2, 16, 16, {"exited": 16}))
    runs = runs_of(out)
    rows = table_of(out, "rows")
    compared = 0
    for script in (ICOUNT, BRANCHES, IMIX):
        name = os.path.basename(script)[: -len(".whamm")]
        for program in ("fib", "quicksort"):
            path = os.path.join(place, f"{program}.wasm")
            for given, args in (("9", ["9"]), ("60", ["20"])):
                wanted = whammc.run(path, script, args=args)
                row = runs[name, f"{program}.wasm", given]
                same((row["exit_code"], row["stdout_size"], row["status"]), (0, len(wanted.stdout_bytes), "exited"))
                same(row["stdout_sha256"], runs["none", f"{program}.wasm", given]["stdout_sha256"], "the output")
                table = wanted.report.to_arrow().drop_columns(["script"]).to_pylist()
                mine = [{k: v for k, v in one.items() if k not in ("key", "module", "input")}
                        for one in rows[f"rows/script={name}"] if one["key"] == row["key"]]
                same(sorted(map(repr, mine)), sorted(map(repr, table)), f"{name} {program} {given}")
                same(row["rows"], len(table))
                compared += len(table)
    assert compared > 2500, compared
    again = go(["none", ICOUNT, BRANCHES, IMIX], place, out, inputs=[jobs.Input("9", ("9",)), jobs.Input("60", ("20",))])
    same((again.done, again.examined, again.runs), (0, 0, 16), "what is there is not done again")


@test("DuckDB, polars and Arrow read the same from a dataset")
def _():
    out = os.path.join(DIRECTORY, "plain-out")
    connection = corpus.connect(out)
    views = {name for name, in connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
    same(views, {"modules", "runs", "rows_icount", "rows_branches", "rows_imix_map"})
    (total,), = connection.sql("SELECT sum(times_taken) FROM rows_branches").fetchall()
    frame = polars.read_parquet(os.path.join(out, "rows", "script=branches", "*.parquet"))
    same(int(total), frame["times_taken"].sum())
    assert total > 1000, total
    per = {row["key"]: row["instructions"] for row in table_of(out, "rows")["rows/script=icount"]}
    found = dict(duckdb.sql(f"SELECT key, instructions FROM '{out}/rows/script=icount/*.parquet'").fetchall())
    same(found, per)


@test("what is said of modules: language, kind, features, instructions")
def _():
    out = os.path.join(DIRECTORY, "plain-out")
    row, = [row for row in table_of(out, "modules")["modules"] if row["url"].endswith("fib.wasm")]
    same((row["language"], row["kind"], row["imports"], row["failure"]), ("C", "command", ["wasi_snapshot_preview1"], None))
    same(row["size"], os.path.getsize(FIB))
    same(sum(count for _, count in row["opcodes"]), len(whammc.Script("wasm:opcode:*:before { }").sites(FIB)))
    cases = {
        "simd": '(module (func (param v128)))', "multi_value": "(module (func (result i32 i32) (i32.const 1) (i32.const 2)))",
        "bulk_memory": "(module (memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0))))",
        "tail_call": "(module (func return_call 0))", "memory64": "(module (memory i64 1))", "multi_memory": "(module (memory 1) (memory 1))",
        "threads": "(module (memory 1 1 shared))", "sign_extension": "(module (func (drop (i32.extend8_s (i32.const 1)))))",
        "saturating_float_to_int": "(module (func (drop (i32.trunc_sat_f32_s (f32.const 1)))))",
        "reference_types": "(module (func (drop (ref.null extern))))", "exceptions": "(module (tag))",
        "function_references": "(module (type $t (func)) (func (param (ref null $t)) ))", "gc": "(module (type (struct)))",
    }  # fmt: skip
    for feature, text in cases.items():
        found = examine.examine("m", assembled(text))["features"]
        assert feature in found, (feature, found)
        assert not set(found) - {feature, "function_references", "reference_types"}, (feature, found)
    same(examine.examine("m", b"\0asm\1\0\0\0")["features"], [])


@test("hostile programs are rows with a stage and a reason, and harm nobody")
def _():
    place, out = folder("hostile"), os.path.join(DIRECTORY, "hostile-out")
    for name, text in HOSTILE.items():
        write(os.path.join(place, f"{name}.wasm"), assembled(text))
    write(os.path.join(place, "cut.wasm"), assembled(HOSTILE["talks"])[:-9])
    write(os.path.join(place, "empty.wasm"), b"")
    write(os.path.join(place, "noise.wasm"), random.Random(1).randbytes(5000))
    write(os.path.join(place, "good.wasm"), assembled(MAIN.format("", "(i32.const 5)")))
    write(os.path.join(place, "huge.wasm"), b"\0" * (3 << 20))
    limits = jobs.Limits(timeout=3, deadline=15, memory=400 << 20, output=1 << 20, module=2 << 20)
    outcome = go([ICOUNT, "none"], place, out, settings=jobs.Settings(limits))
    same(outcome.done, 2 * len(os.listdir(place)), "nothing is missing")
    runs = {(script, name[: -len(".wasm")]): row for (script, name, _), row in runs_of(out).items()}
    for script in ("icount", "none"):
        def end(name, script=script):
            row = runs[script, name]
            return row["status"], row["stage"], row["failure"] or row["trap"] or row["exit_code"]

        same(end("good"), ("exited", None, 5))
        same(end("endless"), ("trapped", None, "timeout"))
        same(end("divides"), ("trapped", None, "integer_division_by_zero"))
        same(end("deep"), ("trapped", None, "stack_overflow"))
        same(end("sleeps"), ("failed", "run", "time"))
        same(end("imports"), ("failed", "load", "error"))
        same(end("huge"), ("failed", "read", "error"))
        same(end("nothing"), ("exited", None, 0))
        same(end("talks")[0], "exited")
        assert runs[script, "talks"]["stdout_size"] <= 1 << 20, runs[script, "talks"]
        for name in ("cut", "empty", "noise"):
            same(end(name), ("failed", "decode", "error"), name)
        assert end("large")[0] == "exited" or end("large")[2] in ("memory", "error"), end("large")
        assert end("greedy")[0] in ("exited", "trapped") or end("greedy")[2] == "memory", (end("greedy"), runs[script, "greedy"]["message"])
        assert runs[script, "greedy"]["memory"] < 700 << 20, runs[script, "greedy"]
    messages = {row["message"] for row in runs.values() if row["status"] == "failed"}
    assert all(messages), messages
    assert any("it imports env.f" in text for text in messages), messages
    assert any("3,145,728 bytes" in text for text in messages), messages
    counted = [row for row in table_of(out, "rows")["rows/script=icount"] if row["key"] == runs["icount", "endless"]["key"]]
    assert counted[0]["instructions"] > 100000, counted


@test("a process that dies, or takes too much memory, is a failure with its signal")
def _():
    box = sandbox.Sandbox()
    try:
        settings = jobs.Settings(jobs.Limits(deadline=10, memory=300 << 20))
        job = jobs.run_job(jobs.Module("m.wasm", ""), "00", jobs.ScriptText("none", ""), jobs.Input(), settings, [])
        data = assembled(HOSTILE["sleeps"])
        channel = box._open()
        started = time.monotonic()
        same((box.run(job, data, settings).failure, time.monotonic() - started < 100), ("time", True))
        child = subprocess.Popen([sys.executable, "-c", KILLER, str(box._process.pid), "SIGABRT"], stdin=subprocess.DEVNULL)
        ended = box.run(job, data, settings)
        child.wait()
        same((ended.failure, ended.stage, "SIGABRT" in ended.message), ("crash", "run", True), ended.message)
        child = subprocess.Popen([sys.executable, "-c", KILLER, str(box._process.pid), "self"], stdin=subprocess.DEVNULL)
        same(box.run(job, data, settings).failure, "time", "the nursery was killed, and the run repeated")
        child.wait()
        assert box._channel is not channel
        wide = assembled("(module " + "(func (export \"main\") (result i32) (local i64) (i32.const 1))" + ")")
        same(box.run(job, wide, settings).columns["exit_code"], 1)
    finally:
        box.close()


KILLER = """
import os, signal, sys, time
nursery, what = int(sys.argv[1]), sys.argv[2]
for _ in range(5000):
    time.sleep(0.02)
    with open(f"/proc/{nursery}/task/{nursery}/children") as file:
        children = file.read().split()
    if children:
        time.sleep(0.3)
        os.kill(nursery if what == "self" else int(children[0]), signal.SIGKILL if what == "self" else signal.SIGABRT)
        break
"""


# ---- going on ----


COUNT = 40  # programs that count, in fresh()
ALL = COUNT + 4  # with those that fail


def fresh():
    """A dataset that nothing has disturbed."""
    out = os.path.join(DIRECTORY, "fresh-out")
    place = os.path.join(DIRECTORY, "many")
    if not os.path.exists(out):
        good_modules(folder("many"), COUNT)
        go([ICOUNT, BRANCHES], place, out)
    return place, out


@test("a dataset that was begun, damaged and doubled becomes the same as one made at once")
def _():
    place, wanted = fresh()
    out = os.path.join(DIRECTORY, "resumed-out")
    half = os.path.join(place, "count0[0-1]*.wasm")
    go([ICOUNT], half, out)
    files = dataset.Files(out)
    part = next(iter(files.parts("runs")))
    shutil.copy(files.path(part.path), files.path("runs/script=icount/part-again.parquet"))
    shutil.copy(files.path(part.rows_path), files.path("rows/script=icount/part-again.parquet"))
    shutil.copy(files.path(part.rows_path), files.path("rows/script=icount/part-orphan.parquet"))
    write(files.path("runs/script=icount/part-x.parquet.1234.tmp"), b"half")
    unread = files.read(part.path).slice(0, 1)  # a run of a module whose examination had been given up
    for name, value in (("key", "f" * 32), ("module", "")):
        unread = unread.set_column(unread.column_names.index(name), unread.schema.field(name), pa.array([value], unread.schema.field(name).type))
    dataset.write_part(files, dataset.Part("runs/script=icount", "part-unread"), unread, None)
    outcome = go([ICOUNT, BRANCHES], place, out)
    same((outcome.done, outcome.runs), (2 * ALL - 20, 2 * ALL))
    same_datasets(out, wanted)
    assert not [name for name in files.names("runs") if name.endswith(".tmp")]
    redone = go([ICOUNT, BRANCHES], place, out, again=["load"])
    same(redone.done, 2, "what failed in a stage is done again when that is asked for")
    same_datasets(out, wanted)


@test("small parts are merged, and nothing changes")
def _():
    place, wanted = fresh()
    out = os.path.join(DIRECTORY, "merged-out")
    shutil.copytree(wanted, out)
    files = dataset.Files(out)
    before = len(files.parts("runs"))
    for script in ("icount", "branches", None):
        dataset.merge(files, script, least=1)
    same(len(files.parts("runs")), 2, "a part for each script")
    assert before >= 2
    same_datasets(out, wanted)


def descendants(pid):
    """The processes below one."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


def kind_of(pid):
    """Whether it is a worker or a nursery or run; None: a helper of multiprocessing, or gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
    except OSError:
        return None
    return "worker" if b"spawn_main" in words else "nursery or run" if b"whammc.corpus.nursery" in words else None


def is_worker(pid):
    return kind_of(pid) is not None


RUN = ["run", ICOUNT, BRANCHES, "--fuel", "10000000", "--deadline", "30", "--workers", "2", "-q"]


@test("workers, nurseries and runs that are killed at random: the same dataset")
def _():
    place, wanted = fresh()
    generator, killed, most = random.Random(7), collections.Counter(), int(os.environ.get("WHAMMC_KILLS", "14"))
    kinds = [("worker", "nursery or run")[k % 2] for k in range(most)]
    generator.shuffle(kinds)
    out = os.path.join(DIRECTORY, "killed-out")
    process = subprocess.Popen([*COMMAND, *RUN, "--modules", place, "--out", out], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    start, pause = time.monotonic(), 0.4
    while process.poll() is None and time.monotonic() - start < 400:
        time.sleep(generator.uniform(0, pause))
        there = {pid: kind for pid in descendants(process.pid) if (kind := kind_of(pid))}
        # On a busy machine workers start slowly: one has to be at work, or there would never be any.
        targets = [pid for pid in sorted(there) if kinds and there[pid] == kinds[-1]]
        if targets and "nursery or run" in there.values() and os.path.isdir(out):
            with contextlib.suppress(ProcessLookupError):
                os.kill(generator.choice(targets), signal.SIGKILL)
                killed[kinds.pop()] += 1
            pause = 0.4 + 0.1 * killed["worker"]
    _, said = process.communicate(timeout=300)
    same(process.returncode, 0, said[-2000:])
    print(f"# killed: {dict(killed)} in {time.monotonic() - start:.0f} s", flush=True)
    assert killed["worker"] >= 2 and killed["nursery or run"] >= 2, killed
    code, _, said = command([*RUN, "--modules", place, "--out", out, "--again", "crash"])  # children of a nursery that were killed
    same(code, 0, said)
    same_datasets(out, wanted)


@test("workers that Dask has dropped are started again")
def _():
    with schedule.connected(None, 1) as client:
        client.wait_for_workers(1, timeout=120)

        async def drop():    # as Dask does if a worker is lost and stays away
            for name in list(client.cluster.workers):
                await client.cluster.workers.pop(name).close()

        client.cluster.sync(drop)
        end = time.monotonic() + 120
        while schedule._threads(client) and time.monotonic() < end:
            time.sleep(0.1)
        while not schedule._threads(client) and time.monotonic() < end:
            schedule._replace_workers(client, 1)
            time.sleep(0.5)
        same(schedule._threads(client), 1)


class Forgetful:
    """A client of Dask whose scheduler loses the first batches that it gets."""

    cluster = None

    def __init__(self, loses):
        self.loses, self.cancelled = loses, 0

    def nthreads(self):
        return {"a worker": 2}

    def submit(self, _function, _out, _settings, batch, _budget, **_):
        future = concurrent.futures.Future()
        self.loses -= 1
        if self.loses < 0:
            future.set_result(worker.Done(len(batch), collections.Counter({"exited": len(batch)})))
        return future

    def cancel(self, futures, force):
        self.cancelled += sum(future.cancel() for future in futures)


@test("batches that Dask has lost are handed out again")
def _():
    client, outcome = Forgetful(4), schedule.Outcome()
    dispatcher = schedule.Dispatcher(client, "", jobs.Settings(), outcome, schedule.Progress("runs", 30, None))
    dispatcher.patience = 1
    wanted = [jobs.run_job(jobs.Module(f"{k}.wasm", ""), str(k), jobs.ScriptText("none", ""), jobs.Input(), jobs.Settings(), []) for k in range(30)]
    dispatcher.run([iter(wanted)])
    same((outcome.done, client.cancelled, dispatcher.patience, len(dispatcher.active)), (30, 4, 2, 0))


@test("a client that is killed again and again: the same dataset")
def _():
    place, wanted = fresh()
    generator = random.Random(3)
    out = os.path.join(DIRECTORY, "client-out")
    kills = 0
    for _ in range(2):
        process = subprocess.Popen([*COMMAND, *RUN, "--modules", place, "--out", out], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        below = []
        try:
            process.wait(generator.uniform(2.5, 5.5))
            break
        except subprocess.TimeoutExpired:
            below = descendants(process.pid)
            process.kill()
            process.wait()
            kills += 1
        end = time.monotonic() + 120
        while any(os.path.exists(f"/proc/{pid}") and is_worker(pid) for pid in below) and time.monotonic() < end:
            time.sleep(0.1)
        left = [pid for pid in below if os.path.exists(f"/proc/{pid}") and is_worker(pid)]
        assert not left, "workers outlive their client"
    code, _, said = command([*RUN, "--modules", place, "--out", out])
    same(code, 0, said)
    same_datasets(out, wanted)
    assert kills >= 1, kills


@test("a disk that is full: a message; with more space, the same dataset")
def _():
    place, wanted = fresh()
    disk = folder("disk")
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", disk], capture_output=True, check=False).returncode:
        raise unittest.SkipTest("no file system can be mounted here")
    words = shlex.join([*COMMAND, *RUN, "--modules", place, "--out", os.path.join(disk, "out")])
    copy = os.path.join(DIRECTORY, "disk-out")
    text = f"""mount -t tmpfs -o size=56k none {disk} && {{ {words}; echo "status $?"; find {disk} -name '*.tmp';
        mount -o remount,size=64m {disk}; {words}; echo "status $?"; cp -r {disk}/out {copy}; }}"""
    done = subprocess.run(["unshare", "-rm", "sh", "-c", text], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600, check=False)
    same(done.stdout.split("\n")[:2], ["status 1", "status 0"], done.stderr)
    assert "there is no space left" in done.stderr or "No space left" in done.stderr, done.stderr
    assert "The same command goes on" in done.stderr, done.stderr
    same_datasets(copy, wanted)


# ---- other places ----


@test("modules and dataset on an S3 server, given by a manifest there: the same")
def _():
    from moto.server import ThreadedMotoServer

    place, wanted = fresh()
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        options = {"key": "x", "secret": "y", "client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
        fs = fsspec.filesystem("s3", **options)
        fs.mkdir("corpus")
        for name in sorted(os.listdir(place)):
            with open(os.path.join(place, name), "rb") as file:
                fs.pipe_file(f"corpus/modules/{name}", file.read())
        listed = "".join(f"modules/{name},{'first' if '00' in name else 'second'}\n" for name in sorted(os.listdir(place)))
        fs.pipe_file("corpus/list.csv", ("module,group\n" + listed).encode())
        settings = jobs.Settings(LIMITS, "all", options, options)
        first = go([ICOUNT], "s3://corpus/modules/**/*.wasm", "s3://corpus/out", settings=settings)
        same(first.done, ALL)
        both = go([ICOUNT, BRANCHES], "s3://corpus/list.csv", "s3://corpus/out", settings=settings)
        same((both.done, both.modules), (ALL, ALL), "the second script")
        copy = os.path.join(DIRECTORY, "s3-out")
        fs.get("corpus/out/", copy, recursive=True)
        connection = corpus.connect("s3://corpus/out", options)
        same(connection.sql("SELECT count(*) FROM runs").fetchall(), [(2 * ALL,)])
        assert f"{ALL} of them different" in corpus.report("s3://corpus/out", options), corpus.report("s3://corpus/out", options)
    finally:
        server.stop()
    same_datasets(copy, wanted, ["rows"])
    ours, theirs = table_of(copy, "runs"), table_of(wanted, "runs")
    for name, rows in theirs.items():
        plain = [[{k: v for k, v in row.items() if k not in ("url", "key") or row["module"]} | {"url": os.path.basename(row["url"])} for row in each]
                 for each in (ours[name], rows)]
        same(*plain, name)
    groups = collections.Counter(dict(row["labels"]).get("group") for row in table_of(copy, "modules")["modules"])
    same((groups["first"], groups["second"]), (10, ALL - 10), groups)


@test("a scheduler and workers that somebody else has started: the same")
def _():
    place, wanted = fresh()
    out, address = os.path.join(DIRECTORY, "remote-out"), os.path.join(DIRECTORY, "scheduler.json")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                 "--scheduler-file", address], **quiet)]  # fmt: skip
    try:
        for _ in range(1200):
            if os.path.exists(address):
                break
            time.sleep(0.1)
        with open(address, encoding="utf-8") as file:
            tcp = json.load(file)["address"]
        started.append(subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", tcp, "--nworkers", "1", "--nthreads", "2",
                                         "--host", "127.0.0.1", "--no-dashboard", "--local-directory", DIRECTORY], **quiet))  # fmt: skip
        code, text, said = command([*RUN[:-3], "--scheduler", tcp, "--modules", place, "--out", out])
        same(code, 0, said)
        same_datasets(out, wanted)
        assert f"{2 * ALL} of {2 * ALL} runs were new" in said, said
        assert "icount" in text, text
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


# ---- manifests, the command line ----


@test("manifests: inputs, labels, mistakes")
def _():
    place = folder("manifest")
    shutil.copy(FIB, place)
    write(os.path.join(place, "in.txt"), b"7\n")
    path = os.path.join(place, "list.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([
            ["module", "input", "args", "stdin", "env", "team"],
            ["fib.wasm", "small", "3", "", "", "a"], ["fib.wasm", "large", "'10' x", "in.txt", "A=1 B='2 3'", "a"], ["missing.wasm", "", "", "", "", "b"],
        ])  # fmt: skip
    fib, missing = manifest.find([path])
    same([one.name for one in fib.inputs], ["small", "large"])
    same(fib.inputs[1], jobs.Input("large", ("10", "x"), b"7\n", (("A", "1"), ("B", "2 3"))))
    same((fib.labels, missing.labels, bool(missing.problem)), ((("team", "a"),), (("team", "b"),), True))
    out = os.path.join(DIRECTORY, "manifest-out")
    outcome = go([ICOUNT], path, out)
    same(dict(outcome.states), {"exited": 2, "failed": 1})
    failed, = [row for row in runs_of(out).values() if row["status"] == "failed"]
    same((failed["stage"], "missing.wasm" in failed["message"]), ("read", True), failed)
    write(os.path.join(place, "missing.wasm"), assembled(HOSTILE["nothing"]))
    same(dict(go([ICOUNT], path, out).states), {"exited": 1}, "it is there now")
    same(sorted(row["status"] for row in runs_of(out).values()), ["exited"] * 3, "and the failure is gone")
    shutil.copy(os.path.join(PROGRAMS, "quicksort.wasm"), os.path.join(place, "missing.wasm"))
    go([ICOUNT], path, out)
    same(len(table_of(out, "modules")["modules"]), 2, "a module that was replaced has one row")
    for text, words in (("", ":1: expected a column 'module'"), ("name\nx\n", "found name"), ("module,args\nfib.wasm,'\n", ":2: No closing quotation"),
                        ("module\n\nfib.wasm,2,3\n", "as many fields"), ("module,stdin\nfib.wasm,gone.txt\n", ":2: cannot read the standard input")):
        write(path, text.encode())
        raises(manifest.ManifestError, lambda: manifest.find([path]), words)
    write(path, b"module\n\xff\n")
    raises(manifest.ManifestError, lambda: manifest.find([path]), "UTF-8")
    raises(manifest.ManifestError, lambda: manifest.find([os.path.join(place, "*.wat")]), "no modules there")


@test("the command line: its summary, and what it says about mistakes")
def _():
    out = os.path.join(DIRECTORY, "hostile-out")
    code, text, said = command(["report", out])
    same((code, said), (0, ""))
    for words in ("14 modules", "script", "icount", "traps:", "failures", "× decode, error", "it imports env.f", "× run, time"):
        assert words in text, f"{words!r} is not in {text}"
    assert max(map(len, text.splitlines())) <= 130, text
    place = folder("plain")
    for words, wanted in (
        (["report", os.path.join(DIRECTORY, "none")], "there is no dataset"),
        (["run", "no-such", "--modules", place, "--out", out], "no-such"),
        (["run", ICOUNT, ICOUNT, "--modules", place, "--out", out], "two scripts called 'icount'"),
        (["run", ICOUNT, "-D", "x=1", "--modules", place, "--out", out], "no script has a constant x"),
        (["run", ICOUNT, "--modules", os.path.join(place, "*.txt"), "--out", out], "no modules there"),
        (["run", ICOUNT, "--memory", "lots", "--modules", place, "--out", out], "expected a size such as 512M"),
        (["run", ICOUNT, "--timeout", "0", "--modules", place, "--out", out], "seconds above 0"),
        (["run", ICOUNT, "--modules", place, "--out", out, "--storage-options", "[]"], "an object in JSON"),
        (["run", ICOUNT, "--modules", "nonsense://x", "--out", out], "nonsense"),
    ):
        code, text, said = command(words)
        same((code, text), (2, ""), said)
        assert wanted in said and "Traceback" not in said, f"{wanted!r} is not in {said}"
    bad = write(os.path.join(DIRECTORY, "bad.whamm"), b"wasm:opcode:call:before { cuont++; }")
    code, _, said = command(["run", bad, "--modules", place, "--out", out])
    same(code, 2)
    assert "'cuont' is not declared" in said and "^~~~" in said, said


@test("scripts, constants, which rows are kept")
def _():
    place = folder("plain")
    script = write(os.path.join(DIRECTORY, "least.whamm"), b"const least: u32 = 0; wasm:opcode:call:before / imm0 >= least / { report var key: u64; key++; }")
    counts = {}
    for rows in ("all", "nonzero", "none"):
        out = os.path.join(DIRECTORY, f"rows-{rows}")
        go([script], place, out, define={"least": 10}, settings=jobs.Settings(rows=rows), inputs=[jobs.Input("9", ("9",))])
        counts[rows] = [row["script0.key"] for row in table_of(out, "rows").get("rows/script=least", [])]
    same(sorted(n for n in counts["all"] if n), sorted(counts["nonzero"]))
    same((counts["none"], 0 in counts["all"], len(counts["nonzero"]) > 20), ([], True, True))
    total = sum(row.value for name in ("fib", "quicksort") for row in
                whammc.run(os.path.join(place, f"{name}.wasm"), whammc.Script(script, {"least": 10}), args=["9"]).report.rows())
    same(sum(counts["all"]), total)
    same(schedule.load_scripts(["calltree"])[0].name, "calltree")


@test("strides of the example, where they are known")
def _():
    strides = os.path.join(SOURCE, "examples", "corpus", "strides.whamm")
    loop = """(local $i i32) (loop (i64.store (i32.mul (local.get $i) (i32.const {})) (i64.const 1)) (drop (i32.load8_u (i32.const 7)))
        (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (i32.const 10)))) (i32.const 0)"""
    for step, wanted in ((8, {8: 9, 0: 9}), (0, {0: 18}), (-8, None), (5000, {4097: 9, 0: 9})):
        start = loop.format(step) if step >= 0 else loop.format(step).replace("(i32.mul", "(i32.add (i32.const 80) (i32.mul").replace("(i64.const 1)", ") (i64.const 1)", 1)
        result = whammc.run(assembled(MAIN.format("(memory 2)", start)), strides)
        same((result.exit_code, result.report.value("strides")), (0, wanted or {8: 9, 0: 9}), step)


@test("instrumented programs that behave otherwise are found")
def _():
    rows = {name: pa.array(values) for name, values in {
        "status": ["exited"] * 3, "module": ["a", "b", "c"], "input": [""] * 3, "exit_code": [0, 0, 1], "stdout_sha256": ["x", "y", "z"],
    }.items()}  # fmt: skip
    before = pa.table(rows)
    after = before.set_column(4, "stdout_sha256", pa.array(["x", "changed", "z"])).set_column(3, "exit_code", pa.array([0, 0, 0]))
    same((summary.differing(before, before), summary.differing(before, after)), (0, 2))


@test("examples in the manual")
def _():
    with open(os.path.join(SOURCE, "docs", "corpus.md"), encoding="utf-8") as file:
        text = file.read()
    place = folder("manual")
    os.chdir(place)
    for name in ("fib", "quicksort", "matmul"):
        shutil.copy(os.path.join(PROGRAMS, f"{name}.wasm"), folder("manual", "modules"))
    for name in ("icount", "branches"):
        shutil.copy(os.path.join(SCRIPTS, f"{name}.whamm"), place)
    shown = re.findall(r"^    (python -m whammc\.corpus .*)$", text, re.M)
    ran = 0
    for line in shown:
        if "s3://" not in line and "tcp://" not in line:
            code, _, said = command(shlex.split(line)[3:])
            same(code, 0, f"{line}: {said}")
            ran += 1
    names, wrong, attempted = {}, [], 0
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for k, block in enumerate(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)):
        example = doctest.DocTestParser().get_doctest(block, names, f"corpus.md, block {k + 1}", "corpus.md", 0)
        attempted += runner.run(example, out=wrong.append, clear_globs=False).attempted
        names = example.globs
    assert not wrong, "".join(wrong)
    assert ran >= 2 and attempted >= 3, (ran, attempted)


if __name__ == "__main__":  # workers are processes that load this file, too
    with WORKERS:
        run_tests()
