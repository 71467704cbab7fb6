// Command gotest runs go test and prints what it prints, then how many tests were skipped, by what they lack, and how
// many cases tests tried of those that there are:
//
//	gotest [-to FILE] go test FLAGS PACKAGES
//
// go test itself names skipped tests only among all others, with -v. With -to, the file gets a line for each test
// instead, which gotest -sum FILES counts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	to := flag.String("to", "", "the `file` that gets a line for each skipped test")
	sum := flag.Bool("sum", false, "count the lines of files")
	flag.Parse()
	var err error
	switch args := flag.Args(); {
	case *sum:
		err = sumUp(os.Stdout, args)
	case !slices.Contains(args, "test"):
		err = errors.New("name the command: go test FLAGS PACKAGES")
	default:
		err = run(slices.Insert(args, slices.Index(args, "test")+1, "-json"), *to)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(max(exit.ExitCode(), 1))
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(2)
	}
}

// run runs the command, which prints events, and writes the skips to the file.
func run(args []string, to string) error {
	r := newReport(os.Stdout)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	err := r.of(args)
	return errors.Join(err, r.keep(to))
}

// of runs the command and prints what its events say.
func (r *report) of(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	err = r.read(events)
	return errors.Join(err, cmd.Wait())
}

// sumUp prints how many lines the files hold of each kind. A stage that did not begin wrote none.
func sumUp(w io.Writer, files []string) error {
	var lines []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		lines = append(lines, strings.FieldsFunc(string(text), func(c rune) bool { return c == '\n' })...)
	}
	return printCounts(w, lines)
}
