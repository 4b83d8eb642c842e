// lib/cache.mjs - what pages keep in IndexedDB: modules, and when each was last used. Where there is none, or it is full or forbidden,
// nothing is kept; of what is more than LIMIT bytes, that which was not used for the longest time goes.

const DATABASE = 'whammc', VERSION = 2, MODULES = 'modules', USES = 'uses', LIMIT = 500e6;

const answer = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

function open() {
  const request = indexedDB.open(DATABASE, VERSION);
  request.onupgradeneeded = () => {
    const { result } = request;
    for (const name of result.objectStoreNames) result.deleteObjectStore(name); // of another version
    for (const name of [MODULES, USES]) result.createObjectStore(name);
  };
  return answer(request);
}

/** get() gives null for what is not there; put() also takes the size of the value, in bytes. */
export function createCache(wanted, limit = LIMIT) {
  let database = null;
  const stores = async () => {
    database ??= open();
    const transaction = (await database).transaction([MODULES, USES], 'readwrite');
    return [MODULES, USES].map(name => transaction.objectStore(name));
  };
  const attempt = work => (wanted && globalThis.indexedDB ? work().catch(() => null) : Promise.resolve(null));
  const note = (uses, key, size) => uses.put({ size, used: Date.now() }, key);

  async function evict(modules, uses, newest) {
    const [keys, values] = await Promise.all([answer(uses.getAllKeys()), answer(uses.getAll())]);
    const entries = values.map((value, i) => ({ ...value, key: keys[i] })).sort((a, b) => a.used - b.used);
    let size = entries.reduce((sum, each) => sum + each.size, 0);
    for (const each of entries.filter(({ key }) => key !== newest)) {
      if (size <= limit) return;
      modules.delete(each.key);
      uses.delete(each.key);
      size -= each.size;
    }
  }

  return {
    get: key => attempt(async () => {
      const [modules, uses] = await stores(), [found, use] = await Promise.all([answer(modules.get(key)), answer(uses.get(key))]);
      if (use) note(uses, key, use.size);
      return found ?? null;
    }),
    put: (key, value, size) => attempt(async () => {
      const [modules, uses] = await stores();
      modules.put(value, key);
      note(uses, key, size);
      await evict(modules, uses, key);
    }),
  };
}
