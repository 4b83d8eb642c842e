// lib/workers.mjs - workers that have not loaded the hook: a page cannot do that for them, but says so.
//
// Workers with the hook tell of that in a channel, when they have loaded it and when a page asks.
const CHANNEL = 'whammc.hooks', PATIENCE = { load: 5000, answer: 2000 }; // ms

/**
 * Says for each worker that this page, or worker, starts and that has not loaded the hook within some seconds, that it is not counted.
 * `started`: the addresses of those that it has started before.
 */
export function watchWorkers(say, started) {
  const channel = new BroadcastChannel(CHANNEL), hooked = new Set(), told = new Set(); // addresses
  const wait = time => new Promise(resolve => { setTimeout(resolve, time); });

  channel.onmessage = ({ data: { address, asked } }) => {
    if (address) hooked.add(address);
    if (asked === location.href && !globalThis.document) channel.postMessage({ address: asked });
  };
  if (!globalThis.document) channel.postMessage({ address: location.href });

  async function check(given) {
    let address;
    try {
      address = String(new URL(given, globalThis.document?.baseURI ?? location.href));
    } catch { // which the engine says
      return;
    }
    if (/^blob:.*#whammc$/.test(address)) return; // a thread of our own
    await wait(PATIENCE.load);
    if (hooked.has(address) || told.has(address)) return;
    channel.postMessage({ asked: address }); // it is an old one, of another page
    await wait(PATIENCE.answer);
    if (hooked.has(address) || told.has(address)) return;
    told.add(address);
    say(`the worker ${address} has not loaded the hook: what it loads is not counted; see "Pages without changes" in the manual`);
  }

  started.forEach(check);
  for (const name of ['Worker', 'SharedWorker'].filter(one => globalThis[one])) {
    const original = globalThis[name];
    globalThis[name] = new Proxy(original, {
      construct(target, args, newTarget) {
        const worker = Reflect.construct(target, args, newTarget);
        check(args[0]);
        return worker;
      },
    });
    original.prototype.constructor = globalThis[name];
  }
  const { prototype } = globalThis.ServiceWorkerContainer ?? {};
  if (prototype)
    prototype.register = new Proxy(prototype.register, {
      apply(target, self, args) {
        check(args[0]);
        return Reflect.apply(target, self, args);
      },
    });
}
