package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/tool/needs/testlog"
)

var update = flag.Bool("update", false, "rewrite the pages made from tables, and the expected outputs in scripts")

// TestMain makes this binary the program itself where it is run as artoo, or by artoo on a layer.
func TestMain(m *testing.M) {
	artoo := func() {
		HideEnvironment()
		p := thisProcess()
		p.Docs = os.DirFS(moduleDir)
		os.Exit(Main(p))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], onLayerArgument) {
		artoo()
	}
	testscript.Main(tests{m}, map[string]func(){
		"artoo":       artoo,
		"crashing":    func() { os.Exit(crashing()) },
		"broken":      func() { os.Exit(broken(os.Args[1])) },
		"testsecrets": func() { os.Exit(testSecrets(context.Background())) },
		"gobrowse":    func() { os.Exit(browse(os.Args[1])) },
		"neighbour":   func() { os.Exit(neighbour(os.Args[1], os.Args[2])) },
	})
}

// thisProcess is the Process that main passes.
func thisProcess() Process {
	dir, _ := os.Getwd() // "" where there is none
	return Process{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Dir: dir, Exit: os.Exit}
}

// tests are the tests themselves, not the program.
type tests struct{ *testing.M }

// Run implements testscript.TestingM.
func (t tests) Run() int {
	// Programs inherit that hangups are ignored, as under nohup, and interrupts, as in a
	// job in a shell's background; a signal that is watched is not, and tests send both.
	for _, sent := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sent) {
			signal.Notify(make(chan os.Signal, 1), sent)
		}
	}
	code := testlog.Run(t.M)
	if err := built.clear(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
