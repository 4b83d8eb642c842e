// Names of functions: those that OUT.views.js has, and those in the section `name` of modules.
import { parts } from './parts.js';
import { createReader } from './reader.js';

const FUNCTION_NAMES = 1; // a part of the section `name`
const OUR_MODULES = ['whammc', 'whammc_runtime']; // instrumentation adds imports from these modules

/** Tells the names of the program with this id: { names, demangled }. */
export function addNames(id, names) {
  (parts.names ??= {})[id] = names;
}

// Names by index, of the section `name`.
function readNames(module) {
  const names = new Map(), [section] = parts.Module.customSections(module, 'name');
  if (!section) return names;
  const sections = createReader(new Uint8Array(section), 'name');
  try {
    while (sections.more()) {
      const kind = sections.byte(), part = createReader(sections.take(sections.unsigned()), 'name');
      for (let n = kind === FUNCTION_NAMES ? part.unsigned() : 0; n > 0; n--)
        names.set(part.unsigned(), new TextDecoder().decode(part.take(part.unsigned())));
    }
  } catch {
    // the section is damaged; names read so far are kept
  }
  return names;
}

/** The names of functions by their index in the program before instrumentation, as its module has them. */
export function namesInModule(module) {
  const imports = parts.Module.imports(module).filter(one => one.kind === 'function');
  const own = imports.filter(one => !OUR_MODULES.includes(one.module)), added = imports.length - own.length;
  const names = own.map(one => `${one.module}.${one.name}`);
  for (const [index, name] of readNames(module)) if (index < own.length || index >= imports.length) names[index < own.length ? index : index - added] = name;
  return names;
}

/** The names of a program, { id, module, names?, demangled? }: { names, demangled }, by index. */
export function namesOf({ id, module, names, demangled }) {
  return parts.names?.[id] ?? (names ? { names, demangled } : { names: namesInModule(module), demangled: {} });
}
