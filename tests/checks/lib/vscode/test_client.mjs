// The language server, as the library that VS Code's extensions use speaks with it.
//
// usage: node test_client.mjs WHAMMC FOLDER PACKAGES-FOLDER
//
// FOLDER has counts.whamm, app.wasm and whammc.json.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { end, result } from '../tap.mjs';

const [whammc, folder, modules] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), 'x.js'));
const p = require('vscode-languageserver-protocol/node');

const child = spawn(whammc, ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
const connection = p.createProtocolConnection(new p.StreamMessageReader(child.stdout), new p.StreamMessageWriter(child.stdin));
const diagnostics = [], refreshes = [];
let ended;
const ran = new Promise(resolve => { ended = resolve; });
connection.onNotification(p.PublishDiagnosticsNotification.type, message => diagnostics.push(message));
connection.onNotification(p.ShowMessageNotification.type, ({ message }) => ended(message));
connection.onRequest(p.InlayHintRefreshRequest.type, () => { refreshes.push('hints'); });
connection.onRequest(p.CodeLensRefreshRequest.type, () => { refreshes.push('lenses'); });
connection.listen();

const root = pathToFileURL(folder).href, uri = `${root}/counts.whamm`, text = fs.readFileSync(path.join(folder, 'counts.whamm'), 'utf8');
const started = await connection.sendRequest(p.InitializeRequest.type, {
  processId: process.pid, rootUri: root, workspaceFolders: [{ uri: root, name: 'x' }], initializationOptions: { profile: true },
  capabilities: {
    general: { positionEncodings: ['utf-16'] },
    workspace: { inlayHint: { refreshSupport: true }, codeLens: { refreshSupport: true } },
    textDocument: { hover: { contentFormat: ['markdown', 'plaintext'] }, completion: { completionItem: { snippetSupport: true } }, rename: { prepareSupport: true } },
  },
});
await connection.sendNotification(p.InitializedNotification.type, {});
result(started.capabilities.hoverProvider && started.capabilities.inlayHintProvider && started.capabilities.positionEncoding === 'utf-16', 'capabilities', started);
await connection.sendNotification(p.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: 'whamm', version: 1, text } });

/** The position of a text, and of what is so many characters after. */
function at(what, after = 0) {
  const before = text.slice(0, text.indexOf(what) + after).split('\n');
  return { line: before.length - 1, character: before.at(-1).length };
}
const about = (type, position, more) => connection.sendRequest(type, { textDocument: { uri }, position, ...more });

const hover = await about(p.HoverRequest.type, at('calls++'));
result(p.MarkupContent.is(hover?.contents) && hover.contents.value.includes('report var calls: u64'), 'hover', hover);
const completion = await about(p.CompletionRequest.type, at('calls++'));
const items = Array.isArray(completion) ? completion : completion.items;
result(items.some(({ label }) => label === 'calls') && items.some(({ label }) => label === 'target_fn_name'), 'completion', items.slice(0, 5));
const prepared = await about(p.PrepareRenameRequest.type, at('calls++'));
result(prepared !== null, 'rename is offered', prepared);
const edit = await about(p.RenameRequest.type, at('calls++'), { newName: 'sum' });
result(p.WorkspaceEdit.is(edit) && edit.changes[uri].length === 2, 'rename', edit);
const refused = await about(p.RenameRequest.type, at('calls++'), { newName: 'no name' }).catch(() => null);
result(refused === null, 'a new name that is none changes nothing', refused);
const symbols = await connection.sendRequest(p.DocumentSymbolRequest.type, { textDocument: { uri } });
result(symbols.every(each => p.DocumentSymbol.is(each)) && symbols.length === 3, 'an outline', symbols);
const whole = { start: { line: 0, character: 0 }, end: { line: 99, character: 0 } };
const hints = async () => (await connection.sendRequest(p.InlayHintRequest.type, { textDocument: { uri }, range: whole })).map(hint => (p.InlayHint.is(hint) ? hint.label : 'no hint'));
result((await hints()).join() === '1 site,2 sites', 'hints: sites', await hints());
const lenses = await connection.sendRequest(p.CodeLensRequest.type, { textDocument: { uri } });
result(lenses.every(each => p.CodeLens.is(each)) && lenses.map(({ command }) => command.command).join() === 'whammc.run,whammc.profile,whammc.list', 'lenses', lenses);
const sites = await connection.sendRequest(p.ExecuteCommandRequest.type, lenses[2].command);
result(sites.length === 3 && sites[0].event === 'wasm:func:entry', 'sites', sites);
await connection.sendRequest(p.ExecuteCommandRequest.type, lenses[0].command);
result(await ran === 'The program ended with status 0.', 'a run', await ran);
result((await hints()).join() === '1 site,2 sites,= 10,= 10', 'hints: values', await hints());
result(refreshes.includes('hints') && refreshes.includes('lenses'), 'the editor is asked to show them', refreshes);
await connection.sendNotification(p.DidChangeTextDocumentNotification.type,
  { textDocument: { uri, version: 2 }, contentChanges: [{ range: { start: at('calls++'), end: at('calls++', 5) }, text: 'cals' }] });
await about(p.HoverRequest.type, at('calls++'));
while (!diagnostics.some(({ version }) => version === 2)) await new Promise(resolve => { setTimeout(resolve, 10); });
const wrong = diagnostics.find(({ version }) => version === 2).diagnostics;
result(wrong.length === 1 && p.Diagnostic.is(wrong[0]) && wrong[0].code === 'undeclared-name', 'messages', wrong);
const actions = await connection.sendRequest(p.CodeActionRequest.type, { textDocument: { uri }, range: wrong[0].range, context: { diagnostics: wrong } });
result(actions.length && p.CodeAction.is(actions[0]) && actions[0].edit.changes[uri][0].newText === 'calls', 'a correction', actions);
const exited = new Promise(resolve => { child.on('exit', resolve); });
await connection.sendRequest(p.ShutdownRequest.type);
await connection.sendNotification(p.ExitNotification.type);
result(await exited === 0, 'the server ends with status 0');
end();
