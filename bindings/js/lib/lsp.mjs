// lib/lsp.mjs - the language server: the functions of include/whammc/lsp.h.
import { expectOptions } from './api.mjs';
import { Scope, createEngine, explainFailure, giveBytes, init } from './wasm.mjs';

const RUNNING = 0;

/** The path that `path` means in the folder of a file. */
function besides(from, path) {
  return path.startsWith('/') ? path : from.slice(0, from.lastIndexOf('/') + 1) + path.replace(/^(\.\/)+/, '');
}

/** Serves one client; messages are JSON texts or objects. */
class LanguageServer {
  #engine = createEngine();
  #kept = new Scope(this.#engine); // as long as the server
  #server;
  #scope = null; // during a call

  constructor({ send, read = () => null, find }) {
    const { exports } = this.#engine, scope = this.#kept;
    const ctx = scope.callback((_, message) => send(JSON.parse(message)));
    scope.callback((path, size) => giveBytes(this.#scope, read(path), path, size));
    scope.callback((from, path, file) => this.#find(find ?? ((from, path) => ({ name: besides(from, path), text: read(besides(from, path)) })), from, path, file));
    this.#server = exports.whammc_server_new(scope.structure('whammc_server_host',
      { send: exports.js_on_send(), read: exports.js_on_read(), find: exports.js_on_find(), ctx }));
  }

  #find(find, from, path, file) {
    const found = find(from, path);
    if (found?.text === undefined || found.text === null) return 0;
    const size = this.#scope.zeros(4), text = giveBytes(this.#scope, found.text, found.name, size);
    this.#engine.write('whammc_file', file, { name: this.#scope.text(found.name), text, len: this.#engine.u32(size) });
    return 1;
  }

  #use(work) {
    if (!this.#server) throw new Error('whammc: the language server is closed');
    this.#scope = new Scope(this.#engine);
    try {
      work(this.#engine.exports, this.#scope);
    } catch (error) {
      this.#server = 0; // its memory may be anything
      throw explainFailure(error);
    }
    this.#scope.free();
  }

  /** Takes a message of the client; the answer is sent before this returns. */
  receive(message) {
    const bytes = new TextEncoder().encode(typeof message === 'string' ? message : JSON.stringify(message));
    this.#use((exports, scope) => exports.whammc_server_receive(this.#server, scope.bytes(bytes), bytes.length));
  }

  /** No message is waiting: checks the scripts that have changed, and sends what is wrong with them. */
  idle() {
    this.#use(exports => exports.whammc_server_idle(this.#server));
  }

  /** Whether the client has told it to exit. */
  get exited() {
    return !this.#server || this.#engine.exports.whammc_server_exits(this.#server) !== RUNNING;
  }

  close() {
    if (this.#server) this.#engine.exports.whammc_server_free(this.#server);
    this.#server = 0;
    this.#kept.free();
  }
}

export async function languageServer(host) {
  expectOptions(host, ['send', 'read', 'find']);
  if (typeof host.send !== 'function') throw new TypeError('whammc: languageServer() needs a function send');
  await init();
  return new LanguageServer(host);
}
