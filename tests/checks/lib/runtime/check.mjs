// What the tests of this folder count with.
let passed = 0, failed = 0;

export function check(what, ok, ...details) {
  if (ok) {
    passed++;
  } else {
    failed++;
    console.log(`# failed: ${what}`, ...details);
  }
}

/** Says how many checks passed and ends the test. */
export function finish() {
  console.log(`# ${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
