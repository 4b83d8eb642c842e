export function fib(n: i32): i32 {
  assert(n >= 0);
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
