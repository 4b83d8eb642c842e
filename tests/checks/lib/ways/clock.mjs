// Runs clock.wasm, instrumented with --host=js, with a clock that goes on only where the program says so and, if STEP is given,
// by so many ms each time that it is read, after FALL rounds by a quarter of that. Calls its main function twice, or ROUNDS times. Prints
// how often the clock was read before the trap in the end.
// usage: node clock.mjs WHAMMC.JS MODULE.wasm REPORT-FILE [STEP [ROUNDS [FALL]]]
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [library, file, report, step = 0, rounds = 2, fall = rounds] = process.argv.slice(2);
const { createHost } = await import(pathToFileURL(library));
let time = 1000, reads = 0, round = 0, exports;
const now = () => { reads++; return time += round < fall ? Number(step) : step / 4; };
const host = createHost({ onReport: text => writeFileSync(report, text), clock: () => now });
const env = {
    work(n) { time += n; },
    callback(n) {
        time += 1;
        exports.called(n);
        time += 2;
    },
    invoke(entry) {
        try {
            exports.table.get(entry)();
        } catch (error) {
            if (error.message !== 'failed')
                throw error;
        }
    },
    fail() { throw new Error('failed'); },
};
({ exports } = host.attach(new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), { ...host.imports, env })));
for (; round < rounds; round++) {
    exports.go();
    time += 1000; // nobody's time
}
console.log(reads);
try {
    host.run(() => exports.trapping());
} catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError))
        throw error;
}
