// node --import whammc/register PROGRAM: see the manual, docs/npm.md.
if (process.env.WHAMMC_REGISTER !== 'off' && !globalThis[Symbol.for('whammc.register')]) {
  Object.defineProperty(globalThis, Symbol.for('whammc.register'), { value: true });
  const { register } = await import('./lib/register.mjs');
  register();
}
