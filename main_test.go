package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the pages made from tables, and the expected outputs in scripts")

// TestMain makes this binary the program itself where it is run as artoo.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"artoo":  main,
		"broken": func() { os.Exit(broken(os.Args[1])) },
	})
}
