"""What there is to measure with: the compiler, engines, peers that environment variables name, programs, and the machine."""

import functools
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from .measure import spend

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(BENCH)
ENGINES = os.environ.get("WHAMMC_ENGINES") or os.path.join(TOP, "tests", "engines")
MODULES = os.path.join(ENGINES, "node_modules")
# Short enough, with --quick, for what makes them hundreds of times slower.
SHORT = ("trisolv", "fib")
QUICK_KERNELS = ["gemm", "jacobi-2d", "nussinov", "trisolv"]
# Where there is no PolyBench: arguments for compilers, for interpreters.
EXAMPLES = {"fib": (["32"], ["25"]), "matmul": (["300"], ["90"]), "quicksort": (["300000"], ["20000"])}
# Variables that name engines and peers.
PEERS = ("WIZENG", "POLYBENCH", "POLYBENCH_SMALL", "WIZARD_HW", "WZPROF", "WASMBOY", "WASABI", "WHAMM", "WHAMM_CORE")


def _version(command, pattern=r".*"):
    """What a program says of its version; empty if it cannot be run."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                              errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode and "--help" not in command:
        return ""
    matches = (re.search(pattern, line) for line in done.stdout.splitlines() if line.strip())
    return next((match.group(0).strip() for match in matches if match), "")


def _commit(program):
    """The commit of the folder that a program stands in, for those whose versions do not tell much; empty if there is none."""
    if not os.access(program, os.X_OK):
        return ""
    return _version(["git", "-C", os.path.dirname(os.path.abspath(program)), "log", "-1", "--format=commit %h of %cs"], r"commit \w+ of .*")


def found(*names):
    """The first of these programs that PATH has."""
    return next((path for name in names if name for path in [shutil.which(name)] if path), "")


class Program:
    """A WASI program. `interpreted`: arguments that give an interpreter less to do; `data`: which data set it has, "small" or "" for the usual
    one."""

    def __init__(self, name, path, arguments=(), interpreted=None, data=""):
        self.name, self.path, self.arguments, self.data = name, path, list(arguments), data
        self.interpreted = list(arguments if interpreted is None else interpreted)


class World:
    def __init__(self, builddir, quick, rounds):
        self.build = os.path.abspath(builddir)
        self.whammc = os.path.join(self.build, "whammc")
        self.quick, self.rounds = quick, rounds
        self.peers = {name: os.environ.get(name, "") for name in PEERS}
        nodes = (os.environ.get("WHAMMC_NODE24"), os.path.join(ENGINES, "bin", "node24"), "node")
        self.node = next((path for path in map(found, nodes) if path and _version([path, "--version"])), "")
        self.python = os.environ.get("WHAMMC_WASMTIME_PYTHON") or os.path.join(ENGINES, "venv", "bin", "python")
        self.chromium = os.environ.get("CHROMIUM") or found("chromium", "chromium-browser")
        self.firefox = os.environ.get("FIREFOX") or found("firefox-esr", "firefox")
        self.wizards = self._find_wizards()
        self._made = {}
        self.page_runs = {}  # (engine, module) -> what its runs have measured, by variant

    def __enter__(self):
        if not os.access(self.whammc, os.X_OK):
            sys.exit(f"there is no compiler at {self.whammc}: build it, or name the build directory with --builddir")
        self._directory = tempfile.TemporaryDirectory(prefix="whammc-paper-")
        return self

    def __exit__(self, *_):
        self._directory.cleanup()

    def file(self, name):
        return os.path.join(self._directory.name, re.sub(r"[^\w.-]+", "-", name))

    # --- engines -----------------------------------------------------------------------------------------

    def _find_wizards(self):
        """Builds of Wizard by the name of their options, such as rt-int; "" is WIZENG itself."""
        engine = self.peers["WIZENG"]
        if not os.access(engine, os.X_OK):
            return {}
        stem = re.sub(r"_[a-z-]+$", "", os.path.basename(engine))
        beside = glob.glob(os.path.join(glob.escape(os.path.dirname(os.path.abspath(engine))), glob.escape(stem) + "_*"))
        return {"": engine, **{os.path.basename(path)[len(stem) + 1:]: path for path in beside if os.access(path, os.X_OK)}}

    @property
    def wizard(self):
        """The build that inlines probes if there is one: what the paper calls the most optimised configuration."""
        return self.wizards.get("inline") or self.wizards.get("", "")

    def has_node(self):
        return bool(self.node)

    def has_wasmtime(self):
        return bool(self.versions["wasmtime"])

    # --- programs ----------------------------------------------------------------------------------------

    def kernels(self):
        """PolyBench; without it, programs of our own."""
        folder = self.peers["POLYBENCH"]
        if folder:
            names = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(glob.escape(folder), "*.wasm")))
            names = [name for name in names if name in QUICK_KERNELS] if self.quick else names
            return [Program(name, os.path.join(folder, name + ".wasm")) for name in names]
        return [Program(name, os.path.join(self.build, "examples", "programs", name + ".wasm"), *arguments) for name, arguments in EXAMPLES.items()]

    def small_kernels(self):
        """The same, with the smaller data sets that are there."""
        folder = self.peers["POLYBENCH_SMALL"]
        for program in self.kernels():
            path = os.path.join(folder, program.name + ".wasm")
            yield Program(program.name, path, data="small") if folder and os.path.exists(path) else program

    # --- what whammc makes -------------------------------------------------------------------------------

    def made(self, key, make):
        """The file that make(path) writes, once for each key."""
        name = " ".join(map(str, key))
        if name not in self._made:
            path = self.file(f"{len(self._made)}-{name[-80:]}.wasm")
            make(path)
            self._made[name] = path
        return self._made[name]

    @staticmethod
    def script(name):
        """The path of an example script."""
        return os.path.join(TOP, "examples", "scripts", name + ".whamm")

    def libraries(self, script):
        """Options that name the libraries a script uses."""
        with open(script, encoding="utf-8") as file:
            names = re.findall(r"^use (\w+);", file.read(), re.M)
        paths = {name: os.path.join(self.build, "examples", "libs", name + ".wasm") for name in names}
        return {name: path for name, path in paths.items() if os.path.exists(path)}

    def instrumented(self, program, script, *options):
        flags = [f"--lib={name}={path}" for name, path in self.libraries(script).items()]
        return self.made((program.path, script, *options), lambda path: spend(
            [self.whammc, "instr", *options, *flags, "-s", script, program.path, "-o", path, "--no-js"]))

    def monitor(self, script, *options):
        """A monitor, and the libraries that an engine needs with it, as Wizard's option --monitors wants them."""
        libraries = self.libraries(script)
        flags = [f"--lib={name}={path}" for name, path in libraries.items()]
        path = self.made(("monitor", script, *options), lambda path: spend([self.whammc, "monitor", *options, *flags, "-s", script, "-o", path]))
        return "+".join([path, *libraries.values()])

    def bound(self, program, script, *options):
        monitor = self.monitor(script, *options)
        return self.made(("bind", program.path, monitor), lambda path: spend([self.whammc, "bind", "--host=wasi", monitor, program.path, "-o", path]))

    # --- the machine -------------------------------------------------------------------------------------

    @functools.cached_property
    def versions(self):
        """What measures, and with which versions; empty: it is not there."""
        return dict(self._versions())

    def _versions(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = re.search(r"^model name\s*: (.*)", file.read(), re.M)
        with open("/proc/meminfo", encoding="utf-8") as file:
            memory = int(re.search(r"\d+", file.read()).group(0)) // 1024**2
        used = len(os.sched_getaffinity(0))
        cores = f"{os.cpu_count()} cores{f', {used} used' * (used < os.cpu_count())}"
        yield "processor", f"{model[1].strip() if model else platform.machine()}, {cores}, {memory} GiB"
        yield "system", f"{platform.system()} {platform.release()}"
        yield "whammc", _version([self.whammc, "--version"])
        yield "Node (V8)", " ".join(_version([self.node, *options]) for options in (["--version"], ["-p", "process.versions.v8"])) if self.node else ""
        yield "wasmtime", _version([self.python, "-c", "import importlib.metadata as m; print(m.version('wasmtime'))"])
        yield "Wizard", _version([self.wizard, "--help"]) if self.wizard else ""
        yield "Chromium", _version([self.chromium, "--version"], r"\d+(\.\d+){3}") if self.chromium else ""
        yield "Firefox", _version([self.firefox, "--version"], r"[\d.]+\w*") if self.firefox else ""
        yield "Wasabi", _version([self.peers["WASABI"], "--help"]) if self.peers["WASABI"] else ""
        yield "the original Whamm", _commit(self.peers["WHAMM"]) or (_version([self.peers["WHAMM"], "--help"]) if self.peers["WHAMM"] else "")
        yield "wzprof", _commit(self.peers["WZPROF"]) or (_version([self.peers["WZPROF"], "-version"]) if self.peers["WZPROF"] else "")
        yield "gcc", _version(["gcc", "--version"])
        yield "wasm2c (wabt)", _version(["wasm2c", "--version"])

    def describe(self):
        """Lines that say what is there and what is not."""
        for name, version in self.versions.items():
            yield f"{name}: {version or 'not there'}"
        yield "builds of Wizard: " + (", ".join(filter(None, self.wizards)) or "none beside WIZENG")
        yield "not given: " + (", ".join(name for name, path in self.peers.items() if not path) or "nothing")
        for name, path in self.peers.items():
            if path and not (os.path.exists(path) or found(path)):
                yield f"{name}: there is no {path}"

    def machine(self):
        """What of that is there."""
        return {name: version for name, version in self.versions.items() if version}
