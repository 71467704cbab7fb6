package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// event is a line of go test -json: go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// report prints each package when it has ended.
type report struct {
	out      io.Writer
	packages map[string]*result
	lines    []string // one for each test that was skipped or tried a part of its cases
}

// result is what one package's tests said.
type result struct {
	own   []string            // not of a test
	said  map[string][]string // by the test
	order []string            // of the tests
}

func newReport(out io.Writer) *report { return &report{out: out, packages: map[string]*result{}} }

func (r *report) read(events io.Reader) error {
	in := bufio.NewReader(events)
	for {
		line, err := in.ReadString('\n')
		var e event
		if line != "" && json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(r.out, line)
		} else if line != "" {
			r.take(e)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(r.out, e.Output)
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &result{said: map[string][]string{}}
		r.packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		p.hear(e)
	case "pass", "skip":
		if e.Test != "" {
			r.count(e, strings.Join(p.said[e.Test], ""))
			delete(p.said, e.Test)
			return
		}
		for _, line := range p.own {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") {
				fmt.Fprint(r.out, line)
			}
		}
	case "fail":
		if e.Test != "" {
			return
		}
		for _, test := range p.order {
			fmt.Fprint(r.out, strings.Join(p.said[test], ""))
		}
		fmt.Fprint(r.out, strings.Join(p.own, ""))
	}
}

// hear keeps what go test would print without -v, the verdict of a test before its messages.
func (p *result) hear(e event) {
	text := strings.TrimLeft(e.Output, " ")
	switch {
	case e.Test == "" && (strings.HasPrefix(e.Output, "=== ") || e.Output == "PASS\n"):
	case e.Test == "":
		p.own = append(p.own, e.Output)
	case strings.HasPrefix(text, "=== "):
		if !slices.Contains(p.order, e.Test) {
			p.order = append(p.order, e.Test)
		}
	case strings.HasPrefix(text, "--- FAIL"):
		p.said[e.Test] = slices.Insert(p.said[e.Test], 0, e.Output)
	default:
		p.said[e.Test] = append(p.said[e.Test], e.Output)
	}
}

// tried is what a test logs of the cases that it chose.
var tried = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(sweep.Mark + `(\d+) of (\d+)(, seed \d+)?(?::|\n)`)
})

// count notes a test that was skipped, or that chose among its cases.
func (r *report) count(e event, said string) {
	test := e.Package + "." + e.Test
	if e.Action == "skip" {
		kind := "skipped without saying what it lacks"
		if _, thing, ok := strings.Cut(said, needs.Mark); ok {
			kind = "skipped " + needs.Mark + strings.FieldsFunc(thing, func(c rune) bool { return c == ':' || c == '\n' })[0]
		}
		r.lines = append(r.lines, kind+"\t"+test)
	}
	for _, m := range tried().FindAllStringSubmatch(said, -1) {
		r.lines = append(r.lines, strings.Join([]string{"swept" + m[3], test, m[1], m[2]}, "\t"))
	}
}

// keep writes the lines to the file, or prints their count where none is named.
func (r *report) keep(to string) error {
	if to == "" {
		return printCounts(r.out, r.lines)
	}
	slices.Sort(r.lines)
	return os.WriteFile(to, []byte(strings.Join(append(r.lines, ""), "\n")), 0o644)
}

// printCounts prints how many lines there are of each kind, with the sums of their cases.
func printCounts(w io.Writer, lines []string) error {
	counts := map[string][3]int{} // tests, cases that they tried, cases that there are
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		sum := counts[fields[0]]
		sum[0]++
		for i, number := range fields[min(2, len(fields)):] {
			n, err := strconv.Atoi(number)
			if err != nil {
				return err
			}
			sum[i+1] += n
		}
		counts[fields[0]] = sum
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		sum, tests, cases := counts[kind], "tests", ""
		if sum[0] == 1 {
			tests = "test"
		}
		if sum[2] > 0 {
			cases = fmt.Sprintf(": %d of %d cases", sum[1], sum[2])
		}
		if _, err := fmt.Fprintf(w, "%d %s %s%s\n", sum[0], tests, kind, cases); err != nil {
			return err
		}
	}
	return nil
}
