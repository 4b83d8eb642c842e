"""Finds libwhammc, or builds it, for native.py.

WHAMMC_BUILD=DIR   a folder in which whammc was configured and made; its shared library must not have been disabled
WHAMMC_PREFIX=DIR  a prefix under which whammc is installed
neither            the repository that has this folder is configured and made, in build/library below this folder
"""

import dataclasses
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))


@dataclasses.dataclass
class Library:
    include: str
    objects: list
    libraries: list
    directories: list


def fail(text):
    sys.exit(f"whammc: {text}")


def run(command, directory):
    print("whammc:", *command, flush=True)
    if subprocess.run(command, cwd=directory, check=False).returncode:
        fail(f"{command[0]} failed in {directory}; what it takes to build whammc is in README.md of the repository")


def of_build(build, include):
    """The library as a build has it: position-independent objects, for which libtool makes an archive."""
    archive = os.path.join(build, ".libs", "libcore.a")
    if not os.path.exists(archive):
        fail(f"there is no {archive}: run ./configure --enable-shared and make there first")
    with open(os.path.join(build, "whammc.pc"), encoding="utf-8") as file:
        private = re.search(r"^Libs\.private: *(.*)$", file.read(), re.M)[1].split()
    return Library(
        include,
        [archive],
        [word[2:] for word in private if word.startswith("-l")],
        [word[2:] for word in private if word.startswith("-L")],
    )


def of_prefix(prefix):
    """The library as it is installed."""
    found = sorted(glob.glob(os.path.join(prefix, "lib*", "libwhammc.so")) + glob.glob(os.path.join(prefix, "lib", "*", "libwhammc.so")))
    if not found:
        fail(f"there is no libwhammc.so below {prefix}: WHAMMC_PREFIX must be where whammc is installed")
    return Library(os.path.join(prefix, "include"), [], ["whammc"], [os.path.dirname(found[0])])


def configured_source(build):
    """The source folder of a build."""
    with open(os.path.join(build, "Makefile"), encoding="utf-8") as file:
        return os.path.join(build, re.search(r"^srcdir = (.*)$", file.read(), re.M)[1])


def make(build):
    """Builds the library from the repository's sources."""
    if not os.path.exists(os.path.join(SOURCE, "configure.ac")):
        fail("this folder is not in whammc's repository: set WHAMMC_PREFIX to where whammc is installed")
    if os.path.exists(os.path.join(SOURCE, "config.status")):  # then it cannot be configured elsewhere, too
        build = SOURCE
    elif not os.path.exists(os.path.join(build, "config.status")):
        if not os.path.exists(os.path.join(SOURCE, "configure")):
            run(["./bootstrap"], SOURCE)
        os.makedirs(build, exist_ok=True)
        run([os.path.join(SOURCE, "configure"), "--quiet", "--enable-shared", "--disable-examples"], build)
    run(["make", "--silent", f"-j{os.cpu_count()}", "libwhammc.la"], build)
    return build


def find():
    build, prefix = os.environ.get("WHAMMC_BUILD"), os.environ.get("WHAMMC_PREFIX")
    if build:
        return of_build(os.path.abspath(build), os.path.join(configured_source(os.path.abspath(build)), "include"))
    if prefix:
        return of_prefix(os.path.abspath(prefix))
    return of_build(make(os.path.join(HERE, "build", "library")), os.path.join(SOURCE, "include"))
