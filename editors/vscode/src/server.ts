// The language server in a worker: the compiler as WebAssembly. The first message is whammc.wasm; the others are those of the protocol.
//
// The server reads files at once, but the editor's file system answers later. So a file that is not here yet is none at first;
// when it has come, the server is told that files have changed.
import { init, languageServer, type LanguageServer } from 'whammc';

interface Message {
  jsonrpc: '2.0';
  id?: number | string;
  method?: string;
  params?: { textDocument?: { uri: string; version: number } };
  result?: Uint8Array | null;
}

const FILE = 'file ';
const files = new Map<string, Uint8Array | null>(); // null: it is not there, or not yet
const open = new Map<string, number>(); // the versions of documents
const early: string[] = []; // files to be asked for when the client takes requests
let server: LanguageServer | undefined, initialized = false, idle: ReturnType<typeof setTimeout> | undefined, refreshes = 0;

const send = (message: object) => self.postMessage({ jsonrpc: '2.0', ...message });

const ask = (path: string) => send({ id: FILE + path, method: 'whammc/file', params: { path } });

function read(path: string): Uint8Array | null {
  if (!files.has(path)) {
    files.set(path, null);
    if (initialized) ask(path);
    else early.push(path);
  }
  return files.get(path)!;
}

/** Files are other ones now: programs are read again, and documents checked again. */
function renew(): void {
  server!.receive({ jsonrpc: '2.0', method: 'workspace/didChangeWatchedFiles', params: { changes: [] } });
  const start = { line: 0, character: 0 }, contentChanges = [{ range: { start, end: start }, text: '' }];
  for (const [uri, version] of open)
    server!.receive({ jsonrpc: '2.0', method: 'textDocument/didChange', params: { textDocument: { uri, version }, contentChanges } });
  for (const what of ['inlayHint', 'codeLens']) send({ id: `refresh ${++refreshes}`, method: `workspace/${what}/refresh` });
}

function receive(message: Message): void {
  const { id, method, params, result } = message, document = params?.textDocument;
  if (!method && typeof id === 'string') { // an answer
    if (!id.startsWith(FILE) || !result) return;
    files.set(id.slice(FILE.length), result);
    renew();
  } else {
    if (method === 'initialized') {
      initialized = true;
      early.splice(0).forEach(ask);
    }
    if (method === 'textDocument/didOpen' || method === 'textDocument/didChange') open.set(document!.uri, document!.version);
    if (method === 'textDocument/didClose') open.delete(document!.uri);
    if (method === 'workspace/didChangeWatchedFiles') {
      files.clear();
      renew();
    } else {
      server!.receive(message);
    }
  }
  clearTimeout(idle);
  idle = setTimeout(() => server!.idle());
}

const waiting: Message[] = [];
self.onmessage = ({ data }: MessageEvent<Uint8Array>) => {
  self.onmessage = (event: MessageEvent<Message>) => (server ? receive(event.data) : waiting.push(event.data));
  void init(data).then(() => languageServer({ send, read })).then(made => {
    server = made;
    waiting.forEach(receive);
  });
};
