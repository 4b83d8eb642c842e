// Runs a component in Node that jco has translated:
//
//   node run-component.mjs [--dir=HOST::GUEST]... [--env=NAME=VALUE]... COMPONENT.js PROGRAM-NAME [ARGUMENT...]
//
// It is in a directory where the package @bytecodealliance/preview2-shim is found, jco's implementation of WASI, which the translated
// component imports, too. The component gets the arguments, the environment, the standard streams and the directories of --dir, and
// its wasi:cli/run is called. Exit status: the program's; 134 if it trapped (after the engine's message on standard error); 126 if it
// could not be loaded.
import { writeSync } from 'node:fs';
import { _setArgs, _setEnv } from '@bytecodealliance/preview2-shim/cli';
import { _setPreopens } from '@bytecodealliance/preview2-shim/filesystem';

const TRAPPED = 134, NOT_LOADED = 126;

function say(text) {
  writeSync(2, `${text}\n`);
}

// The engine's message and the program's own frames.
function describe(error) {
  const frames = String(error?.stack ?? '').split('\n').filter(line => line.includes('wasm://'));
  return [`${error?.name ?? 'error'}: ${error?.message ?? error}`, ...frames.slice(0, 20)].join('\n');
}

// Takes the options off the front of the arguments.
function takeOptions(words) {
  const directories = {}, env = {};
  while (words[0]?.startsWith('--')) {
    const [, name, value] = words.shift().match(/^--([^=]*)=?(.*)/s);
    if (name === 'dir') {
      const [, host, guest] = value.match(/^(.*?)::(.*)/s) ?? [null, value, value];
      directories[guest] = host;
    } else if (name === 'env') {
      const [, variable, content] = value.match(/^([^=]*)=(.*)/s);
      env[variable] = content;
    }
  }
  return { directories, env };
}

// The interface wasi:cli/run of a component, of any version; NULL, which was said, if there is none.
async function load(file, name) {
  try {
    const component = await import(file);
    if (typeof component.run?.run === 'function') return component.run;
    say(`${name}: the component exports no wasi:cli/run`);
  } catch (error) {
    say(`${name}: ${describe(error)}`);
  }
  return null;
}

async function main(words) {
  const { directories, env } = takeOptions(words);
  const [file, ...args] = words;
  _setArgs(args);
  _setEnv({ ...process.env, ...env });
  _setPreopens(directories);
  const program = await load(file, args[0]);
  if (!program) return NOT_LOADED;
  try {
    await program.run();
    return 0;
  } catch (error) {
    if (error instanceof Error && 'payload' in error) return 1; // the program's result is an error
    say(describe(error));
    return TRAPPED;
  }
}

const status = await main(process.argv.slice(2));
setImmediate(() => process.exit(status)); // the shim's threads do not keep it
