"""Builds the package; how libwhammc is found is in library.py, all else in pyproject.toml.

A wheel has all it needs but the C and C++ libraries and zlib, which every Linux has: shared libraries that the extension module needs
are put into whammc/lib, their licences into licences.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)  # for native.py

# What the policy of manylinux lets wheels expect of a system.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|z))\.so(\.\d+)?$")


def needed(file):
    """The shared libraries that a file needs, all the way down: name and path."""
    done = subprocess.run(["ldd", file], check=True, capture_output=True, text=True)
    return re.findall(r"^\s*(\S+) => (/\S+)", done.stdout, re.M)


class BuildExtension(build_ext):
    """Also copies what the extension module needs, so that it is found wherever the wheel is installed."""

    def run(self):
        super().run()
        for extension in self.extensions:
            file = self.get_ext_fullpath(extension.name)
            target = os.path.join(os.path.dirname(file), "lib")
            for name, path in needed(file):
                if not SYSTEM.match(name) and os.path.dirname(os.path.realpath(path)) != os.path.realpath(target):
                    os.makedirs(target, exist_ok=True)
                    shutil.copy(path, os.path.join(target, name))


def copied(path, *targets):
    """Copies a file of the repository; a source distribution has the copies."""
    original = os.path.join(SOURCE, path)
    if os.path.exists(original):
        for target in targets:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(original, target)


def version():
    for path, pattern in (("configure.ac", r"AC_INIT\(\[whammc\], \[(.*?)\]\)"), ("PKG-INFO", r"^Version: (.*)$")):
        for folder in (HERE, SOURCE):
            if os.path.exists(os.path.join(folder, path)):
                with open(os.path.join(folder, path), encoding="utf-8") as file:
                    return re.search(pattern, file.read(), re.M)[1]
    return "0"


def licences():
    """Those of whammc and of the library in a wheel, as Debian has them."""
    copied("LICENSE", os.path.join(HERE, "licences", "whammc.txt"))
    for path in glob.glob("/usr/share/doc/libiberty-dev/copyright"):
        shutil.copyfile(path, os.path.join(HERE, "licences", "libiberty-dev.txt"))


licences()
# The host of instrumented programs is that of `whammc run --engine=wasmtime`.
copied("stdlib/host/run-wasmtime.py", os.path.join(HERE, "src", "whammc", "_host.py"))
setup(
    version=version(),
    cffi_modules=["native.py:ffi"],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
