// Runs many modules one after the other: reads their paths, one a line, and answers each with a line of JSON: what the module printed,
// the globals g0, g1 ... after the run, and how it ended if not by returning: "trap", "exit N" or another error; "not run" where it
// needs whammc's runtime.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

function run(path) {
    let text = '', memory, instance, ended;
    const env = new Proxy({}, { get: (_, name) => name.startsWith('v') ? () => {} : x => (x + 3) | 0 });
    const whammc = new Proxy({}, { get: () => () => 0 });
    const wasi = new Proxy({
        fd_write(fd, at, n, written) {
            const view = new DataView(memory().buffer);
            let total = 0;
            for (let i = 0; i < n; i++) {
                const [from, length] = [view.getUint32(at + 8 * i, true), view.getUint32(at + 8 * i + 4, true)];
                text += Buffer.from(memory().buffer, from, length).toString('latin1');
                total += length;
            }
            view.setUint32(written, total, true);
            return 0;
        },
        proc_exit(status) {
            ended = `exit ${status}`;
            throw new Error(ended);
        },
    }, { get: (target, name) => target[name] ?? (() => 0) });
    try {
        const module = new WebAssembly.Module(readFileSync(path));
        if (WebAssembly.Module.imports(module).some(i => i.module === 'whammc_runtime'))
            return { text, globals: [], ended: 'not run' };
        instance = new WebAssembly.Instance(module, { env, wasi_snapshot_preview1: wasi, whammc });
        memory = () => instance.exports.memory;
        instance.exports._start();
    } catch (error) {
        ended ??= error.message === 'unreachable' ? 'trap' : `${error.name}: ${error.message}`;
    }
    const globals = [];
    for (let i = 0; instance?.exports[`g${i}`]; i++)
        globals.push(String(instance.exports[`g${i}`].value));
    return { text, globals, ended };
}

for await (const line of createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(run(line)) + '\n');
