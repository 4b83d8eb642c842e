// The extension in VS Code, as people use it: code-server, with the packaged extension, in headless Chromium.
//
// usage: node test_editor.mjs CODE-SERVER VSIX WHAMMC FOLDER PACKAGES-FOLDER CHROMIUM
//
// CODE-SERVER is the folder of the npm package code-server. FOLDER has counts.whamm, app.c and app.wasm.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { WAIT, openWorkbench } from './workbench.mjs';

const [codeServer, vsix, whammc, folder, modules, executablePath] = process.argv.slice(2);
const home = makeFolder('vscode'), data = path.join(home, 'data'), extensions = path.join(home, 'extensions');
function set(name, settings) {
  fs.mkdirSync(path.join(data, name), { recursive: true });
  fs.writeFileSync(path.join(data, name, 'settings.json'), JSON.stringify(settings));
}
set('Machine', { 'whamm.server.path': path.join(home, 'whammc') });
set('User', {
  'workbench.startupEditor': 'none', 'telemetry.telemetryLevel': 'off', 'editor.minimap.enabled': false, 'chat.disableAIFeatures': true,
  'workbench.secondarySideBar.defaultVisibility': 'hidden', 'extensions.ignoreRecommendations': true, 'workbench.colorTheme': 'Default Light Modern',
});
const entry = path.join(codeServer, 'out/node/entry.js'), common = [entry, '--user-data-dir', data, '--extensions-dir', extensions];
const environment = { ...process.env, XDG_CONFIG_HOME: home };
const installed = spawnSync(process.execPath, [...common, '--install-extension', vsix], { env: environment, encoding: 'utf8' });
result(installed.stdout.includes('was successfully installed'), 'the package can be installed', installed.stdout, installed.stderr);

const server = spawn(process.execPath, [...common, '--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry', '--disable-update-check', '--disable-workspace-trust'],
  { env: environment, stdio: ['ignore', 'pipe', 'ignore'] });
const address = await new Promise((resolve, reject) => {
  let text = '';
  server.stdout.setEncoding('utf8').on('data', piece => {
    text += piece;
    const found = text.match(/listening on (http:\S+?)\/?\s/);
    if (found) resolve(found[1]);
  });
  server.on('exit', () => reject(new Error(text)));
});
const { afterLine, close, command, goTo, lens, openFile, page, picture, shows, step } = await openWorkbench(modules, executablePath, `${address}/?folder=${encodeURIComponent(folder)}`);
/** The frame with the flame graph. */
async function flameFrame() {
  for (let left = WAIT; left > 0; left -= 200) {
    for (const frame of page.frames()) if (await frame.locator('svg .f').count().catch(() => 0)) return frame;
    await page.waitForTimeout(200);
  }
  throw new Error('there is no flame graph');
}

try {
  await shows('.explorer-folders-view', 'counts.whamm');
  await openFile('counts.whamm');

  await step('whammc is not found, until the setting is right', 'missing', async () => {
    await shows('.notification-toast', 'was not found');
    await shows('.notification-toast', 'How to Install');
    await picture('missing-toast');
    set('Machine', { 'whamm.server.path': whammc });
    await page.locator('.view-line span', { hasText: /^calls$/ }).first().click();
    await shows('.breadcrumbs-control', 'calls'); // the outline, from the server
    await command('Notifications: Clear All Notifications');
  });
  await step('a script is run on a program that is chosen', 'run', async () => {
    await command('Whamm: Run Script on Program');
    await shows('.quick-input-widget', 'Arguments of app.wasm');
    await page.keyboard.type('100');
    await page.keyboard.press('Enter');
    await shows('.view-lines', '= 1,000');
    const { programs } = JSON.parse(fs.readFileSync(path.join(folder, 'whammc.json'), 'utf8'));
    if (JSON.stringify(programs) !== '[{"program":"app.wasm","scripts":["counts.whamm"],"arguments":["100"]}]') throw new Error(JSON.stringify(programs));
  });
  await step('lenses, and sites beside rules', 'sites', async () => {
    await lens('Forget values').click({ timeout: WAIT });
    await page.locator('.view-lines', { hasText: '= 1,000' }).waitFor({ state: 'hidden', timeout: WAIT });
    await lens('Run app.wasm').waitFor({ timeout: WAIT });
    await shows('.view-lines', '1 site');
  });
  await step('a description', 'hover', async () => {
    await page.locator('.view-line span', { hasText: /^calls$/ }).last().hover();
    await shows('.monaco-hover', 'report var calls: u64');
  });
  await step('completion', 'completion', async () => {
    await goTo(5);
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('targ');
    await shows('.suggest-widget', 'target_fn_resumable'); // the text does not have it
  });
  await step('a message', 'error', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.type('et++;');
    await page.keyboard.press('Escape');
    // The one of 'targ', without its end, may still be there.
    for (let left = WAIT; left > 0 && !await page.locator('.marker-widget', { hasText: "'target'" }).count(); left -= 500) {
      await page.keyboard.press('Escape');
      await page.keyboard.press('F8');
      await page.waitForTimeout(500);
    }
    await shows('.marker-widget', "'target'");
  });
  await page.keyboard.press('Escape');
  for (let i = 0; i < 12; i++) await page.keyboard.press('Control+Z');
  await command('File: Save');
  await step('values beside lines, after a run', 'values', async () => {
    await lens('Run app.wasm').click({ timeout: WAIT });
    await shows('.view-lines', '= 1,000');
  });
  await step('rename', 'rename', async () => {
    await page.locator('.view-line span', { hasText: /^calls$/ }).first().click();
    await page.keyboard.press('F2');
    await page.locator('.rename-box input:focus').waitFor({ timeout: WAIT });
    await page.keyboard.type('mixes');
    await page.keyboard.press('Enter');
    await shows('.view-lines', /mixes.*mixes\+\+/s);
  });
  await command('File: Revert File');
  await step('the list of sites leads to the source', 'list', async () => {
    await lens('List sites').click({ timeout: WAIT });
    await shows('.quick-input-widget', 'wasm:opcode:call:before');
    await picture('list-open');
    await page.keyboard.type('call:before');
    await page.keyboard.press('Enter');
    await shows('.tab.active', 'app.c');
    await shows('.statusbar', 'Ln 8,');
  });
  await openFile('counts.whamm');
  await step('a flame graph', 'flame', async () => {
    await lens('Profile').click({ timeout: WAIT });
    const frame = await flameFrame();
    await frame.locator('svg .f', { hasText: 'slow' }).first().waitFor({ timeout: WAIT });
  });
  await step('a frame leads to its source', 'frame', async () => {
    const frame = await flameFrame();
    await frame.locator('svg .f', { hasText: 'slow' }).first().click({ timeout: WAIT });
    await shows('.tab', 'app.c');
    await shows('.statusbar', 'Ln 5,');
  });
  await step('search in a flame graph', 'search', async () => {
    const frame = await flameFrame();
    await frame.locator('input').fill('mix');
    await frame.locator('svg .found').first().waitFor({ timeout: WAIT });
  });
  await command('View: Close All Editors');
  await step('coverage', 'coverage', async () => {
    await command('Whamm: Show Coverage of This .wasm');
    await shows('.quick-input-widget', 'Arguments of app.wasm');
    await page.keyboard.type('1');
    await page.keyboard.press('Enter');
    await shows('.tab.active', 'app.c');
    await afterLine('10×');
  });
  await step('hot lines', 'hot', async () => {
    await command('Whamm: Show Hot Lines of This .wasm');
    await shows('.quick-input-widget', 'Arguments of app.wasm');
    await page.keyboard.press('Enter');
    await afterLine(' %');
  });
  await step('marks can be hidden', 'hidden', async () => {
    await command('Whamm: Show or Hide Coverage and Hot Lines');
    await afterLine(' %', false);
  });
  await step('the menu of a program', 'menu', async () => {
    await page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'app.wasm' }).click({ button: 'right' });
    await shows('.context-view, .monaco-menu', 'Profile This .wasm');
  });
} catch (error) {
  result(false, 'the editor', error.stack);
  await picture('last');
} finally {
  await close();
  server.kill();
  removeFolder(home);
}
end();
