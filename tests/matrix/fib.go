package main

import (
	"fmt"
	"os"
)

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func main() {
	fmt.Println(fib(9 + len(os.Args)))
	os.Exit(3)
}
