// What the language clients of desktop and browser have in common.
import * as vscode from 'vscode';
import type { BaseLanguageClient, LanguageClientOptions } from 'vscode-languageclient';

/** A site, as the server's command whammc.list returns it. */
interface Site {
  event: string;
  function: string;
  fid: number;
  pc: number;
  instruction?: string;
  file?: string;
  line?: number;
}

/** `open` shows the source of a site. */
export function clientOptions(profiles: boolean, open: (site: { file: string; line: number }) => unknown): LanguageClientOptions {
  return {
    documentSelector: [{ language: 'whamm' }],
    initializationOptions: { profile: profiles && vscode.workspace.isTrusted },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/{whammc.json,*.wasm,*.whamm}') },
    middleware: {
      executeCommand: async (command, args, next) => {
        if (command === 'whammc.run' && !vscode.workspace.isTrusted) {
          void vscode.window.showWarningMessage('Whamm: programs run only in trusted workspaces.');
          return undefined;
        }
        const result = await next(command, args);
        if (command === 'whammc.list') await pickSite(result as Site[] | null, open);
        return result;
      },
    },
  };
}

async function pickSite(sites: Site[] | null, open: (site: { file: string; line: number }) => unknown): Promise<void> {
  if (!sites?.length) {
    void vscode.window.showInformationMessage('Whamm: there are no sites. The script is for no program of whammc.json, has errors, or matches nothing.');
    return;
  }
  const items = sites.map(site => ({
    label: site.event, site,
    description: `${site.function} +${site.pc}${site.instruction ? `  ${site.instruction}` : ''}`,
    detail: site.file && `${site.file}:${site.line}`,
  }));
  const chosen = await vscode.window.showQuickPick(items, { matchOnDescription: true, matchOnDetail: true, placeHolder: `${sites.length} sites` });
  if (chosen?.site.file && chosen.site.line) open({ file: chosen.site.file, line: chosen.site.line });
}

/** The command that lists the sites of the script in the editor; the lens does the same. */
export function addListSites(context: vscode.ExtensionContext, running: () => BaseLanguageClient | undefined): void {
  context.subscriptions.push(vscode.commands.registerCommand('whamm.listSites', async () => {
    const client = running(), document = vscode.window.activeTextEditor?.document;
    if (client && document?.languageId === 'whamm') await vscode.commands.executeCommand('whammc.list', client.code2ProtocolConverter.asUri(document.uri));
  }));
}

/** Whether the server knows a program for a script. */
export async function hasProgram(client: BaseLanguageClient, uri: string): Promise<boolean> {
  const lenses = await client.sendRequest<{ command?: { command: string } }[] | null>('textDocument/codeLens', { textDocument: { uri } });
  return !!lenses?.some(lens => lens.command?.command === 'whammc.run');
}
