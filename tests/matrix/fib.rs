use std::sync::atomic::{AtomicU32, Ordering};

#[inline(never)]
#[no_mangle]
pub extern "C" fn fib(n: u32) -> u32 {
    let sum = AtomicU32::new(n); // each call is one, none becomes a loop
    if n >= 2 {
        sum.store(fib(n - 1), Ordering::SeqCst);
        sum.fetch_add(fib(n - 2), Ordering::SeqCst);
    }
    sum.load(Ordering::SeqCst)
}

fn main() {
    let arguments = std::env::args().count() as u32 - 1;
    println!("{}", fib(10 + arguments));
    std::process::exit(3)
}
