// Loads OUT.views.js, which has what is needed only when somebody looks at a profile: for each OUT.js its own.
//
// Where files can be read at once (Node, pages, workers), a view loads it when it is asked for. In bundles, where its address is not
// known, and in pages whose policy forbids eval, only import() can load it, in advance.
import { addressOfScript, nodeModule, parts } from './parts.js';

/**
 * Adds the file of this script: { id of the program, name, as import() takes it, load() imports it, samples: whether it has
 * WasmProf.Profiler }.
 */
export function addFile(file) {
  (parts.files ??= []).push({ from: addressOfScript(), ...file });
}

// Those that have not been loaded.
const missing = () => (parts.files ?? []).filter(({ id }) => !parts.names?.[id]);

const failure = ({ name }, reason, advice) =>
  new Error(`whammc: ${name.slice(2)}, which has the profiles of WasmProf, cannot be loaded (${reason}): ${advice}`);
const BESIDE = 'it must be beside the script written with it';

// That the file which was loaded belongs to this build of the program.
function check(file) {
  if (!parts.names?.[file.id]) throw new Error('it is of another program, or another build of this one');
}

function addressOf({ name, from }) {
  const url = nodeModule('url');
  return new URL(name, url && !/^\w+:\/\//.test(from) ? url.pathToFileURL(from) : from);
}

function read(address) {
  const fs = nodeModule('fs');
  if (fs) return fs.readFileSync(address, 'utf8');
  const request = new XMLHttpRequest();
  request.open('GET', address, false);
  request.send();
  if (request.status >= 400) throw new Error(`HTTP status ${request.status}`);
  return request.responseText;
}

/** Loads the files at once. Returns null, or an Error that says why that is impossible. */
function now() {
  for (const file of missing()) {
    if (file.error) return file.error; // it is not tried again
    try {
      const address = addressOf(file);
      (0, eval)(`${read(address)}\n//# sourceURL=${address}`);
      check(file);
    } catch (error) {
      return file.error = failure(file, error.message, `${BESIDE}; in bundles, and where a policy forbids eval, \`await WasmProf.views()\` before`);
    }
  }
  return null;
}

/** The same as a promise, wherever there is import(). */
async function later() {
  await Promise.all(missing().map(async file => {
    try {
      await file.load();
      check(file);
    } catch (error) {
      throw failure(file, error.message, BESIDE);
    }
  }));
}

parts.loader ??= { now, later };
