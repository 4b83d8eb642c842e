// Loaded into Node before a program that is instrumented with --host=none: in the end, the report that is in its memory goes into
// the file MATRIX_REPORT. Where there are several instances, the last that has a report counts.
const { writeFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const { MATRIX_REPORT: file } = process.env; // some programs take the environment away
const { Instance, instantiate } = WebAssembly;
const instances = [];
const kept = instance => (instances.push(instance), instance);

WebAssembly.Instance = new Proxy(Instance, { construct: (target, words) => kept(new target(...words)) });
WebAssembly.instantiate = async (...words) => {
    const result = await instantiate(...words);
    kept(result.instance ?? result);
    return result;
};
process.on('exit', () => {
    for (const { exports } of instances.filter(({ exports }) => isMainThread && exports['whammc:flush'])) {
        exports['whammc:flush']();
        const memory = exports['whammc:memory'] ?? exports.memory;
        writeFileSync(file, Buffer.from(memory.buffer, exports['whammc:report_ptr'](), exports['whammc:report_len']()));
    }
});
