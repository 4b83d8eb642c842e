// The service worker: keeps all files of one version of the page, so that it works without a network. The build fills in what
// is between @.
const VERSION = 'whammc-playground-' + '@VERSION@', FILES = '@FILES@';

addEventListener('install', event => {
  event.waitUntil((async () => {
    const cache = await caches.open(VERSION);
    await cache.addAll(FILES.map(file => new Request(file, { cache: 'reload' })));
    await skipWaiting();
  })());
});

addEventListener('activate', event => {
  event.waitUntil((async () => {
    const scope = 'whammc-playground-';
    for (const name of await caches.keys()) if (name.startsWith(scope) && name !== VERSION) await caches.delete(name);
    await clients.claim();
  })());
});

addEventListener('fetch', event => {
  const { request } = event;
  if (request.method !== 'GET' || new URL(request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    const cache = await caches.open(VERSION);
    return await cache.match(request, { ignoreSearch: true }) ?? (request.mode === 'navigate' ? await cache.match('./') : null) ?? fetch(request);
  })());
});
