// The command that profiles a program and shows its flame graph.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { flamePage, placesOf } from './flame';
import { showSource } from './places';
import { chooseRun, folderOf } from './program';
import { output, runAll, setting, withFolder } from './tool';

async function showFlame(program: string, svg: string, speedscope: string): Promise<void> {
  const places = placesOf(speedscope);
  const panel = vscode.window.createWebviewPanel('whamm.flame', `Profile of ${path.basename(program)}`, vscode.ViewColumn.Active,
    { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] });
  panel.webview.onDidReceiveMessage(({ name }: { name: string }) => {
    const place = Object.hasOwn(places, name) ? places[name] : undefined;
    if (place) void showSource(place.file, place.line, program);
  });
  panel.webview.html = flamePage(svg, Object.keys(places), randomBytes(16).toString('hex'));
}

async function profile(context: vscode.ExtensionContext, program: string, words: string[]): Promise<void> {
  await withFolder(async folder => {
    const report = path.join(folder, 'report'), svg = path.join(folder, 'flame.svg'), frames = path.join(folder, 'speedscope.json');
    const done = await runAll(context, `Profiling ${path.basename(program)}`, folderOf(program), [
      { args: ['profile', ...setting<string[]>('profile.options'), `--save=${report}`, '-o', svg, program, ...words], writes: svg },
      { args: ['report', `--module=${program}`, '--lines', '--format=speedscope', '-o', frames, report] },
    ]);
    if (done) await showFlame(program, await readFile(svg, 'utf8'), await readFile(frames, 'utf8'));
  });
  output.appendLine('');
}

export function addProfile(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.commands.registerCommand('whamm.profile', async (uri?: vscode.Uri) => {
      const chosen = await chooseRun(context, uri);
      if (chosen) await profile(context, chosen.program, chosen.words);
    }),
    // The server's lens.
    vscode.commands.registerCommand('whammc.profile', (_script: string, program: string, words: string[]) => profile(context, program, words)));
}
