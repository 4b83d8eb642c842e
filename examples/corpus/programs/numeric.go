// numeric: see numeric.c.
package main

import "fmt"

const (
	n     = 96
	steps = 12
	limit = 200000
)

func matrix(seed uint32) []float64 {
	m := make([]float64, n*n)
	for i := range m {
		seed = seed*1664525 + 1013904223
		m[i] = float64(seed>>28) - 8
	}
	return m
}

func product() float64 {
	a, b, c := matrix(1), matrix(2), make([]float64, n*n)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			for k := 0; k < n; k++ {
				c[i*n+j] += a[i*n+k] * b[k*n+j]
			}
		}
	}
	trace := 0.0
	for i := 0; i < n; i++ {
		trace += c[i*n+i]
	}
	return trace
}

func stencil() float64 {
	a, b := matrix(3), matrix(3)
	for t := 0; t < steps; t++ {
		for i := 1; i < n-1; i++ {
			for j := 1; j < n-1; j++ {
				b[i*n+j] = (a[i*n+j] + a[i*n+j-1] + a[i*n+j+1] + a[(i-1)*n+j] + a[(i+1)*n+j]) / 4
			}
		}
		a, b = b, a
	}
	return a[n*n/2+n/2]
}

func sieve() int {
	composite := make([]bool, limit)
	primes := 0
	for i := 2; i < limit; i++ {
		if !composite[i] {
			primes++
			for j := 2 * i; j < limit; j += i {
				composite[j] = true
			}
		}
	}
	return primes
}

func main() {
	fmt.Printf("%.0f %.3f %d\n", product(), stencil(), sieve())
}
