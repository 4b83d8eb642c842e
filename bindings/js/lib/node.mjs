// lib/node.mjs - the command line in Node: whammc's main() with the files, the environment and the processes of Node.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { isMainThread } from 'node:worker_threads';
import { Engine, Exit, Scope, explainFailure, init } from './wasm.mjs';

// ---- numbers of Emscripten's C library ----

const ERRORS = {
  E2BIG: 1, EACCES: 2, EAGAIN: 6, EBADF: 8, EBUSY: 10, EEXIST: 20, EFAULT: 21, EFBIG: 22, EINTR: 27, EINVAL: 28, EIO: 29, EISDIR: 31,
  ELOOP: 32, EMFILE: 33, EMLINK: 34, ENAMETOOLONG: 37, ENFILE: 41, ENODEV: 43, ENOENT: 44, ENOEXEC: 45, ENOMEM: 48, ENOSPC: 51,
  ENOSYS: 52, ENOTDIR: 54, ENOTEMPTY: 55, ENOTTY: 59, ENXIO: 60, EPERM: 63, EPIPE: 64, ERANGE: 68, EROFS: 69, ESPIPE: 70, ETXTBSY: 74,
  EXDEV: 75, ENOTSUP: 138, EOPNOTSUPP: 138,
};
const FLAGS = {
  O_CREAT: 0o100, O_EXCL: 0o200, O_NOCTTY: 0o400, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_NONBLOCK: 0o4000, O_DIRECTORY: 0o200000,
  O_NOFOLLOW: 0o400000,
};
const AT_FDCWD = -100, AT_SYMLINK_NOFOLLOW = 0x100, AT_REMOVEDIR = 0x200, AT_EMPTY_PATH = 0x1000;
const F_DUPFD = 0, F_GETFD = 1, F_SETFD = 2, F_GETFL = 3, F_SETFL = 4;
const TIOCGWINSZ = 0x5413;
const CHARACTER_DEVICE = 2, REGULAR_FILE = 4;
const SEEK_SET = 0, SEEK_CUR = 1;
const HOOK = 'WHAMMC_HOOK';

function errorNumber(error) {
  if (error.code === undefined || error instanceof Exit) throw error;
  return ERRORS[error.code] ?? ERRORS.EIO;
}

class Failure extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

function flagsForNode(flags) {
  let result = flags & 3;
  for (const [name, bit] of Object.entries(FLAGS)) if (flags & bit) result |= fs.constants[name] ?? 0;
  return result;
}

// ---- files ----

/** System calls about files. Descriptors are those of Node. If there is `said`, an array, it gets what is written to standard error. */
function createFiles(engine, said = null) {
  const positions = new Map(); // of regular files that were opened here, as Node cannot seek
  const text = at => engine.text(at);
  const expectOpen = fd => fs.fstatSync(fd);
  const path = (directory, at) => {
    const name = text(at);
    if (directory !== AT_FDCWD && !name.startsWith('/')) throw new Failure('ENOTSUP');
    return name;
  };

  function putStat(at, s) {
    const { view } = engine, start = at >>> 0, word = (offset, value) => engine.putWord(start + offset, Number(BigInt.asUintN(32, value)));
    for (let i = 0; i < 88; i += 4) word(i, 0n);
    word(0, s.dev);
    word(8, s.ino);
    word(12, s.mode);
    word(16, s.nlink);
    word(20, s.uid);
    word(24, s.gid);
    word(28, s.rdev);
    view.setBigInt64(start + 40, s.size, true);
    word(48, 4096n);
    word(52, s.blocks);
    [s.atimeNs, s.mtimeNs, s.ctimeNs].forEach((time, i) => {
      word(56 + 8 * i, time / 1000000000n);
      word(60 + 8 * i, time % 1000000000n);
    });
    view.setBigUint64(start + 80, s.ino, true);
    return 0;
  }

  function open(name, flags, mode) {
    const fd = fs.openSync(name, flagsForNode(flags), mode);
    if (fs.fstatSync(fd).isFile()) positions.set(fd, { at: 0, append: (flags & FLAGS.O_APPEND) !== 0 });
    return fd;
  }

  // Node's errors for pipes that have nothing yet, and for consoles that were closed.
  function readSome(fd, target, at = positions.get(fd)?.at ?? null) {
    for (;;) {
      try {
        return fs.readSync(fd, target, 0, target.length, at);
      } catch (error) {
        if (error.code === 'EOF') return 0;
        if (error.code !== 'EAGAIN') throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      }
    }
  }

  function writeSome(fd, source) {
    if (said && fd === 2) return said.push(source.slice()) && source.length;
    const position = positions.get(fd);
    for (;;) {
      try {
        return fs.writeSync(fd, source, 0, source.length, position && !position.append ? position.at : null);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      }
    }
  }

  // some(bytes, total) reads or writes as many bytes as it can; `total`: what was before.
  function transfer(some, vectors, count, done) {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const at = engine.u32(vectors + 8 * i), size = engine.u32(vectors + 8 * i + 4);
      if (!size) continue;
      const n = some(engine.part(at, size), total);
      total += n;
      if (n < size) break;
    }
    engine.putWord(done, total);
    return 0;
  }

  function move(fd, n) {
    const position = positions.get(fd);
    if (position) position.at += n;
    return n;
  }

  function seek(fd, offset, whence, result) {
    const position = positions.get(fd);
    if (!position) throw new Failure('ESPIPE');
    const from = whence === SEEK_SET ? 0 : whence === SEEK_CUR ? position.at : fs.fstatSync(fd).size, to = from + Number(offset);
    if (to < 0) throw new Failure('EINVAL');
    position.at = to;
    engine.view.setBigInt64(result >>> 0, BigInt(to), true);
    return 0;
  }

  function control(fd, command) {
    expectOpen(fd);
    if (command === F_DUPFD) throw new Failure('ENOTSUP');
    return [F_GETFD, F_SETFD, F_GETFL, F_SETFL].includes(command) ? 0 : -ERRORS.EINVAL;
  }

  function windowSize(fd, varargs) {
    const stream = { 1: process.stdout, 2: process.stderr }[fd], at = engine.u32(varargs);
    if (!isatty(fd)) throw new Failure('ENOTTY');
    [stream?.rows ?? 0, stream?.columns ?? 0, 0, 0].forEach((value, i) => engine.view.setUint16(at + 2 * i, value, true));
    return 0;
  }

  function readLink(name, at, size) {
    const target = Buffer.from(fs.readlinkSync(name)).subarray(0, size);
    engine.bytes.set(target, at >>> 0);
    return target.length;
  }

  function workingDirectory(at, size) {
    const name = Buffer.from(`${process.cwd()}\0`);
    if (name.length > size) throw new Failure('ERANGE');
    engine.bytes.set(name, at >>> 0);
    return name.length;
  }

  function stat(name, at, follow = true) {
    return putStat(at, (follow ? fs.statSync : fs.lstatSync)(name, { bigint: true }));
  }

  function close(fd) {
    positions.delete(fd);
    fs.closeSync(fd);
  }

  const big = { bigint: true };
  // What gives a negative number of an error.
  const calls = {
    open: (name, flags, varargs) => open(text(name), flags, varargs ? engine.u32(varargs) : 0),
    openat: (dir, name, flags, varargs) => open(path(dir, name), flags, varargs ? engine.u32(varargs) : 0),
    stat64: (name, at) => stat(text(name), at),
    lstat64: (name, at) => stat(text(name), at, false),
    fstat64: (fd, at) => putStat(at, fs.fstatSync(fd, big)),
    fstatat64: (dir, name, at, flags) => (flags & AT_EMPTY_PATH && !text(name) ? putStat(at, fs.fstatSync(dir, big)) :
      stat(path(dir, name), at, !(flags & AT_SYMLINK_NOFOLLOW))),
    access: (name, mode) => fs.accessSync(text(name), mode),
    faccessat: (dir, name, mode) => fs.accessSync(path(dir, name), mode),
    unlink: name => fs.unlinkSync(text(name)),
    unlinkat: (dir, name, flags) => (flags & AT_REMOVEDIR ? fs.rmdirSync : fs.unlinkSync)(path(dir, name)),
    rmdir: name => fs.rmdirSync(text(name)),
    mkdir: (name, mode) => fs.mkdirSync(text(name), mode),
    mkdirat: (dir, name, mode) => fs.mkdirSync(path(dir, name), mode),
    rename: (from, to) => fs.renameSync(text(from), text(to)),
    renameat: (dir, from, other, to) => fs.renameSync(path(dir, from), path(other, to)),
    symlink: (target, name) => fs.symlinkSync(text(target), text(name)),
    readlink: (name, at, size) => readLink(text(name), at, size),
    readlinkat: (dir, name, at, size) => readLink(path(dir, name), at, size),
    fchmod: (fd, mode) => fs.fchmodSync(fd, mode),
    chmod: (name, mode) => fs.chmodSync(text(name), mode),
    getcwd: workingDirectory,
    fcntl64: control,
    ioctl: (fd, request, varargs) => (request === TIOCGWINSZ ? windowSize(fd, varargs) : -ERRORS.ENOTTY),
  };
  // What gives a positive one.
  const wasi = {
    fd_read: (fd, vectors, count, done) => transfer(bytes => move(fd, readSome(fd, bytes)), vectors, count, done),
    fd_pread: (fd, vectors, count, offset, done) =>
      transfer((bytes, total) => readSome(fd, bytes, Number(offset) + total), vectors, count, done),
    fd_write: (fd, vectors, count, done) => transfer(bytes => move(fd, writeSome(fd, bytes)), vectors, count, done),
    fd_close: close,
    fd_seek: seek,
    fd_fdstat_get: (fd, at) => {
      expectOpen(fd);
      engine.part(at, 24).fill(0);
      engine.bytes[at >>> 0] = isatty(fd) ? CHARACTER_DEVICE : REGULAR_FILE;
    },
  };
  const imports = {};
  const guard = (call, sign) => (...values) => {
    try {
      return call(...values) ?? 0;
    } catch (error) {
      return sign * errorNumber(error);
    }
  };
  for (const [name, call] of Object.entries(calls)) imports[`__syscall_${name}`] = guard(call, -1);
  for (const [name, call] of Object.entries(wasi)) imports[name] = guard(call, 1);
  return imports;
}

// ---- processes ----

function list(engine, at) {
  const found = [];
  for (let next = at >>> 0; engine.u32(next); next += 4) found.push(engine.text(engine.u32(next)));
  return found;
}

/** Runs a program to its end: see src/cli/process_node.c. */
function spawn(engine, argv, environment, streams, timeout, output, size) {
  const [file, ...args] = list(engine, argv);
  const env = Object.fromEntries(list(engine, environment).map(text => text.split(/=(.*)/s).slice(0, 2)));
  delete env[HOOK]; // it is for us
  const stdio = streams.map((fd, i) => (fd >= 0 ? fd : i));
  if (output) stdio[1] = 'pipe';
  const ignore = () => {}; // what a terminal sends goes to the program, which may want to report
  process.on('SIGINT', ignore);
  const { status, signal, stdout, error } = spawnSync(file, args, { env, stdio, timeout, killSignal: 'SIGKILL', maxBuffer: Infinity });
  process.off('SIGINT', ignore);
  if (error && status === null && !signal) return -errorNumber(error);
  if (output && stdout.length) {
    const at = engine.exports.malloc(stdout.length) >>> 0;
    if (!at) return -ERRORS.ENOMEM;
    engine.bytes.set(stdout, at);
    engine.putWord(output, at);
    engine.putWord(size, stdout.length);
  }
  if (error?.code === 'ETIMEDOUT') return constants.signals.SIGALRM;
  return signal ? constants.signals[signal] : status << 8;
}

function createProcesses(engine) {
  const hook = new URL('../register.mjs', import.meta.url).href; // for src/run/command.c
  const environment = Object.entries({ ...process.env, [HOOK]: hook }).map(([name, value]) => Buffer.from(`${name}=${value}\0`));
  return {
    process_spawn: (argv, env, input, out, err, ms, output, size) => spawn(engine, argv, env, [input, out, err], ms, output, size),
    process_raise: number => {
      process.kill(process.pid, number);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    },
    process_umask: mask => (isMainThread ? process.umask(mask) : process.umask()), // threads cannot change it
    environ_sizes_get: (count, size) => {
      engine.putWord(count, environment.length);
      engine.putWord(size, environment.reduce((sum, text) => sum + text.length, 0));
      return 0;
    },
    environ_get: (pointers, at) => {
      environment.forEach((text, i) => {
        engine.putWord(pointers + 4 * i, at);
        engine.bytes.set(text, at >>> 0);
        at += text.length;
      });
      return 0;
    },
  };
}

// ---- main ----

// The exit status; say(text): why the program has ended without one.
function run(engine, args, say) {
  const argv = new Scope(engine).texts(['whammc', ...args]);
  try {
    return engine.exports.js_main(args.length + 1, argv);
  } catch (error) {
    if (error instanceof Exit) return error.status;
    say(explainFailure(error).message);
    return 70;
  }
}

/** Runs a command; gives its exit status. */
export async function main(args) {
  const engine = new Engine(await init(), it => ({ ...createFiles(it), ...createProcesses(it) }));
  return run(engine, args, text => fs.writeSync(2, `${text}\n`));
}

/** The same at once, with the compiler's module: { status, stderr }. */
export function mainNow(module, args) {
  const said = [], engine = new Engine(module, it => ({ ...createFiles(it, said), ...createProcesses(it) }));
  const status = run(engine, args, text => said.push(Buffer.from(text)));
  return { status, stderr: Buffer.concat(said).toString() };
}
