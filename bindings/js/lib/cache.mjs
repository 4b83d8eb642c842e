// lib/cache.mjs - what pages keep in IndexedDB. Where there is none, or it is full or forbidden, nothing is kept.

const DATABASE = 'whammc', STORE = 'modules';

const answer = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

function open() {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return answer(request);
}

/** get() gives null for what is not there. */
export function createCache(wanted) {
  let database = null;
  const store = async mode => {
    database ??= open();
    return (await database).transaction(STORE, mode).objectStore(STORE);
  };
  const attempt = work => (wanted && globalThis.indexedDB ? work().catch(() => null) : Promise.resolve(null));
  return {
    get: key => attempt(async () => await answer((await store('readonly')).get(key)) ?? null),
    put: (key, value) => attempt(async () => answer((await store('readwrite')).put(value, key))),
  };
}
