// The command that runs the script in the editor on a program.
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';
import { hasProgram } from './client';
import { chooseRun } from './program';

interface Programs {
  programs?: { program: string; scripts?: string[]; arguments?: string[] }[];
}

/** Adds a program for a script to whammc.json, so that the server shows sites and values. */
async function addProgram(client: LanguageClient, script: vscode.Uri, folder: vscode.Uri, program: string, words: string[]): Promise<void> {
  const uri = vscode.Uri.joinPath(folder, 'whammc.json');
  let known: Programs = {};
  try {
    known = JSON.parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(uri))) as Programs;
  } catch (error) {
    if (!(error instanceof vscode.FileSystemError)) throw new Error(`whammc.json: ${(error as Error).message}`);
  }
  const relative = (file: string) => path.relative(folder.fsPath, file);
  const entry = { program: relative(program), scripts: [relative(script.fsPath)], ...(words.length ? { arguments: words } : {}) };
  known = { ...known, programs: [...(known.programs ?? []), entry] };
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(`${JSON.stringify(known, null, 2)}\n`));
  await client.sendNotification('workspace/didChangeWatchedFiles', { changes: [{ uri: uri.toString(), type: 2 }] });
}

export function addRunScript(context: vscode.ExtensionContext, running: () => LanguageClient | undefined): void {
  context.subscriptions.push(vscode.commands.registerCommand('whamm.run', async () => {
    const client = running(), document = vscode.window.activeTextEditor?.document;
    const folder = document && vscode.workspace.getWorkspaceFolder(document.uri);
    if (!client || document?.languageId !== 'whamm' || !folder) {
      void vscode.window.showInformationMessage('Whamm: open a script of the workspace first.');
      return;
    }
    await document.save();
    const uri = client.code2ProtocolConverter.asUri(document.uri);
    if (!await hasProgram(client, uri)) {
      const chosen = await chooseRun(context);
      if (!chosen) return;
      await addProgram(client, document.uri, folder.uri, chosen.program, chosen.words);
    }
    await vscode.commands.executeCommand('whammc.run', uri);
  }));
}
