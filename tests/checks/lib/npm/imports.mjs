// Whether the module imports only what lib/wasm.mjs and lib/node.mjs have: node imports.mjs PACKAGE.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
const code = ['wasm', 'node'].map(name => readFileSync(join(folder, 'lib', `${name}.mjs`), 'utf8')).join('');
// There are no threads to count processors for, and no times to print; nothing duplicates descriptors, or waits for input
// (lib/lsp-node.mjs does), or reads folders, which only `whammc test` does, and that needs the native program.
const absent = ['sched_getaffinity', '__sched_cpucount', 'strftime_l', '__syscall_dup3', '__syscall_pipe', '__syscall_poll', '__call_sighandler',
  '__syscall_getdents64'];
const missing = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(join(folder, 'whammc.wasm'))))
  .map(({ name }) => name)
  .filter(name => !absent.includes(name) && !new RegExp(`\\b${name.replace(/^__syscall_/, '')}\\b\\s*[:,]`).test(code));
console.log(missing.join('\n'));
process.exitCode = missing.length ? 1 : 0;
