// The extension where programs can be started: the language server is `whammc lsp`.
import * as vscode from 'vscode';
import { LanguageClient } from 'vscode-languageclient/node';
import { addListSites, clientOptions } from './client';
import { Marks } from './marks';
import { showSource } from './places';
import { addProfile } from './profile';
import { addRunScript } from './scripts';
import { isMissing, run, sayNotFound, setting } from './tool';

let client: LanguageClient | undefined;

function makeClient(): LanguageClient {
  const command = setting<string>('server.path');
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  return new LanguageClient('whamm', 'Whamm', { command, args: ['lsp'] },
    clientOptions(true, ({ file, line }) => showSource(file, line, folder, vscode.ViewColumn.Active)));
}

async function start(context: vscode.ExtensionContext): Promise<void> {
  const status = await run({ args: ['lsp', '--help'] }, '.', () => {});
  if (isMissing(status)) return void sayNotFound(context);
  if (status !== 0) {
    void vscode.window.showErrorMessage(`Whamm: '${setting('server.path')} lsp' does not work (${status}): whammc 0.1.0 or later is needed.`);
    return;
  }
  client = makeClient();
  await client.start();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  addProfile(context);
  new Marks(context);
  addListSites(context, () => client);
  addRunScript(context, () => client);
  const restart = async () => {
    await client?.stop();
    client = undefined;
    await start(context);
  };
  context.subscriptions.push(
    vscode.commands.registerCommand('whamm.restart', restart),
    vscode.workspace.onDidChangeConfiguration(change => change.affectsConfiguration('whamm.server.path') && void restart()));
  await start(context);
}

export const deactivate = (): Promise<void> | undefined => client?.stop();
