// lib/policy.mjs - which directives of the page's Content-Security-Policy have stood in the way.

const violations = [];
globalThis.addEventListener?.('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => violations.push({ effectiveDirective, blockedURI }));

/** The error, with the directive that has forbidden to load the file `name` of the package, if one has. The event comes after the error. */
export async function explainPolicy(error, name) {
  await new Promise(resolve => setTimeout(resolve, 0));
  const found = violations.find(({ blockedURI }) => blockedURI.endsWith(`/${name}`));
  return found ? new Error(`the page's policy does not let ${name} be loaded: directive ${found.effectiveDirective}`, { cause: error }) : error;
}
