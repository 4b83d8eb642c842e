// numeric: see numeric.c; AssemblyScript. Without output, as that would take imports: main() returns 0 if the results are right.
const N = 96;
const STEPS = 12;
const LIMIT = 200000;

function matrix(seed: u32): Float64Array {
    const m = new Float64Array(N * N);
    for (let i = 0; i < N * N; i++) {
        seed = seed * 1664525 + 1013904223;
        m[i] = <f64>(seed >> 28) - 8;
    }
    return m;
}

function product(): f64 {
    const a = matrix(1), b = matrix(2), c = new Float64Array(N * N);
    for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++)
            for (let k = 0; k < N; k++)
                c[i * N + j] += a[i * N + k] * b[k * N + j];
    let trace: f64 = 0;
    for (let i = 0; i < N; i++) trace += c[i * N + i];
    return trace;
}

function stencil(): f64 {
    let a = matrix(3), b = matrix(3);
    for (let t = 0; t < STEPS; t++) {
        for (let i = 1; i < N - 1; i++)
            for (let j = 1; j < N - 1; j++)
                b[i * N + j] = (a[i * N + j] + a[i * N + j - 1] + a[i * N + j + 1] + a[(i - 1) * N + j] + a[(i + 1) * N + j]) / 4;
        const swap = a;
        a = b;
        b = swap;
    }
    return a[N * N / 2 + N / 2];
}

function sieve(): i32 {
    const composite = new Uint8Array(LIMIT);
    let primes = 0;
    for (let i = 2; i < LIMIT; i++) {
        if (composite[i]) continue;
        primes++;
        for (let j = 2 * i; j < LIMIT; j += i) composite[j] = 1;
    }
    return primes;
}

export function main(): i32 {
    return product() == floor(product()) && stencil() > -1e9 && sieve() == 17984 ? 0 : 1;
}
