"""Modules with DWARF by all compilers that are there, and what whammc and llvm-symbolizer say about their instructions."""

import functools
import itertools
import json
import os
import posixpath
import subprocess

from lib.commands import call, is_there
from lib.tap import comment
from lib.toolchains import rust_compiler, zig_compiler
from lib.world import BUILD, FIXTURES

READER = os.path.join(BUILD, "tests", "unit", "locations")
SOURCES = os.path.join(FIXTURES, "locations")
SYMBOLIZERS = ["llvm-symbolizer-14", "llvm-symbolizer"]
NEWER = "-19"  # what the commands of a second version of LLVM end in
C, CXX = ["chain.c", "other.c"], ["shapes.cc", "count.cc"]


# Instructions are many, places are few: each place is read once.


@functools.lru_cache(maxsize=None)
def our_frames(text):
    """[(function, linkage, file, line, column) of each frame] from what the reader prints after an address; paths without "//"."""
    return [tuple(frame.replace("//", "/").split("|")) for frame in text.split("\t")] if text else []


@functools.lru_cache(maxsize=None)
def their_frames(text):
    """[(function, file, line, column) of each frame] from the end of a line of llvm-symbolizer; paths without "." and ".."."""
    symbols = json.loads(text[:-1])  # without the object's brace
    frames = [(s["FunctionName"], s["FileName"] and posixpath.normpath(s["FileName"]), str(s["Line"]), str(s["Column"])) for s in symbols]
    return [frame for frame in frames if frame != ("", "", "0", "0")]


def ours(module):
    """{address: frames as of our_frames} of all instructions; and what it says besides."""
    done = call([READER, module])
    answers = {}
    for line in done.stdout.splitlines():
        address, _, frames = line.partition("\t")
        answers[int(address)] = our_frames(frames)
    return answers, done.stderr.strip()


def symbolize(tool, module, addresses, functions):
    """The same from llvm-symbolizer, with one name of a function."""
    done = subprocess.run([tool, f"--obj={module}", "--output-style=JSON", "--no-demangle", f"--functions={functions}"],
                          input="".join(f"{a:#x}\n" for a in addresses), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8", errors="backslashreplace", check=False)
    answers = {}
    for line in done.stdout.splitlines():
        head, _, symbols = line.partition(',"Symbol":')  # {"Address":"0x12","ModuleName":"..."
        answers[int(head.split('"', 4)[3], 0)] = their_frames(symbols or "[]}")
    return answers


# --- Modules --------------------------------------------------------------------------------------------


def run(command):
    """Whether a compiler has done what it was asked; if not, says why."""
    done = call(command, SOURCES)
    if done.returncode:
        comment(done.stderr[-1000:])
    return done.returncode == 0


def clang(directory, name, sources, flags, target="wasm32", version=""):
    """A module, or None. Compiled and linked in two steps: with -O the linking step would call wasm-opt."""
    compiler = ("clang++" if sources is CXX else "clang") + version
    objects = [os.path.join(directory, f"{name}-{source}.o") for source in sources]
    path = os.path.join(directory, name + ".wasm")
    for source, target_file in zip(sources, objects):
        if not run([compiler, f"--target={target}", *flags, "-c", source, "-o", target_file]):
            return None
    emulation = ["-mwasm64"] if target == "wasm64" else []
    linked = run(["wasm-ld" + version, *emulation, "--no-entry", *objects, "-o", path])
    for file in objects:
        os.remove(file)  # the second half of split DWARF is in them
    return path if linked else None


def clang_modules(directory):
    """(title, path) of what clang makes."""
    for sources, level, version in itertools.product((C, CXX), ("-O0", "-O1", "-O2"), ("4", "5")):
        name = f"{sources[0]}{level}-dwarf{version}"
        more = ["-fno-exceptions", "-fno-rtti"] if sources is CXX else []
        yield name, clang(directory, name, sources, [level, f"-gdwarf-{version}", *more])
    for name, flags in (("lto", ["-O2", "-g", "-flto"]), ("lines-only", ["-O2", "-gdwarf-4", "-gline-tables-only"]),
                        ("lines-only-5", ["-O2", "-gdwarf-5", "-gline-tables-only"]),
                        ("split", ["-O2", "-gdwarf-5", "-gsplit-dwarf=single"]),
                        ("split-4", ["-O2", "-gdwarf-4", "-gsplit-dwarf=single"]),
                        ("moved", ["-O1", "-gdwarf-4", "-ffile-prefix-map=" + SOURCES + "=moved"]),
                        ("moved-5", ["-O1", "-gdwarf-5", "-ffile-prefix-map=" + SOURCES + "=moved"]),
                        ("no-columns", ["-O2", "-g", "-gno-column-info"])):
        yield name, clang(directory, name, C, flags)
    for name, flags in (("types", ["-gdwarf-4", "-fdebug-types-section"]), ("types-5", ["-gdwarf-5", "-fdebug-types-section"]),
                        ("macros", ["-gdwarf-4", "-fdebug-macro", "-gdwarf-aranges"]),
                        ("macros-5", ["-gdwarf-5", "-fdebug-macro", "-gdwarf-aranges"])):
        yield name, clang(directory, name, CXX, ["-O1", "-fno-exceptions", "-fno-rtti", *flags])
    for name, flags in (("ways", []), ("shared", ["-matomics", "-mbulk-memory"]), ("multi-value", ["-Xclang", "-target-abi", "-Xclang",
                                                                                                "experimental-mv", "-mmultivalue"])):
        yield name, clang(directory, name, ["ways.c"], ["-O1", "-gdwarf-5", *flags])
    for version in "45":
        yield "wasm64-" + version, clang(directory, "wasm64-" + version, C, ["-O2", "-gdwarf-" + version], "wasm64")


def newer_modules(directory):
    """(title, path) of what a newer clang makes; path is None if it is not there."""
    there = is_there("clang" + NEWER) and is_there("wasm-ld" + NEWER)
    for sources, level, version in itertools.product((C, CXX), ("-O0", "-O2"), ("4", "5")):
        name = f"clang{NEWER} {sources[0]}{level}-dwarf{version}"
        more = ["-fno-exceptions", "-fno-rtti"] if sources is CXX else []
        yield name, clang(directory, name, sources, [level, f"-gdwarf-{version}", *more], version=NEWER) if there else None
    flags = ["-O2", "-gdwarf-5", "-gsplit-dwarf=single"]
    yield f"clang{NEWER} split", clang(directory, "newer-split", C, flags, version=NEWER) if there else None


def zig_modules(directory, modes):
    """(title, path, False) of what Zig makes; path is None if it is not there."""
    command = zig_compiler(directory)
    for mode in modes:
        path = os.path.join(directory, f"zig-{mode}.wasm")
        there = command and run([*command, "-O", mode, "-fno-strip", "points.zig", "-femit-bin=" + path])
        yield f"Zig, {mode}", path if there else None, False


def other_modules(directory, zig_modes=("ReleaseSmall",)):
    """(title, path, whether Binaryen has changed the DWARF) of what other compilers make, if they are installed."""
    rust, emscripten = rust_compiler(), is_there("emcc") and ["emcc"]
    for title, command, rest in (
            ("rustc", rust, ["-g", "closures.rs"]), ("rustc-O", rust, ["-g", "-O", "closures.rs"]),
            ("emcc-O0", emscripten, ["-g", "--no-entry", *CXX]), ("emcc-O2", emscripten, ["-g", "-O2", "--no-entry", *CXX])):
        path = os.path.join(directory, title + ".wasm")
        there = command and run([*command, *rest, "-o", path])
        yield title, path if there else None, command is emscripten
    yield from zig_modules(directory, zig_modes)
    for level in ("-O0", "-O2"):
        path = os.path.join(directory, f"wasm-opt{level}.wasm")
        program = clang(directory, "before" + level, C, ["-O1", "-gdwarf-4"])
        there = program and is_there("wasm-opt") and run(["wasm-opt", "-g", level, program, "-o", path])
        yield f"wasm-opt -g {level}", path if there else None, True
