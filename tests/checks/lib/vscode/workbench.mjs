// VS Code in headless Chromium: its parts, and what people do with it.
//
// With WHAMMC_PICTURES=FOLDER, a picture of each step is kept there.
import { createRequire } from 'node:module';
import path from 'node:path';
import { result } from '../tap.mjs';

export const WAIT = 60000;

export async function openWorkbench(modules, executablePath, url) {
  const { chromium } = createRequire(path.join(path.resolve(modules), 'x.js'))('playwright-core');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
  await page.goto(url);
  await page.waitForSelector('.monaco-workbench', { timeout: WAIT });

  async function picture(name) {
    if (process.env.WHAMMC_PICTURES) await page.screenshot({ path: path.join(process.env.WHAMMC_PICTURES, `vscode-${name}.png`) });
  }
  /** A test: something that must succeed. */
  async function step(title, name, run) {
    try {
      await run();
      result(true, title);
    } catch (error) {
      result(false, title, error.message);
    }
    await picture(name);
  }
  const shows = (selector, hasText) => page.locator(selector, { hasText }).first().waitFor({ timeout: WAIT });
  const quickPick = title => page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click({ timeout: WAIT });
  async function command(title) {
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input:focus').waitFor({ timeout: WAIT });
    await page.keyboard.type(title);
    await quickPick(title);
  }
  async function openFile(name) {
    await page.locator('.explorer-folders-view .monaco-list-row', { hasText: name }).dblclick({ timeout: WAIT });
    await shows('.tab.active', name);
  }
  async function goTo(line) {
    await page.keyboard.press('Control+G');
    await page.locator('.quick-input-widget input:focus').waitFor({ timeout: WAIT });
    await page.keyboard.type(`${line}`);
    await page.keyboard.press('Enter');
    await page.locator('.quick-input-widget').waitFor({ state: 'hidden', timeout: WAIT });
    await shows('.statusbar', `Ln ${line},`);
  }
  const lens = title => page.locator('.codelens-decoration a', { hasText: title }).first();
  /** Waits until a text that belongs to no document stands after a line, or no longer does. */
  const afterLine = (text, there = true) => page.waitForFunction(([wanted, yes]) => [...document.querySelectorAll('.view-line span')]
    .some(span => getComputedStyle(span, '::after').content.includes(wanted)) === yes, [text, there], { timeout: WAIT });
  return { afterLine, close: () => browser.close(), command, goTo, lens, openFile, page, picture, shows, step };
}
