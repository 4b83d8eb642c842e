// Programs of several modules that call each other: there is one stack, of which each module has the part of its own functions. Where a
// function of another module begins, that part is left, as where a promise is awaited (suspend.js), and resumed when the function has
// ended. The other module is told the stack that it is called from: it makes nodes of its own tree for that.
//
// Of such a node the function is MARK; it has a child whose function is the number of the module (module_id), and that one a child with
// the function itself. So all trees have the same names for a function of another module, and only readers need to know what they mean
// (profile/profile_homes.h).
import { parts } from './parts.js';

const MARK = 0xfffffffa, FIRST_STACK = 0x40000000;

class Modules {
  #running = null;         // the program of which a function runs; null = none
  #left = [];              // for each crossing into another module, the outermost first: { program, stack } that were left
  #stack = 0;              // the current stack, of those of which suspend.js tells
  #away = new Map();       // what the others have left, by their numbers
  #unused = [];            // numbers of stacks
  #told = [];              // what a module has told the one that runs next
  #ended = false;          // the last thing that happened is that a function has ended that no module had called
  #crosses = false;        // a stack is being left, or resumed, for a call of another module
  #last = FIRST_STACK;

  /** A function of `program` begins, and none of it was running. Returns the place in its tree that is its caller; 0 = the root. */
  arrive(program) {
    const from = this.#running === program ? null : this.#running, stack = from ? this.#unused.pop() ?? ++this.#last : 0;
    const at = from?.exports['whammc:tree_here']?.() ?? 0, place = at ? program.placeFor(from, at) : 0;
    if (from || !this.#ended) this.#told = []; // else it may be a tail call of one that has departed and told
    this.#ended = false;
    if (from) this.#cross(from, 'whammc:suspend', stack);
    if (program.starts) this.#told = [];
    this.#left.push({ program: this.#running, stack });
    this.#running = program;
    return place;
  }

  /** The function has ended. */
  depart() {
    const { program, stack } = this.#left.pop() ?? {};
    this.#running = program ?? null;
    this.#ended = !program;
    if (!stack) return;
    this.#cross(program, 'whammc:resume', stack);
    this.#unused.push(stack);
  }

  #cross(program, name, stack) {
    this.#crosses = true;
    program.exports[name]?.(stack);
    this.#crosses = false;
  }

  get crosses() {
    return this.#crosses;
  }

  tell(n, value) {
    this.#told[n] = value;
  }

  told(n) {
    return this.#told[n] ?? 0;
  }

  /** The stack with this number becomes the current one for all modules. `isNew`: nothing has run on it. */
  go(to, isNew = false) {
    if (to === this.#stack) return;
    this.#away.set(this.#stack, { running: this.#running, left: this.#left });
    const { running = null, left = [] } = (!isNew && this.#away.get(to)) || {};
    this.#away.delete(to);
    this.#stack = to;
    this.#ended = false;
    this.#running = running;
    this.#left = left;
  }
}

/** What a program imports to tell that it is called. */
function createProgram(modules) {
  const known = new Map(); // by the program that calls: places of its tree -> those of this one

  // The functions from the root to a place, { module, func, site }, the outermost first.
  function stackAt(caller, place) {
    const nodes = [], stack = [], { id, exports } = caller;
    const { 'whammc:tree_parent': parent, 'whammc:tree_function': function_, 'whammc:tree_site': site } = exports;
    for (let at = place; at; at = parent(at)) nodes.unshift({ func: function_(at) >>> 0, site: site?.(at) ?? 0 });
    for (let i = 0; i < nodes.length; i++)
      if (nodes[i].func === MARK && i + 2 < nodes.length) {
        stack.push({ module: nodes[i + 1].func, ...nodes[i + 2] });
        i += 2;
      } else stack.push({ module: id, ...nodes[i] });
    return stack;
  }

  function makePlace(stack) {
    const { 'whammc:tree_go_untimed': go, 'whammc:tree_descend': descend, 'whammc:tree_here': here } = program.exports;
    go(0);
    for (const { module, func, site } of stack) {
      if (module !== program.id) for (const one of [MARK, module]) descend(one | 0, 0);
      descend(func | 0, site);
    }
    const place = here();
    go(0);
    return place;
  }

  const program = {
    id: 0,
    exports: {},
    imports: {
      arrive(id) {
        program.id = id >>> 0;
        return modules.arrive(program);
      },
      depart: () => modules.depart(),
      crossing: () => Number(modules.crosses),
      tell: (n, value) => modules.tell(n, value),
      told: n => modules.told(n),
    },

    /** Whether it does not exist yet: its start function runs. */
    get starts() {
      return !program.exports['whammc:suspend'];
    },

    /** The place that stands for one of the tree of a program that calls this one. */
    placeFor(caller, place) {
      if (!program.exports['whammc:tree_descend']) return 0;
      if (!known.has(caller)) known.set(caller, new Map());
      const places = known.get(caller);
      if (!places.has(place)) places.set(place, makePlace(stackAt(caller, place)));
      return places.get(place);
    },
  };
  return program;
}

const modules = new Modules();
parts.modules ??= {
  createProgram: () => createProgram(modules),
  go: (to, isNew) => modules.go(to, isNew),
};
