// symbolic: see symbolic.c.
const QUEENS: u32 = 8;
const COUNT: usize = 20_000;
const SHAPES: usize = 30_000;

fn place(row: u32, columns: u32, left: u32, right: u32) -> u32 {
    if row == QUEENS {
        return 1;
    }
    let mut found = 0;
    let mut free = !(columns | left | right) & ((1 << QUEENS) - 1);
    while free != 0 {
        let bit = free & free.wrapping_neg();
        found += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
        free &= free - 1;
    }
    found
}

fn sorted() -> u32 {
    let mut seed: u32 = 7;
    let mut values: Vec<u32> = (0..COUNT)
        .map(|_| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            seed
        })
        .collect();
    values.sort_unstable_by(|a, b| a.cmp(b));
    values[COUNT / 2]
}

trait Shape {
    fn area(&self) -> f64;
}
struct Square(f64);
struct Circle(f64);
struct Triangle(f64);
impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}
impl Shape for Circle {
    fn area(&self) -> f64 {
        self.0 * self.0 * 3.0
    }
}
impl Shape for Triangle {
    fn area(&self) -> f64 {
        self.0 * self.0 / 2.0
    }
}

fn shapes() -> f64 {
    let all: Vec<Box<dyn Shape>> = (0..SHAPES)
        .map(|i| -> Box<dyn Shape> {
            let size = (i % 10) as f64;
            match i * 7 % 3 {
                0 => Box::new(Square(size)),
                1 => Box::new(Circle(size)),
                _ => Box::new(Triangle(size)),
            }
        })
        .collect();
    all.iter().map(|shape| shape.area()).sum()
}

fn main() {
    println!("{} {} {:.0}", place(0, 0, 0, 0), sorted(), shapes());
}
