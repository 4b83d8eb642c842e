// Running whammc.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

export const setting = <T>(name: string): T => vscode.workspace.getConfiguration('whamm').get(name) as T;

/** What programs and whammc print. */
export const output = vscode.window.createOutputChannel('Whamm Programs');

/** Says that whammc was not found; the buttons lead to what helps. */
export async function sayNotFound(context: vscode.ExtensionContext): Promise<void> {
  const help = 'How to Install', open = 'Open Settings';
  const chosen = await vscode.window.showErrorMessage(
    `Whamm: the program '${setting('server.path')}' was not found. Install whammc, or set whamm.server.path to where it is.`, help, open);
  if (chosen === help) await vscode.commands.executeCommand('markdown.showPreview', vscode.Uri.joinPath(context.extensionUri, 'README.md'));
  if (chosen === open) await vscode.commands.executeCommand('workbench.action.openSettings', 'whamm.server.path');
}

export interface Command {
  args: string[];
  /** What it writes. If that is there, another exit status than 0 is the program's own. */
  writes?: string;
}

/** Runs whammc; what it and the program print goes to `print`. Returns the exit status, or why it did not start. */
export function run({ args }: Command, cwd: string, print: (text: string) => void, token?: vscode.CancellationToken): Promise<number | string> {
  return new Promise(resolve => {
    const child = spawn(setting<string>('server.path'), args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const cancelled = token?.onCancellationRequested(() => child.kill('SIGINT'));
    const end = (status: number | string) => {
      cancelled?.dispose();
      resolve(status);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', print);
    child.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
    child.on('close', (status, signal) => end(status ?? signal ?? 1));
  });
}

/** Whether whammc was not found, or may not be run. */
export const isMissing = (status: number | string) => ['ENOENT', 'EACCES'].includes(String(status));

/** Runs whammc several times with a progress message; false if one of them failed, which the user has been told of then. */
export async function runAll(context: vscode.ExtensionContext, title: string, cwd: string, commands: Command[]): Promise<boolean> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, async (_, token) => {
    for (const command of commands) {
      output.appendLine(`> whammc ${command.args.join(' ')}`);
      const status = await run(command, cwd, text => output.append(text), token);
      if (isMissing(status)) {
        void sayNotFound(context);
        return false;
      }
      if (status !== 0 && !(command.writes && existsSync(command.writes))) {
        const show = 'Show Output';
        void vscode.window.showErrorMessage(`Whamm: 'whammc ${command.args[0]}' failed (${status}).`, show).then(chosen => chosen === show && output.show(true));
        return false;
      }
    }
    return true;
  });
}

/** Calls a function with a new temporary folder. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'whamm-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
