// numeric: see numeric.c.
const N: usize = 96;
const STEPS: usize = 12;
const LIMIT: usize = 200_000;

fn matrix(mut seed: u32) -> Vec<f64> {
    (0..N * N)
        .map(|_| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            f64::from(seed >> 28) - 8.0
        })
        .collect()
}

fn product() -> f64 {
    let (a, b, mut c) = (matrix(1), matrix(2), vec![0.0; N * N]);
    for i in 0..N {
        for j in 0..N {
            for k in 0..N {
                c[i * N + j] += a[i * N + k] * b[k * N + j];
            }
        }
    }
    (0..N).map(|i| c[i * N + i]).sum()
}

fn stencil() -> f64 {
    let (mut a, mut b) = (matrix(3), matrix(3));
    for _ in 0..STEPS {
        for i in 1..N - 1 {
            for j in 1..N - 1 {
                b[i * N + j] = (a[i * N + j] + a[i * N + j - 1] + a[i * N + j + 1] + a[(i - 1) * N + j] + a[(i + 1) * N + j]) / 4.0;
            }
        }
        std::mem::swap(&mut a, &mut b);
    }
    a[N * N / 2 + N / 2]
}

fn sieve() -> usize {
    let mut composite = vec![false; LIMIT];
    let mut primes = 0;
    for i in 2..LIMIT {
        if !composite[i] {
            primes += 1;
            for j in (2 * i..LIMIT).step_by(i) {
                composite[j] = true;
            }
        }
    }
    primes
}

fn main() {
    println!("{:.0} {:.3} {}", product(), stencil(), sieve());
}
