"""Running whammc, engines and other programs."""

import os
import subprocess

from .world import MODULES


class Failed(Exception):
    """A command that should have succeeded."""


def call(command, directory=None, text=None, timeout=900, environment=None, merged=False, stdout=subprocess.PIPE, shell=False,
         preexec_fn=None):
    """Runs a command and returns its exit status and output as text. One that is not there has exit status 127. `text` is its
    standard input; `merged` puts both streams into stdout."""
    given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    try:
        return subprocess.run(command, cwd=directory, timeout=timeout, check=False, shell=shell, preexec_fn=preexec_fn, **given, encoding="utf-8",
                              errors="backslashreplace", stdout=stdout, stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                              env={**os.environ, "NODE_NO_WARNINGS": "1", **(environment or {})})
    except (FileNotFoundError, PermissionError) as error:
        return subprocess.CompletedProcess(command, 127, str(error) if merged else "", "" if merged else str(error))


def must(command, directory=None, **more):
    """Runs a command that has to succeed."""
    done = call(command, directory, **more)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def succeeds(command):
    """Whether a command is there and ends with exit status 0."""
    return call(command).returncode == 0


def is_there(program):
    """Whether a program or an engine is there, and not only the script that would start it."""
    return succeeds([program, "--version"])


def try_assemble(text, path):
    """Assembles text into a module with names at this path. Returns the path, or None if the assembler refuses it."""
    source = write(os.path.splitext(path)[0] + ".wat", text)
    return path if succeeds(["wat2wasm", "--enable-all", "--debug-names", source, "-o", path]) else None


def assemble(text, path, assembler=("wat2wasm",)):
    """Assembles text that is right."""
    source = write(os.path.splitext(path)[0] + ".wat", text)
    must([*assembler, "--enable-all", "--debug-names", source, "-o", path])
    return path


def compile_assemblyscript(source, path, *flags):
    """Compiles AssemblyScript to a module at this path. Returns the path, or None if the compiler is not there or refuses."""
    compiler = os.path.join(MODULES, "assemblyscript", "bin", "asc.js")
    if os.path.exists(compiler):
        call(["node24", compiler, source, *flags, "-O2", "--outFile", path])
    return path if os.path.exists(path) else None


def write(path, text):
    """Makes a file of this text, and returns its path."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
