// Runs invoke.wasm, instrumented with --host=js or as it is; prints what its functions give.
// usage: node invoke.mjs WHAMMC.JS MODULE.wasm [REPORT-FILE]
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [library, file, report] = process.argv.slice(2);
const { createHost } = await import(pathToFileURL(library));
const host = createHost({ onReport: text => writeFileSync(report, text) });
let table;
const env = {
    invoke(entry, n) {
        try {
            table.get(entry)(n);
            return 0;
        } catch (error) {
            if (error.message !== 'failed')
                throw error;
            return 1;
        }
    },
    fail() { throw new Error('failed'); },
};
const { exports } = host.attach(new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)), { ...host.imports, env }));
table = exports.table;
console.log(`go ${exports.go()}`);
try {
    exports.uncaught(2);
} catch (error) {
    console.log(`uncaught: ${error.message}`);
}
console.log(`go ${exports.go()}`);
host.flush();
