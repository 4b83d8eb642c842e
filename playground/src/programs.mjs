// The programs and libraries of the playground, built from examples/ with whammc.

const address = (path) => new URL(path, document.baseURI);

export const PROGRAMS = [
  { name: 'fib', args: '20', about: 'recursive Fibonacci: almost nothing but calls', source: 'fib.c' },
  { name: 'quicksort', args: '2000', about: 'sorts records; comparisons by function pointers', source: 'quicksort.c' },
  { name: 'matmul', args: '48', about: 'products of matrices: nested loops', source: 'matmul.c' },
  { name: 'scheme', args: '1', about: 'a Scheme interpreter and a workload' },
  { name: 'validation', args: '2000', about: 'functions whose times have known ratios', source: 'validation.c' },
];

/** What bundled scripts are best shown with. */
export const BEST = {
  faults: { program: 'scheme', args: `-e "(map (lambda (x) (equal? x '(1 2))) '((1 2) (1 2) (1 2)))"` },
  callgraph: { program: 'quicksort' },
  calltree: { program: 'validation' },
  profile: { program: 'quicksort' },
  sample: { program: 'scheme', args: '20' },
  heap: { program: 'scheme' },
  loops: { program: 'matmul' },
  cache: { program: 'matmul' },
  memory: { program: 'matmul' },
};

export const FIRST = {
  sentence: 'How often each function is entered. Change it: errors are underlined as you type.',
  program: 'fib',
  args: '20',
  script: `// Counts how often each function is entered, and the deepest recursion.
report var deepest: u32;
var depth: u32;

wasm:func:entry {
    report unshared var calls: u64;
    calls++;
    depth++;
    if (depth > deepest) { deepest = depth; }
}

wasm:func:exit {
    depth--;
}
`,
};

async function get(path, as) {
  const answer = await fetch(address(path));
  if (!answer.ok) throw new Error(`${path}: HTTP status ${answer.status}`);
  return answer[as]();
}

export const fetchProgram = async name => new Uint8Array(await get(`programs/${name}.wasm`, 'arrayBuffer'));
export const fetchLibrary = async name => new Uint8Array(await get(`libraries/${name}.wasm`, 'arrayBuffer'));
export const fetchSource = async name => (await get(`programs/${name}`, 'text')).split('\n');
