// lib/evict.mjs - keeps the folder of a cache below a limit: what was not used for the longest time goes first.

// Files and folders of the cache begin with keys: { names, size, used } of each. Others may remove them meanwhile.
function readEntries(fs, folder) {
  const entries = new Map();
  for (const name of fs.readdirSync(folder)) {
    const [key] = /^[\da-f]{16,}/.exec(name) ?? [], path = `${folder}/${name}`, found = key && fs.statSync(path, { throwIfNoEntry: false });
    if (!found) continue;
    const inside = found.isDirectory() ? fs.readdirSync(path).map(each => fs.statSync(`${path}/${each}`, { throwIfNoEntry: false })?.size ?? 0) : [found.size];
    const entry = entries.get(key) ?? { key, paths: [], size: 0, used: 0 };
    entry.paths.push(path);
    entry.size += inside.reduce((sum, size) => sum + size, 0);
    entry.used = Math.max(entry.used, found.atimeMs, found.mtimeMs);
    entries.set(key, entry);
  }
  return [...entries.values()].sort((a, b) => a.used - b.used);
}

/** Removes entries until all have at most `limit` bytes; those in `keep`, a Set of keys, stay. A folder that cannot be read stays as it is. */
export function evict(fs, folder, limit, keep) {
  try {
    const entries = readEntries(fs, folder);
    let size = entries.reduce((sum, entry) => sum + entry.size, 0);
    for (const entry of entries.filter(({ key }) => !keep.has(key))) {
      if (size <= limit) return;
      entry.paths.forEach(path => fs.rmSync(path, { recursive: true, force: true }));
      size -= entry.size;
    }
  } catch { // another process has changed it
  }
}

/** Notes that a file of the cache was used now; its time of change stays. */
export function noteUse(fs, path) {
  try {
    fs.utimesSync(path, new Date(), fs.statSync(path).mtime);
  } catch { // it is not ours to write
  }
}
