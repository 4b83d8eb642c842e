// A headless Chromium that tests talk to as its developer tools do, through a pipe; a server for pages; pictures.
import { spawn } from 'node:child_process';
import http from 'node:http';
import zlib from 'node:zlib';

// What the console shows, without the calls that led to an error.
const shown = arg => String(arg.value ?? arg.description).replace(/\n *at .*/gs, '');

/**
 * Starts the browser. Gives { open(url, size), close() }; open gives a page: { evaluate(expression) as in its console,
 * printed: what it wrote there, screenshot(): the bytes of a PNG, tell(method, params): a command of the protocol, listen(event, take) }.
 */
export async function launch(chromium, directory, more = []) {
  const browser = spawn(chromium, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--hide-scrollbars',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--remote-debugging-pipe',
    `--user-data-dir=${directory}`, ...more], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map(), listeners = [];
  let last = 0, pieces = '', ended = null;

  // Messages end with a NUL.
  browser.stdio[4].setEncoding('utf8').on('data', piece => {
    const messages = (pieces + piece).split('\0');
    pieces = messages.pop();
    for (const message of messages.map(text => JSON.parse(text))) {
      const { resolve, reject } = waiting.get(message.id) || {};
      waiting.delete(message.id);
      if (!resolve) listeners.forEach(listener => listener(message));
      else if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    }
  });
  function end(why) {
    ended = new Error(why);
    waiting.forEach(({ reject }) => reject(ended));
  }
  browser.on('error', error => end(error.message)).on('exit', () => end('the browser has ended'));
  browser.stdio[3].on('error', () => {});

  function send(method, params = {}, sessionId) {
    return new Promise((resolve, reject) => {
      if (ended) reject(ended);
      const id = ++last, timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), 60000);
      const done = fn => value => { clearTimeout(timer); fn(value); };
      waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  async function open(url, { width = 800, height = 600 } = {}) {
    const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const printed = [], tell = (method, params) => send(method, params, sessionId);
    const loaded = new Promise(resolve => {
      listeners.push(({ method, params, sessionId: from }) => {
        if (from !== sessionId) return;
        if (method === 'Runtime.consoleAPICalled') printed.push(params.args.map(shown).join(' '));
        if (method === 'Page.loadEventFired') resolve();
      });
    });
    await tell('Page.enable');
    await tell('Runtime.enable');
    await tell('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
    await tell('Page.navigate', { url });
    await loaded;
    return {
      printed,
      tell,
      listen(event, take) {
        listeners.push(({ method, params, sessionId: from }) => { if (from === sessionId && method === event) take(params); });
      },
      async evaluate(expression) {
        const { result, exceptionDetails } = await tell('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true,
          includeCommandLineAPI: true, replMode: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
      },
      async screenshot() {
        return Buffer.from((await tell('Page.captureScreenshot', { format: 'png' })).data, 'base64');
      },
    };
  }

  return {
    open,
    close() {
      return new Promise(resolve => {
        if (ended) resolve();
        browser.once('exit', resolve);
        browser.kill('SIGKILL');
      });
    },
  };
}

/** Serves { path: [type, text or bytes] } on a port of its own; gives { url, close() }. */
export function serve(files, headers = {}) {
  return new Promise(resolve => {
    const server = http.createServer((request, response) => {
      const [type, content] = files[request.url] ?? [];
      response.statusCode = type ? 200 : 404;
      if (type) response.setHeader('Content-Type', type);
      Object.entries(headers).forEach(([name, value]) => response.setHeader(name, value));
      response.end(content);
    });
    server.listen(0, '127.0.0.1', () => resolve({
      url: `http://127.0.0.1:${server.address().port}`,
      close() {
        server.close();
        server.closeAllConnections();
      },
    }));
  });
}

/** The pixels of a PNG with 8 bits a channel, as browsers make them: { width, height, at(x, y) as 0xrrggbb }. */
export function decodePng(png) {
  const pieces = [];
  let width = 0, height = 0, size = 0;
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at), type = png.toString('latin1', at + 4, at + 8), data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') {
      [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
      if (data[8] !== 8 || ![2, 6].includes(data[9]) || data[12]) throw new Error('another kind of PNG');
      size = data[9] === 6 ? 4 : 3;
    }
    if (type === 'IDAT') pieces.push(data);
    at += 12 + length;
  }
  const raw = zlib.inflateSync(Buffer.concat(pieces)), row = width * size, pixels = Buffer.alloc(height * row);
  const before = (x, y) => (x < 0 || y < 0 ? 0 : pixels[y * row + x]);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const left = before(x - size, y), up = before(x, y - 1), corner = x < size ? 0 : before(x - size, y - 1);
      const [a, b, c] = [left, up, corner].map(value => Math.abs(left + up - corner - value));
      const nearest = a <= b && a <= c ? left : b <= c ? up : corner;
      pixels[y * row + x] = raw[y * (row + 1) + 1 + x] + [0, left, up, (left + up) >> 1, nearest][filter];
    }
  }
  return { width, height, at: (x, y) => pixels.readUIntBE(y * row + x * size, 3) };
}
