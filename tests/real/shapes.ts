// An AssemblyScript program: classes, virtual calls, arrays, the garbage collected heap.
abstract class Shape {
  abstract area(): f64;
}
class Square extends Shape {
  constructor(public side: f64) { super(); }
  area(): f64 { return this.side * this.side; }
}
class Circle extends Shape {
  constructor(public radius: f64) { super(); }
  area(): f64 { return 3.0 * this.radius * this.radius; }
}

export function total(n: i32): f64 {
  const shapes = new Array<Shape>();
  for (let i = 0; i < n; i++)
    shapes.push(i % 2 ? new Square(i as f64) : new Circle(i as f64));
  let sum: f64 = 0;
  for (let i = 0; i < shapes.length; i++)
    sum += shapes[i].area();
  return sum;
}

export function words(n: i32): i32 {
  const seen = new Map<string, i32>();
  for (let i = 0; i < n; i++) {
    const word = (i * i % 37).toString();
    seen.set(word, seen.has(word) ? seen.get(word) + 1 : 1);
  }
  let most = 0;
  const keys = seen.keys();
  for (let i = 0; i < keys.length; i++)
    most = max(most, seen.get(keys[i]));
  return most * 100 + keys.length;
}
