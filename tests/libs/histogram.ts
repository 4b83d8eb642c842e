// A library for tests, in AssemblyScript: classes, arrays, strings and a map on a garbage collected heap.
class Bucket {
  count: i32 = 0;
  sum: f64 = 0;
  constructor(public label: string) {}
}

class Histogram {
  private buckets: Map<i32, Bucket> = new Map<i32, Bucket>();
  private order: Array<i32> = new Array<i32>();

  constructor(private width: i32) {}

  add(value: i32): Bucket {
    const key = value / this.width;
    if (!this.buckets.has(key)) {
      const from = key * this.width;
      this.buckets.set(key, new Bucket(from.toString() + ".." + (from + this.width - 1).toString()));
      this.order.push(key);
      this.order.sort((a, b) => a - b);
    }
    const bucket = this.buckets.get(key);
    bucket.count++;
    bucket.sum += value as f64;
    return bucket;
  }

  at(rank: i32): Bucket {
    return this.buckets.get(this.order[rank]);
  }

  get length(): i32 { return this.order.length; }
}

const histogram = new Histogram(10);

/** Adds a value: how many its bucket has now. */
export function add(value: i32): i32 { return histogram.add(value).count; }
/** The number of buckets. */
export function buckets(): i32 { return histogram.length; }
/** The mean of the values in the bucket of a rank, the one of the smallest values first; traps if there is none. */
export function mean(rank: i32): f64 { return histogram.at(rank).sum / (histogram.at(rank).count as f64); }
/** A number made of the characters of that bucket's label. */
export function label(rank: i32): i64 {
  const text = histogram.at(rank).label;
  let code: i64 = 0;
  for (let i = 0; i < text.length; i++)
    code = code * 31 + (text.charCodeAt(i) as i64);
  return code;
}
