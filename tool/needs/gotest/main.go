// Command gotest runs go test and prints what it prints. It also counts the tests that were skipped, by what they
// lack, and the cases that were left out:
//
//	gotest [-to FILE] go test FLAGS PACKAGES
//
// go test itself names skipped tests only among all others, with -v. The file gets a line for each of them, for
// gotest -sum FILES, which prints the count.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	case len(args) < 2:
		err = errors.New("name the command: go test FLAGS PACKAGES")
	default:
		err = run(slices.Insert(slices.Clone(args), 2, "-json"), *to)
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
	err := r.of(args)
	return errors.Join(err, r.keep(to))
}

// of prints what the command's events say.
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

// sumUp prints how many lines the files hold of each kind.
func sumUp(w io.Writer, files []string) error {
	counts := map[string]int{}
	for _, name := range files {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) { // Its stage did not get as far.
			continue
		} else if err != nil {
			return err
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			kind, _, _ := strings.Cut(lines.Text(), "\t")
			counts[kind]++
		}
		if err := errors.Join(lines.Err(), file.Close()); err != nil {
			return err
		}
	}
	return printCounts(w, counts)
}
