// Runs modules that tests/checks/breadth makes and tells what they did.
//
// usage: node watch.mjs < JOBS       each line: {"original": FILE, "output": FILE or null, "values": [...], "get": [...]}
//
// Answers each line with {"before": outcome, "after": outcome, "values": {name: value}} or {"invalid": message,
// "original": whether the original is invalid too}. An outcome is the result of f as text, "trap" or "exception".
import { readFileSync } from 'node:fs';
import { createTraps } from '../../../../stdlib/host/traps.js';

const text = value => Object.is(value, -0) ? '-0' : String(value);

function start(file) {
    const module = new WebAssembly.Module(readFileSync(file));
    const instance = new WebAssembly.Instance(module, {});
    return { exports: instance.exports, traps: createTraps(instance, module, text => console.error(text)) };
}

function outcome({ exports, traps }, values) {
    try {
        const result = exports.f(...values);
        return result === undefined ? '' : text(result);
    } catch (error) {
        traps.correct(error);
        return error instanceof WebAssembly.RuntimeError ? 'trap' : 'exception';
    }
}

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
    const job = JSON.parse(line);
    const values = job.values.map(v => v.endsWith('n') ? BigInt(v.slice(0, -1)) : Number(v));
    const answer = {};
    try {
        answer.original = true;
        const original = start(job.original);
        answer.original = false;
        answer.before = outcome(original, values);
        if (job.output) {
            const output = start(job.output);
            answer.after = outcome(output, values);
            answer.values = {};
            for (const name of job.get)
                answer.values[name] = text(output.exports[`get_${name}`]());
        }
    } catch (error) {
        answer.invalid = String(error.message ?? error);
    }
    console.log(JSON.stringify(answer));
}
