"""Compilers for WebAssembly that tests use if they are installed, and how they are called."""

import glob
import os
import shutil

from .commands import call, succeeds

EMSCRIPTEN = {"NODE_PATH": "/usr/share/nodejs"}  # Debian's emcc wants Debian's packages, whichever Node there is


def rust_compiler():
    """The command of a Rust compiler that has WASI, or None."""
    for compiler in ("rustc", "/usr/bin/rustc"):
        for target in ("wasm32-wasip1", "wasm32-wasi"):
            if shutil.which(compiler):
                done = call([compiler, "--print", "target-libdir", "--target", target], "/")
                if done.returncode == 0 and glob.glob(done.stdout.strip() + "/libstd-*"):
                    return [compiler, "--edition", "2021", "--target", target]
    return None


def rust_missing():
    """Why there is none."""
    return None if rust_compiler() else "no rustc with a standard library for WASI (Debian: libstd-rust-dev-wasm32)"


def zig_compiler(directory):
    """The command of Zig that makes WASI programs and keeps its files in a directory, or None."""
    cache = [part for option in ("--cache-dir", "--global-cache-dir") for part in (option, os.path.join(directory, "zig-cache"))]
    return ["zig", "build-exe", "-target", "wasm32-wasi", *cache] if succeeds(["zig", "version"]) else None
