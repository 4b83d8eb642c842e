// Stacks of programs that wait for promises (JavaScript Promise Integration): each call of a function that WebAssembly.promising()
// gave has a stack of its own, which is left where an import that is WebAssembly.Suspending returns, and resumed when the promise that
// it returns is settled: engines make one of any other result. Programs are told of it, if they ask.
//
// Whether the engine leaves the stack is known only when it has come back from it: if functions of JavaScript are on the stack, it
// throws a SuspendError instead, and the program goes on.
//
// Of a stack that ends in a later turn of the event loop nobody is told: programs have nothing to do then, as each stack begins
// outside of all functions.
import { parts } from './parts.js';

const { then } = Promise.prototype;
const SUSPEND = 'whammc:suspend', RESUME = 'whammc:resume';

class Stacks {
  #outer = { id: 0 };      // the one of the event loop; others have `awaited`: what the last import that may leave it has returned
  #current = this.#outer;
  #unused = [];            // numbers of stacks that are gone
  #last = 0;
  #told = new Set();       // exports of programs, weakly
  #ended = globalThis.FinalizationRegistry && new FinalizationRegistry(stack => {
    stack.ended = true;
    this.#unused.push(stack.id);
  });

  /** Tells the program from now on. */
  add(exports) {
    if (exports[SUSPEND] || exports[RESUME]) this.#told.add(new WeakRef(exports));
  }

  #tell(name, stack) {
    for (const program of this.#told) {
      const exports = program.deref();
      if (exports) exports[name]?.(stack.id);
      else this.#told.delete(program);
    }
  }

  // From here on `stack` is the current one; `from` is left, unless there is nothing to keep of it.
  #go(stack, from) {
    if (from) this.#tell(SUSPEND, from);
    parts.modules?.go(stack.id, Boolean(from));
    this.#current = stack;
    this.#tell(RESUME, stack);
  }

  // The engine has come back from `stack`: it has ended, or waits.
  #stop(stack) {
    const { awaited } = stack;
    if (this.#current !== stack) return;
    if (awaited) {
      const stop = () => this.#stop(stack);
      this.#tell(SUSPEND, stack);
      Reflect.apply(then, awaited, [stop, stop]); // after the engine has, so that it is called as soon as the engine comes back again
    }
    parts.modules?.go(this.#outer.id);
    this.#current = this.#outer;
  }

  /** call() on a new stack; returns the promise that it gives. */
  begin(call) {
    const caller = this.#current, stack = { id: this.#unused.pop() ?? ++this.#last };
    caller.awaited = null; // it has not been left
    this.#go(stack, caller);
    try {
      const promise = call();
      this.#ended?.register(promise, stack); // the engine keeps the promise as long as the stack
      return promise;
    } finally {
      this.#stop(stack);
      this.#go(caller);
    }
  }

  /**
   * An import has returned `result`: the engine leaves the stack now, and comes back when that is settled. Returns what to give to the
   * engine instead: `settle`, PromiseResolve of its realm, makes a promise of the result, as the engine would. It does so only once, as
   * the `then` of other objects may begin something each time.
   */
  leave(result, settle) {
    const stack = this.#current;
    if (stack === this.#outer) return result;
    const awaited = settle(result), back = () => {
      const hasLeft = stack.awaited === awaited && !stack.ended;
      if (hasLeft) {
        stack.awaited = null;
        this.#go(stack);
      }
      return hasLeft;
    };
    const fail = reason => {
      if (!back()) throw reason; // nobody else handles it
    };
    stack.awaited = awaited;
    Reflect.apply(then, awaited, [back, fail]); // before the engine does, so that it goes on as soon as this has
    return awaited;
  }
}

const makeFollowing = trap => ({ apply: trap });

/**
 * Replaces WebAssembly.promising and WebAssembly.Suspending of a realm. Returns what puts them back. `callEngine` is that of
 * intercept.js.
 */
function interceptStacks(stacks, realm, callEngine) {
  const { WebAssembly } = realm, { promising, Suspending } = WebAssembly;
  const ofEngine = realm === globalThis ? (async () => {})().constructor : realm.Promise; // pages may replace theirs
  const settle = ofEngine.resolve.bind(ofEngine);
  if (!promising || !Suspending || !globalThis.WeakRef) return () => {};
  const onNewStack = makeFollowing((target, self, args) => stacks.begin(() => Reflect.apply(target, self, args)));
  const mayLeave = makeFollowing((target, self, args) => stacks.leave(Reflect.apply(target, self, args), settle));
  WebAssembly.promising = new Proxy(promising, {
    apply(target, self, args) {
      return new Proxy(callEngine(this.apply, () => Reflect.apply(target, self, args)), onNewStack);
    },
  });
  WebAssembly.Suspending = new Proxy(Suspending, {
    construct(target, [called, ...rest], newTarget) {
      const given = typeof called === 'function' ? new Proxy(called, mayLeave) : called;
      return callEngine(this.construct, () => Reflect.construct(target, [given, ...rest], newTarget));
    },
  });
  Suspending.prototype.constructor = WebAssembly.Suspending;
  return () => {
    Object.assign(WebAssembly, { promising, Suspending });
    Suspending.prototype.constructor = Suspending;
  };
}

const stacks = new Stacks();
parts.stacks ??= {
  add: exports => stacks.add(exports),
  intercept: (realm, callEngine) => interceptStacks(stacks, realm, callEngine),
};
