// plugin/registry.mjs - the instrumenters by the number that loaders get as an option.
export const instrumenters = new Map();
