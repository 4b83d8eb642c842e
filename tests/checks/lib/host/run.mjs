// Runs a module in Node.
//
// usage: node run.mjs MODULE.wasm [ARGUMENT...]     run it
//        node run.mjs --validate MODULE.wasm        only say whether Node accepts it (exit status 0 or 1)
//        node run.mjs --serve OUTPUT ERRORS         do so for each line of standard input, until it ends
//
// Such a line is JSON: the words as above, the directory, and the file that is standard input. What the module prints goes to the
// ends of the two files; the answer, a line on standard output, is the exit status. See tests/checks/lib/servers.py.
//
// A module that exports _start is run as a WASI command. For any other, each ARGUMENT is a call such as
// "add(1,2)"; "2n" is an i64. The results are printed, or "trapped". Afterwards whammc:flush is called if it is
// exported. Traps put counts right, as all hosts do it. The
// import env.again(i32) calls the export of that name.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { WASI } from 'node:wasi';
import { createTraps } from '../../../../stdlib/host/traps.js';

const streams = { stdin: 0, stdout: 1, stderr: 2 };
const write = (stream, text) => writeSync(stream, text + '\n');
const print = text => write(streams.stdout, text);

function call({ exports }, traps, text) {
    const [, name, words] = /^(.*)\((.*)\)$/s.exec(text);
    const numbers = words ? words.split(',') : [];
    const value = word => word.endsWith('n') ? BigInt(word.slice(0, -1)) : Number(word);
    let result;
    try {
        try {
            result = exports[name](...numbers.map(value));
        } catch (error) {
            if (!(error instanceof TypeError))
                throw error;
            result = exports[name](...numbers.map(BigInt)); // all parameters are i64
        }
    } catch (error) {
        if (![WebAssembly.RuntimeError, WebAssembly.Exception, RangeError].some(kind => error instanceof kind))
            throw error;
        traps.correct(error);
        print(`${name} trapped`);
        return;
    }
    const results = result === undefined ? [] : Array.isArray(result) ? result : [result];
    print([name, '=', ...results].join(' '));
}

function run(path, words) {
    const module = new WebAssembly.Module(readFileSync(path));
    const isCommand = WebAssembly.Module.exports(module).some(e => e.name === '_start');
    const wasi = new WASI({ version: 'preview1', args: [path, ...(isCommand ? words : [])], env: {}, preopens: { '.': '.' }, ...streams });
    const imports = wasi.getImportObject();
    const env = {
        again: value => instance.exports.again(value),
        log: (...values) => print(`log ${values.join(' ')}`),
        abort: () => { throw new WebAssembly.RuntimeError('aborted'); }, // AssemblyScript's
    };
    const instance = new WebAssembly.Instance(module, { ...imports, env });
    const traps = createTraps(instance, module, text => write(streams.stderr, text));
    let status = 0;
    if (isCommand) {
        try {
            return wasi.start(instance);
        } catch (error) {
            write(streams.stderr, error.message);
            traps.correct(error);
            status = 134;
        }
    } else if (instance.exports.memory) {
        // A reactor: only WASI calls need this, and WASI wants an instance without _start.
        wasi.initialize({ exports: { memory: instance.exports.memory } });
    }
    if (!isCommand)
        words.forEach(text => call(instance, traps, text));
    instance.exports['whammc:flush']?.();
    return status;
}

function validate(path) {
    try {
        new WebAssembly.Module(readFileSync(path));
    } catch (error) {
        print(error.message);
        return 1;
    }
    return 0;
}

const perform = ([first, ...rest]) => first === '--validate' ? validate(rest[0]) : run(first, rest);

async function serve(output, errors) {
    streams.stdout = openSync(output, 'a');
    streams.stderr = openSync(errors, 'a');
    for await (const line of createInterface({ input: process.stdin })) {
        const { words, directory, input } = JSON.parse(line);
        let status = 1;
        streams.stdin = openSync(input, 'r');
        process.chdir(directory);
        try {
            status = perform(words);
        } catch (error) {
            write(streams.stderr, error.stack);
        }
        closeSync(streams.stdin);
        writeSync(1, `${status}\n`);
    }
}

const words = process.argv.slice(2);
if (words[0] === '--serve')
    await serve(words[1], words[2]);
else
    process.exitCode = perform(words);
