// Loaded into Node before a program (node --import): supplies the imports that instrumentation adds to the program's WebAssembly
// module, and at the end writes measurements to the file BENCH_RESULT, as JSON: ms, milliseconds of CPU time of the main thread
// from the first module on (other threads compile, or are a clock); calls, if callbacks counted them; reads, how often the clock
// was read, if BENCH_CLOCK is count. BENCH_CLOCK: host, thread (that of `whammc run --clock=thread`), count. BENCH_MODULE: the
// instrumented module, if it is not the program's own; BENCH_RUNTIME: whammc-runtime.wasm, if it imports that.
import { readFileSync, writeFileSync } from 'node:fs';

const { BENCH_RESULT: result, BENCH_MODULE: replacement, BENCH_RUNTIME: runtime, BENCH_CLOCK: clock } = process.env;
const SMALL = 100_000; // bytes; programs may load helpers of their own
const { Module, Instance } = WebAssembly;
const outcome = {};

// --- What calls cost that go to JavaScript: the analysis, as one would write it with Wasabi ------------------

function makeAnalysis() {
    const callees = new Int32Array(1 << 20), starts = new Float64Array(1 << 20);
    const arcsFrom = []; // caller -> Map of callee -> { calls, ms }
    let depth = 0;
    return {
        arcsFrom,
        call_pre(location, callee) {
            depth++;
            callees[depth] = callee;
            starts[depth] = performance.now();
        },
        call_post(location) {
            const spent = performance.now() - starts[depth];
            const callee = callees[depth--];
            const arcs = arcsFrom[location.func] ??= new Map();
            const arc = arcs.get(callee);
            if (arc) {
                arc.calls++;
                arc.ms += spent;
            } else {
                arcs.set(callee, { calls: 1, ms: spent });
            }
        },
    };
}

const analysis = makeAnalysis();
const callbacks = {
    call_pre: (func, instr, callee) => analysis.call_pre({ func, instr }, callee),
    call_post: (func, instr) => analysis.call_post({ func, instr }),
};

// --- Imports ---------------------------------------------------------------------------------------------

let reads = 0;

// The clocks of the runner for Node, which runs what it is given, and imports for that what a data URL cannot.
async function runnersClock(wanted) {
    const text = readFileSync(new URL('../stdlib/host/run-node.mjs', import.meta.url), 'utf8');
    const library = text.replace(/^import .* from '\.\/.*$/m, '').replace(/^process\.exitCode = .*$/m, 'export { startClock };');
    const { startClock } = await import(`data:text/javascript,${encodeURIComponent(library)}`);
    return startClock(wanted);
}

function counting({ now, now_ns }) {
    return { now: () => (reads++, now()), now_ns: () => (reads++, now_ns()) };
}

const time = clock === 'count' ? counting(await runnersClock('host')) : await runnersClock(clock ?? 'host');


// An instance of the runtime; nobody reads the report that it writes.
function loadRuntime() {
    let memory;
    const module = new Module(readFileSync(runtime)), wasi = {};
    for (const { name } of Module.imports(module))
        wasi[name] = () => 8; // no such file
    wasi.fd_write = (fd, vectors, count, written) => {
        const view = new DataView(memory.buffer);
        let all = 0;
        for (let i = 0; i < count; i++)
            all += view.getUint32(vectors + 8 * i + 4, true);
        view.setUint32(written, all, true);
        return 0;
    };
    const { exports } = new Instance(module, { wasi_snapshot_preview1: wasi });
    memory = exports.memory;
    exports._initialize?.();
    return { ...exports, now_ns: time.now_ns };
}

function importsOf(module, imports) {
    const all = { ...imports };
    for (const { module: from, name } of Module.imports(module)) {
        if (from === 'whammc')
            all.whammc = { write() {}, now: time.now };
        else if (from === 'callbacks')
            all.callbacks = callbacks;
        else if (from === 'whammc_runtime')
            all.whammc_runtime ??= loadRuntime();
    }
    return all;
}

// --- The program's own way of loading ----------------------------------------------------------------------

const cpu = () => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
let start = null;

function compiled(bytes) {
    start ??= cpu();
    return new Module(replacement && bytes.byteLength >= SMALL ? readFileSync(replacement) : bytes);
}

function instantiated(module, imports) {
    return new Instance(module, importsOf(module, imports));
}

WebAssembly.Module = new Proxy(Module, { construct: (_, [bytes]) => compiled(bytes) });
WebAssembly.Instance = new Proxy(Instance, { construct: (_, [module, imports]) => instantiated(module, imports) });
WebAssembly.compile = async bytes => compiled(bytes);
WebAssembly.instantiate = async (source, imports) => {
    if (source instanceof Module)
        return instantiated(source, imports);
    const module = compiled(source);
    return { module, instance: instantiated(module, imports) };
};
WebAssembly.instantiateStreaming = undefined;
WebAssembly.compileStreaming = undefined;

process.on('exit', () => {
    outcome.ms = cpu() - start;
    if (clock === 'count')
        outcome.reads = reads;
    outcome.calls = analysis.arcsFrom.flatMap(arcs => [...arcs?.values() ?? []]).reduce((sum, arc) => sum + arc.calls, 0);
    time.stop?.();
    writeFileSync(result, JSON.stringify(outcome));
});
