// What a program sees of WebAssembly.promising and WebAssembly.Suspending, which the host of instrumented programs replaces.
const { promising, Suspending } = WebAssembly;
const shown = object => JSON.stringify(Object.getOwnPropertyDescriptors(object));
console.log(promising.name, shown(promising), Suspending.name, Object.keys(Object.getOwnPropertyDescriptors(Suspending)).join());
console.log(Suspending.prototype.constructor === Suspending, new Suspending(() => 1) instanceof Suspending, shown(Suspending.prototype));
for (const use of [() => promising(), () => promising(() => 1), () => Suspending(() => 1), () => new Suspending(3), () => new promising(() => 1)])
  try {
    use();
    console.log('done');
  } catch (error) {
    console.log(error.name, error.message, error.stack.split('\n').length);
  }
