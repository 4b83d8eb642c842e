// The compiler in a worker; it keeps the program that was opened last.
import { bundledScripts, check, compile, init, languageServer, readReport, version } from 'whammc';
import { shownRows } from './rows.mjs';
import { serve } from './rpc.mjs';

const NAME = 'script.whamm';
const MOST_FUNCTIONS = 100000, MOST_SITES = 200000, MOST_ROWS = 20000;
// Formats that are bytes, and those that need a module to be readable.
let program = null; // { name, bytes, functions }
let libraries = {}; // of scripts that use some: name to bytes
let report = null;

const source = text => ({ name: NAME, text });

/** The libraries that a script names and that are not part of the compiler. */
const librariesOf = text => Object.fromEntries(Object.entries(libraries).filter(([name]) => new RegExp(`\\buse\\s+${name}\\b`).test(text)));
const optionsOf = text => ({ libraries: librariesOf(text) });

// ---- the editor's questions ----

const URI = `file:///${NAME}`;
let server = null, answers = null, asked = 0, workspace = '';

const file = path => (path === '/whammc.json' ? workspace : libraries[path.slice(1).replace(/\.wasm$/, '')]);

async function startServer() {
  server = await languageServer({ send: message => answers.push(message), read: file });
  tell('initialize', { rootUri: 'file:///', capabilities: {} }, 0);
}

/** Sends the server a message; a request has a number. */
function tell(method, params, id) {
  answers = [];
  server.receive({ jsonrpc: '2.0', id, method, params });
  return answers.find(answer => answer.id === id)?.result ?? null;
}

/** Answers a request of the Language Server Protocol about a text, at a position. */
async function ask(text, method, position) {
  if (!server || server.exited) await startServer();
  const used = JSON.stringify({ libraries: Object.keys(librariesOf(text)).map(name => `${name}=${name}.wasm`) });
  if (used !== workspace) {
    workspace = used;
    tell('workspace/didChangeWatchedFiles', { changes: [] });
  }
  tell('textDocument/didOpen', { textDocument: { uri: URI, languageId: 'whamm', version: ++asked, text } });
  return tell(`textDocument/${method}`, { textDocument: { uri: URI }, position }, asked);
}

// ---- calls of the page ----

serve({
  async start(module, given) {
    libraries = given;
    return init(module);
  },

  version,
  bundledScripts,
  check: text => check(source(text), optionsOf(text)),
  ask,

  /** Opens a program; gives its functions. Fails if it is no module. */
  async open(name, bytes) {
    program = null;
    const functions = [], entries = await compile('wasm:func:entry { report unshared var entered: bool; entered = true; }');
    for (const site of entries.list(bytes, { name }).sites) {
      if (functions.length === MOST_FUNCTIONS) break;
      functions.push({ fid: site.fid, name: site.function });
    }
    program = { name, bytes, functions };
    return { functions };
  },

  /** The sites of a script: by function, how many; in all, those of `fid`. */
  async list(text, fid) {
    const compiler = await compile(source(text), optionsOf(text));
    const { sites, probes } = compiler.list(program.bytes, { name: program.name }), perFunction = {}, here = [];
    for (const site of sites) {
      perFunction[site.fid] = (perFunction[site.fid] ?? 0) + 1;
      if (site.fid === fid && here.length < MOST_SITES) here.push({ pc: site.pc, event: site.event, probe: site.probe });
    }
    return { count: sites.length, perFunction, here, probes: probes.map(({ rule, line, sites: count }) => ({ rule, line, sites: count })) };
  },

  /** The instructions of a function, with the lines of source that they are of. */
  async disassemble(fid) {
    const each = await compile(`wasm:opcode:*:before / fid == ${Number(fid)} / { report unshared var n: bool; n = true; }`);
    return each.list(program.bytes, { name: program.name }).sites.slice(0, MOST_SITES)
      .map(({ pc, instruction, frames: [frame] }) => ({ pc, instruction, file: frame?.file ?? '', line: frame?.line ?? 0 }));
  },

  async instrument(text, live) {
    const compiler = await compile(source(text), optionsOf(text));
    const { module, report: made, warnings } = compiler.instrument(program.bytes, { name: program.name, host: 'js', polls: live });
    return { module, warnings, sites: made.probes.reduce((sum, probe) => sum + Number(probe.sites), 0) };
  },

  /** Reads a report, and gives what of it is to be shown. */
  async read(text) {
    report?.close();
    report = await readReport(text, { module: program.bytes });
    const { variables } = report;
    return { variables, ...shownRows(report.rows, variables, MOST_ROWS), printed: report.rest };
  },

  /** The report in a format of `whammc report`. */
  write: (format, options) => report.write(format, options),
});
