// Runs the program in the page and in workers of all kinds, and shows what each of them shows.
import done from './program.js';
const WAIT = 15000; // milliseconds

/**
 * What the worker says to a port. ask() gives it one, again and again, since workers whose chunks come late do not hear the first.
 */
function answer(ask) {
  return new Promise(resolve => {
    const give = (output, reports = []) => { clearInterval(timer); resolve({ output, reports }); }, begun = performance.now();
    const attempt = () => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = ({ data }) => give(data.output, data.reports);
      if (performance.now() - begun > WAIT) give('no answer');
      ask(port2, ({ data, message }) => (data ? give(data.output, data.reports) : give(`error: ${message}`)));
    };
    const timer = setInterval(attempt, 500);
    attempt();
  });
}

function ask(worker) {
  return answer((port, take) => {
    worker.onerror = take;
    worker.postMessage(0, [port]);
  });
}

async function askService() {
  const { active, waiting, installing } = await navigator.serviceWorker.register(new URL('./service.js', import.meta.url), { type: 'module' });
  return ask(active ?? waiting ?? installing);
}

/** A shared worker gets a port with each connection. */
function askShared(connect) {
  return answer((_, take) => {
    const worker = connect();
    worker.port.onmessage = worker.onerror = take;
  });
}

const page = done.then(() => globalThis.shown);
const asked = {
  page,
  module: ask(new Worker(new URL('./module.js', import.meta.url), { type: 'module' })),
  classic: ask(new Worker(new URL('./classic.js', import.meta.url))),
  shared: askShared(() => new SharedWorker(new URL('./shared.js', import.meta.url), { type: 'module' })),
  service: askService().catch(error => ({ output: String(error), reports: [] })),
};
const entries = await Promise.all(Object.entries(asked).map(async ([name, promise]) => [name, await promise]));
globalThis.everywhere = Object.fromEntries(entries);
