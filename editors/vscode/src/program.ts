// Which program, and with which arguments.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { splitWords } from 'playground/arguments';

/** The workspace's folder of a file, or the file's own. */
export function folderOf(file: string): string {
  return vscode.workspace.getWorkspaceFolder(vscode.Uri.file(file))?.uri.fsPath ?? path.dirname(file);
}

/** A program that the user chooses among those of the workspace. */
export async function chooseProgram(): Promise<string | undefined> {
  const found = await vscode.workspace.findFiles('**/*.wasm', '**/node_modules/**', 1000);
  if (!found.length) {
    void vscode.window.showInformationMessage('Whamm: there is no .wasm file in the workspace.');
    return undefined;
  }
  const items = found.map(uri => ({ label: vscode.workspace.asRelativePath(uri), path: uri.fsPath })).sort((a, b) => a.label.localeCompare(b.label));
  return items.length === 1 ? items[0].path : (await vscode.window.showQuickPick(items, { placeHolder: 'A program' }))?.path;
}

const quote = (word: string) => (/^[\w./:=,@%+-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`);

/** The program's arguments, as the user gives them; those of last time are there already. */
export async function chooseArguments(context: vscode.ExtensionContext, program: string): Promise<string[] | undefined> {
  const key = `arguments:${program}`, last = context.workspaceState.get<string[]>(key, []);
  const line = await vscode.window.showInputBox({
    prompt: `Arguments of ${path.basename(program)}`, value: last.map(quote).join(' '), placeHolder: 'none', ignoreFocusOut: true,
  });
  if (line === undefined) return undefined;
  const words = splitWords(line);
  await context.workspaceState.update(key, words);
  return words;
}

/** What a command was called for: a file of the explorer, or a program that the user chooses; and its arguments. */
export async function chooseRun(context: vscode.ExtensionContext, uri?: vscode.Uri): Promise<{ program: string; words: string[] } | undefined> {
  const program = uri?.fsPath ?? await chooseProgram();
  const words = program && await chooseArguments(context, program);
  return program && words ? { program, words } : undefined;
}
