// Places in the sources of programs.
import { access } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';

/** A source file of a program: its debug information may have a path that is relative to the program or to a folder of the workspace. */
export async function findSource(file: string, program: string): Promise<string | undefined> {
  const folders = [path.dirname(program), ...(vscode.workspace.workspaceFolders ?? []).map(folder => folder.uri.fsPath)];
  for (const candidate of path.isAbsolute(file) ? [file] : folders.map(folder => path.join(folder, file))) {
    try {
      await access(candidate);
      return candidate;
    } catch { /* not there */ }
  }
  return undefined;
}

/** Shows a line of a program's source, beside what is shown. */
export async function showSource(file: string, line: number, program: string, column = vscode.ViewColumn.Beside): Promise<void> {
  const found = await findSource(file, program);
  if (!found) {
    void vscode.window.showWarningMessage(`Whamm: the source file ${file} was not found.`);
    return;
  }
  const at = new vscode.Range(line - 1, 0, line - 1, 0);
  const editor = await vscode.window.showTextDocument(vscode.Uri.file(found), { viewColumn: column, selection: at });
  editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
