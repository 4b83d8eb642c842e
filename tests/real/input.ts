// What esbuild is given.
interface Point { x: number; y?: number }
enum Colour { Red, Green = 4, Blue }
export const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, (a.y ?? 0) - (b.y ?? 0));
export class Stack<T> {
  #items: T[] = [];
  push(...items: T[]) { this.#items.push(...items); return this; }
  get top(): T | undefined { return this.#items.at(-1); }
  static async *count(n: number) { for (let i = 0; i < n; i++) yield i ** 2; }
}
console.log(Colour.Blue, new Stack<Colour>().push(Colour.Red)?.top, `${distance({ x: 1 }, { x: 4, y: 4 })}`);
