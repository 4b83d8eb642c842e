// The same for CommonJS.
export * from './index.mjs';
