// symbolic: see symbolic.c; AssemblyScript. main() returns 0 if the results are right.
const QUEENS: u32 = 8;
const COUNT = 20000;
const SHAPES = 30000;

function place(row: u32, columns: u32, left: u32, right: u32): u32 {
    if (row == QUEENS) return 1;
    let found: u32 = 0;
    for (let free: u32 = ~(columns | left | right) & ((1 << QUEENS) - 1); free; free &= free - 1) {
        const bit: u32 = free & -free;
        found += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}

function sorted(): u32 {
    const values = new Array<u32>(COUNT);
    let seed: u32 = 7;
    for (let i = 0; i < COUNT; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = seed;
    }
    values.sort((a, b) => (a < b ? -1 : i32(a > b)));
    return values[COUNT / 2];
}

abstract class Shape {
    constructor(public size: f64) {}
    abstract area(): f64;
}
class Square extends Shape {
    area(): f64 {
        return this.size * this.size;
    }
}
class Circle extends Shape {
    area(): f64 {
        return this.size * this.size * 3;
    }
}
class Triangle extends Shape {
    area(): f64 {
        return this.size * this.size / 2;
    }
}

function shapes(): f64 {
    const all = new Array<Shape>();
    for (let i = 0; i < SHAPES; i++) {
        const size = <f64>(i % 10), kind = i * 7 % 3;
        all.push(kind == 0 ? <Shape>new Square(size) : kind == 1 ? <Shape>new Circle(size) : new Triangle(size));
    }
    let total: f64 = 0;
    for (let i = 0; i < SHAPES; i++) total += all[i].area();
    return total;
}

export function main(): i32 {
    return place(0, 0, 0, 0) == 92 && sorted() > 0 && shapes() == 1282500 ? 0 : 1;
}
