// check_valid reads profiles as pprof does and prints a line for each: its path and what is wrong with it, or "ok" and the number of
// samples. What it reads must not change by being written again.
package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func check(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return 0, err
	}
	if err := p.CheckValid(); err != nil {
		return 0, err
	}
	var again bytes.Buffer
	if err := p.Write(&again); err != nil {
		return 0, err
	}
	same, err := profile.ParseData(again.Bytes())
	if err != nil {
		return 0, err
	}
	if p.String() != same.String() {
		return 0, fmt.Errorf("it changes when it is written again")
	}
	merged, err := profile.Merge([]*profile.Profile{p, same})
	if err != nil {
		return 0, err
	}
	return len(p.Sample), merged.CheckValid()
}

func main() {
	for _, path := range os.Args[1:] {
		if n, err := check(path); err != nil {
			fmt.Printf("%s: %v\n", path, err)
		} else {
			fmt.Printf("%s: ok %d\n", path, n)
		}
	}
}
