// In Node: at the end, writes the profile to the file that the variable WASMPROF names, in which "%p" is replaced by the process
// id; as text, or as a report for `whammc report` if the name ends in .json. '-' is standard error.
//
// A process does not overwrite the file of a related process: it inserts its id before the extension; worker threads always insert
// theirs. The variable WASMPROF_SINCE has the time when the first of these processes started.
import { nodeModule, parts } from './parts.js';
import { beforeSignals } from './node/signals.js';

const saved = new WeakSet(); // profilers

const withNumber = (path, number) => path.replace(/(\.[^./]*)?$/, `.${number}$1`);

// Opens the file, or one with the process id if another process has created the file since the first one started.
function openNew(fs, path, since) {
  const other = withNumber(path, globalThis.process.pid), before = fs.lstatSync(path, { throwIfNoEntry: false });
  if (before && !before.isFile()) return fs.openSync(path, 'w'); // a device, a pipe, a link
  for (let tries = 0; tries < 10; tries++) {
    try {
      return fs.openSync(path, 'wx');
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if ((fs.lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since) break;
    takeAway(fs, path, `${other}~`, since);
  }
  return fs.openSync(other, 'w');
}

// Removes the file of an earlier run; another process may do the same at this moment, and write its own.
function takeAway(fs, path, aside, since) {
  try {
    fs.renameSync(path, aside);
    if (fs.statSync(aside).mtimeMs >= since) fs.linkSync(aside, path);
    fs.unlinkSync(aside);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

function writeAll(fs, fd, chunks) {
  for (const chunk of chunks)
    for (let at = 0; at < chunk.length;) at += fs.writeSync(fd, chunk, at);
}

// process.exit() waits for the threads of V8, which compile what has made the report. If one of them asks for a garbage collection
// then, nobody does it, and the process never ends (github.com/nodejs/node/issues/54918). After a collection they have space.
function collectGarbage() {
  try {
    nodeModule('v8').setFlagsFromString('--expose-gc');
    nodeModule('vm').runInNewContext('gc')();
  } catch { // not V8, whose modules are not there
  }
}

// What threads have counted that have ended without a report: as counters have it (wasmprof.js).
function otherThreads() {
  const found = parts.threads?.collect() ?? [], lost = found.filter(({ saved }) => !saved).length;
  if (lost) console.error(`whammc: the counts of ${lost} of ${found.length} instances in threads that were ended are lost`);
  return found.filter(({ saved }) => saved)
    .map(({ id, thread, saved }) => ({ id, module: null, report: saved.report, save: () => ({ ...saved, thread }) }));
}

/** Saves the results of a profiler when the process ends, if WASMPROF is set. */
function saveAtExit(profiler) {
  const { process } = globalThis, file = process?.env?.WASMPROF;
  if (!file || typeof process.on !== 'function' || saved.has(profiler)) return;
  saved.add(profiler);
  const fs = nodeModule('fs'), threads = nodeModule('worker_threads');
  if (!fs || !threads) return;
  if (!process.env.WASMPROF_SINCE) process.env.WASMPROF_SINCE = String(Date.now());
  const since = Number(process.env.WASMPROF_SINCE), named = file.replaceAll('%p', process.pid);
  const path = threads.isMainThread ? named : withNumber(named, threads.threadId);

  parts.threads?.begin?.(profiler.readerOf);

  function write() {
    const results = profiler.saveResults(otherThreads());
    if (results.modules.length === 0) return;
    try {
      const chunks = file.endsWith('.json') || !results.hasCalls ? results.reportChunks() : [Buffer.from(results.text())];
      const fd = file === '-' ? 2 : openNew(fs, path, since);
      writeAll(fs, fd, chunks);
      if (fd !== 2) fs.closeSync(fd);
    } catch (error) {
      console.error(`whammc: the profile cannot be written: ${error.message}`);
    }
    if (threads.isMainThread) collectGarbage();
  }
  const save = () => (parts.threads ? parts.threads.report(write) : write());
  process.on('exit', save);
  if (threads.isMainThread) beforeSignals(save);
}

// Tells apart the reports of several processes and threads.
const RUN = Math.random().toString(36).slice(2);

// A report without the empty line (\n or \r\n) before it.
function unled([first, ...others]) {
  return [first.slice({ 10: 1, 13: 2 }[first[0]] ?? 0), ...others];
}

// The reports of programs as parts (docs/reports.md): of each instance what it has reported, what of that was there before clear(), and
// what it has sent, which views know, as they know names. One part alone needs no line before it, unless that has names or a thread. All
// of it as chunks of bytes or text: it can be longer than a string.
function joinAll(programs, views) {
  const all = [], own = (parts.thread ?? nodeModule('worker_threads')?.threadId) || undefined;
  programs.forEach(one => one.saved.forEach((saved, instance) => {
    const { id: module, title: name, hash } = one, names = views?.tellNames(one, saved);
    for (const [report, less] of [[saved.report], [saved.before?.report, true], [views?.tellSent(one, saved)]])
      if (report) all.push([report, { whammc: 1, module, name, hash, run: RUN, thread: saved.thread ?? own, instance, less, names }]);
  }));
  const run = parts.threads?.tellComplete?.(programs) ?? '', plain = !all[1] && !all[0]?.[1].names && !all[0]?.[1].thread && !run;
  const chunks = all.flatMap(([report, head]) =>
    (plain ? unled(report) : [`${JSON.stringify(head)}\n`, ...unled(report), '{"whammc":"end"}\n']));
  return run ? [...chunks, run] : chunks;
}

parts.save ??= { saveAtExit, joinAll };
