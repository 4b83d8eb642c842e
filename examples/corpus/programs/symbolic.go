// symbolic: see symbolic.c.
package main

import (
	"fmt"
	"sort"
)

const (
	queens = 8
	count  = 20000
	shapes = 30000
)

func place(row int, columns, left, right uint32) int {
	if row == queens {
		return 1
	}
	found := 0
	for free := ^(columns | left | right) & (1<<queens - 1); free != 0; free &= free - 1 {
		bit := free & -free
		found += place(row+1, columns|bit, (left|bit)<<1, (right|bit)>>1)
	}
	return found
}

func sorted() uint32 {
	values, seed := make([]uint32, count), uint32(7)
	for i := range values {
		seed = seed*1664525 + 1013904223
		values[i] = seed
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[count/2]
}

type shape interface{ area() float64 }
type square struct{ size float64 }
type circle struct{ size float64 }
type triangle struct{ size float64 }

func (s square) area() float64   { return s.size * s.size }
func (s circle) area() float64   { return s.size * s.size * 3 }
func (s triangle) area() float64 { return s.size * s.size / 2 }

func total() float64 {
	all, sum := make([]shape, shapes), 0.0
	for i := range all {
		size := float64(i % 10)
		switch i * 7 % 3 {
		case 0:
			all[i] = square{size}
		case 1:
			all[i] = circle{size}
		default:
			all[i] = triangle{size}
		}
	}
	for _, one := range all {
		sum += one.area()
	}
	return sum
}

func main() {
	fmt.Printf("%d %d %.0f\n", place(0, 0, 0, 0), sorted(), total())
}
