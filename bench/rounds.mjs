// Runs programs in turn and measures their times.

const WARM = 100, ROUND = 20; // milliseconds that a program runs before it counts, and in a round
const SLOW = 3; // what takes so many times as long as the first program takes part in each third round only

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

/** The parts of WASI that programs need, discarding output, and what runs an instance; the same in Node and in pages. */
export function startProgram(args) {
    let instance;
    const view = () => new DataView(instance.exports.memory.buffer);
    const texts = args.map(text => new TextEncoder().encode(`${text}\0`));
    class Exit extends Error {}
    const wasi = {
        args_sizes_get(count, size) {
            view().setUint32(count, texts.length, true);
            view().setUint32(size, texts.reduce((sum, text) => sum + text.length, 0), true);
            return 0;
        },
        args_get(list, to) {
            for (const text of texts) {
                view().setUint32(list, to, true);
                new Uint8Array(instance.exports.memory.buffer).set(text, to);
                list += 4;
                to += text.length;
            }
            return 0;
        },
        environ_sizes_get(count, size) {
            view().setUint32(count, 0, true);
            view().setUint32(size, 0, true);
            return 0;
        },
        fd_write(fd, vectors, count, written) {
            let all = 0;
            for (let i = 0; i < count; i++)
                all += view().getUint32(vectors + 8 * i + 4, true);
            view().setUint32(written, all, true);
            return 0;
        },
        clock_time_get(clock, precision, result) {
            view().setBigUint64(result, BigInt(Math.round(performance.now() * 1e6)), true);
            return 0;
        },
        proc_exit() {
            throw new Exit();
        },
    };
    const others = { get: (object, name) => object[name] ?? (name === 'environ_get' ? () => 0 : () => 8) }; // no such file
    function run(started) {
        instance = started;
        try {
            instance.exports._start();
        } catch (error) {
            if (!(error instanceof Exit))
                throw error;
        }
    }
    return { imports: { wasi_snapshot_preview1: new Proxy(wasi, others) }, run };
}

/** The module with an empty section that no other copy has: engines keep the code of modules that they know. */
export function unknown(bytes) {
    const name = crypto.getRandomValues(new Uint8Array(8)), all = new Uint8Array(bytes.length + 11);
    all.set(bytes);
    all.set([0, 9, 8, ...name.map(byte => byte & 0x7f)], bytes.length);
    return all;
}

/**
 * Gives for each program { load, first, again, report }, lists of milliseconds, one each round: compiling and instantiating, by the
 * clock; the first run after that; a run of what the engine has optimised; the first report. Runs are without their reports.
 * The clock that is read is `now`.
 */
export async function measure(programs, args, rounds, now) {
    const started = module => {
        const { imports, run } = startProgram(['program', ...args]);
        return { instance: new WebAssembly.Instance(module, imports), run };
    };
    const spentBy = what => {
        const before = now();
        what();
        return now() - before;
    };
    const flushed = instance => spentBy(instance.exports['whammc:flush'] ?? (() => {}));
    function newCopy(bytes) {
        const copy = unknown(bytes), clock = performance.now();
        return { ...started(new WebAssembly.Module(copy)), load: performance.now() - clock };
    }
    // Reports in new instances, whose memory is as cold as in a run.
    function again(module, least) {
        let runs = 0, all = 0, reports = 0;
        for (; all < least; runs++) {
            const { instance, run } = started(module);
            all += spentBy(() => run(instance));
            reports += flushed(started(module).instance);
        }
        return (all - reports) / runs;
    }
    const modules = [], usual = [], results = programs.map(() => ({ load: [], first: [], again: [], report: [] }));
    for (const bytes of programs) {
        const module = new WebAssembly.Module(unknown(bytes));
        modules.push(module);
        again(module, WARM);
        await sleep(WARM / 2); // other threads optimise
        usual.push(again(module, WARM / 2));
    }
    for (let round = 0; round < rounds; round++) {
        for (const [i, bytes] of programs.entries()) {
            if (round % 3 && usual[i] > SLOW * usual[0])
                continue;
            const report = flushed(newCopy(bytes).instance), { instance, run, load } = newCopy(bytes);
            results[i].load.push(load);
            results[i].report.push(report);
            results[i].first.push(spentBy(() => run(instance)) - report);
            await sleep(0);
            results[i].again.push(again(modules[i], ROUND));
        }
    }
    return results;
}
