// Coverage and hot lines, in the gutters of a program's sources.
import { readFile } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { coverageCounts, heat, lineSums, type LineCount } from './counts';
import { findSource } from './places';
import { chooseRun, folderOf } from './program';
import { runAll, setting, withFolder, type Command } from './tool';

const COVERED = '#3fa34d', NOT_COVERED = '#d64545', HEAT = ['#f5d76e', '#f5b041', '#eb7a32', '#d93b1f'];

const bar = (color: string) => vscode.Uri.parse(`data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><rect x="10" width="5" height="16" fill="${color}"/></svg>`)}`);

/** Lines of one look: a bar in the gutter and in the overview. */
const look = (color: string, background?: string) => vscode.window.createTextEditorDecorationType({
  gutterIconPath: bar(color), gutterIconSize: 'contain', isWholeLine: true, backgroundColor: background,
  overviewRulerColor: color, overviewRulerLane: vscode.OverviewRulerLane.Left,
  after: { color: new vscode.ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 3em' },
});

interface Mark {
  look: vscode.TextEditorDecorationType;
  line: number;
  text: string;
  hover: string;
}

export class Marks {
  private readonly covered = look(COVERED);
  private readonly notCovered = look(NOT_COVERED, `${NOT_COVERED}22`);
  private readonly hot = HEAT.map((color, i) => look(color, i > 1 ? `${color}22` : undefined));
  private files = new Map<string, Mark[]>();
  private shown = true;

  constructor(private readonly context: vscode.ExtensionContext) {
    context.subscriptions.push(
      this.covered, this.notCovered, ...this.hot,
      vscode.commands.registerCommand('whamm.coverage', (uri?: vscode.Uri) => this.cover(uri)),
      vscode.commands.registerCommand('whamm.hotLines', (uri?: vscode.Uri) => this.heatUp(uri)),
      vscode.commands.registerCommand('whamm.toggleMarks', () => this.show(!this.shown)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
      vscode.workspace.onDidChangeConfiguration(change => change.affectsConfiguration('whamm.marks') && this.draw()),
      // Lines of a text that has changed are others.
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length && this.files.delete(document.uri.fsPath)) this.draw();
      }));
  }

  private async cover(uri?: vscode.Uri): Promise<void> {
    await this.measure(uri, 'Coverage of', (program, words, folder) => ({
      commands: [{ args: ['coverage', ...setting<string[]>('coverage.options'), '--format=json', '-o', path.join(folder, 'lines'), program, ...words], writes: path.join(folder, 'lines') }],
      read: coverageCounts,
      mark: ({ line, count }) => ({
        look: count ? this.covered : this.notCovered, line, text: count ? `${count.toLocaleString()}×` : '',
        hover: count ? `Executed ${count.toLocaleString()} times` : 'Not executed',
      }),
    }));
  }

  private async heatUp(uri?: vscode.Uri): Promise<void> {
    await this.measure(uri, 'Hot lines of', (program, words, folder) => {
      const report = path.join(folder, 'report');
      return {
        commands: [
          { args: ['run', ...setting<string[]>('run.options'), '-s', 'hotness', '--report-format=json', '-o', report, program, ...words], writes: report },
          { args: ['report', `--module=${program}`, '--lines', '--format=json', '-o', path.join(folder, 'lines'), report] },
        ],
        read: lineSums,
        mark: ({ line, count }, total) => count ? {
          look: this.hot[heat(count, total, this.hot.length)], line, text: `${(100 * count / total).toFixed(1)} %`,
          hover: `${count.toLocaleString()} of ${total.toLocaleString()} executed instructions`,
        } : undefined,
      };
    });
  }

  private async measure(uri: vscode.Uri | undefined, title: string, how: (program: string, words: string[], folder: string) => {
    commands: Command[];
    read: (text: string) => Map<string, LineCount[]>;
    mark: (count: LineCount, total: number) => Mark | undefined;
  }): Promise<void> {
    const chosen = await chooseRun(this.context, uri);
    if (!chosen) return;
    const { program, words } = chosen;
    await withFolder(async folder => {
      const { commands, read, mark } = how(program, words, folder);
      if (!await runAll(this.context, `${title} ${path.basename(program)}`, folderOf(program), commands)) return;
      const counts = read(await readFile(path.join(folder, 'lines'), 'utf8'));
      const total = [...counts.values()].flat().reduce((sum, { count }) => sum + count, 0);
      this.files = new Map();
      for (const [file, lines] of counts) {
        const found = await findSource(file, program);
        if (found) this.files.set(found, lines.map(each => mark(each, total)).filter(each => each !== undefined));
      }
      await this.show(true);
      await this.reveal(program);
    });
  }

  /** Shows one of the files, if none of them is visible. */
  private async reveal(program: string): Promise<void> {
    const [first] = this.files.keys();
    if (!first) {
      void vscode.window.showWarningMessage(`Whamm: no source files of ${path.basename(program)} were found; compile it with debug information (-g).`);
    } else if (!vscode.window.visibleTextEditors.some(editor => this.files.has(editor.document.uri.fsPath))) {
      await vscode.window.showTextDocument(vscode.Uri.file(first));
    }
  }

  private async show(shown: boolean): Promise<void> {
    this.shown = shown;
    await vscode.commands.executeCommand('setContext', 'whamm.hasMarks', this.files.size > 0);
    this.draw();
  }

  private draw(): void {
    const counts = setting<boolean>('marks.counts');
    for (const editor of vscode.window.visibleTextEditors) {
      const marks = this.shown ? this.files.get(editor.document.uri.fsPath) ?? [] : [];
      for (const kind of [this.covered, this.notCovered, ...this.hot])
        editor.setDecorations(kind, marks.filter(mark => mark.look === kind && mark.line <= editor.document.lineCount).map(({ line, text, hover }) => ({
          range: editor.document.lineAt(line - 1).range, hoverMessage: hover,
          renderOptions: counts && text ? { after: { contentText: text } } : undefined,
        })));
    }
  }
}
