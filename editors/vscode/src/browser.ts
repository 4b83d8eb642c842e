// The extension where no programs can be started, as in vscode.dev: the language server is the compiler as WebAssembly, in a worker.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/browser';
import { addListSites, clientOptions } from './client';

let client: LanguageClient | undefined;

/** The workspace's folder, whose files the server knows by their paths alone. */
const folder = () => vscode.workspace.workspaceFolders?.[0]?.uri;
const inFolder = (uri: vscode.Uri) => uri.scheme === folder()?.scheme && uri.authority === folder()?.authority;
const fileAt = (path: string) => folder()?.with({ path }) ?? vscode.Uri.file(path);

/** Shows a line of a source; its path may be relative to the folder. */
async function show(file: string, line: number): Promise<void> {
  const at = new vscode.Range(line - 1, 0, line - 1, 0);
  for (const uri of [fileAt(file.startsWith('/') ? file : `/${file}`), folder() && vscode.Uri.joinPath(folder()!, file)]) {
    if (!uri || !await vscode.workspace.fs.stat(uri).then(() => true, () => false)) continue;
    await vscode.window.showTextDocument(uri, { selection: at });
    return;
  }
  void vscode.window.showWarningMessage(`Whamm: the source file ${file} was not found.`);
}

async function start(context: vscode.ExtensionContext): Promise<void> {
  const worker = new Worker(vscode.Uri.joinPath(context.extensionUri, 'dist/server.js').toString(true));
  worker.postMessage(await vscode.workspace.fs.readFile(vscode.Uri.joinPath(context.extensionUri, 'dist/whammc.wasm')));
  client = new LanguageClient('whamm', 'Whamm', worker, {
    ...clientOptions(false, ({ file, line }) => show(file, line)),
    uriConverters: {
      code2Protocol: uri => (inFolder(uri) ? uri.with({ scheme: 'file', authority: '' }) : uri).toString(),
      protocol2Code: text => {
        const uri = vscode.Uri.parse(text);
        return uri.scheme === 'file' ? fileAt(uri.path) : uri;
      },
    },
  });
  client.onRequest('whammc/file', ({ path }: { path: string }) => vscode.workspace.fs.readFile(fileAt(path)).then(bytes => bytes, () => null));
  await client.start();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  addListSites(context, () => client);
  context.subscriptions.push(vscode.commands.registerCommand('whamm.restart', async () => {
    await client?.stop();
    await start(context);
  }));
  await start(context);
}

export const deactivate = (): Promise<void> | undefined => client?.stop();
