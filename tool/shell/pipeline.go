package shell

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Part is a command of a pipeline, and its exit status.
type Part struct {
	Name   string // as in "go test"
	Status int
}

// Failed reports whether the part failed by itself: one whose reader had enough did not.
func (p Part) Failed() bool { return p.Status != 0 && p.Status != brokenPipe }

// brokenPipe is the exit status after SIGPIPE.
const brokenPipe = 128 + 13

// Pipeline is the last pipeline of a line, of which bash reports all statuses. The zero value is that of a line that
// has none, or of which it is not certain that it ends with it.
type Pipeline struct {
	names []string
	// onlyAtZero means that the pipeline was the last one where the line's status is 0; else another may have been.
	onlyAtZero bool
}

// LastPipeline finds the last pipeline of a line that shell, the path of its program, runs.
func LastPipeline(line, shell string) (p Pipeline) {
	if !IsBash(shell) || !parses(line) {
		return p
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return p
	}
	last, and, or := file.Stmts[len(file.Stmts)-1], false, false
	for !isPipe(last) {
		b, chain := last.Cmd.(*syntax.BinaryCmd)
		if !chain || last.Background {
			return p
		}
		and, or, last = and || b.Op == syntax.AndStmt, or || b.Op == syntax.OrStmt, b.Y
	}
	all := parts(last)
	if last.Background || last.Negated {
		return p
	}
	if hasOther(file, last, len(all)) {
		if or || endsEarly(file) {
			return p
		}
		p.onlyAtZero = and
	}
	for _, part := range all {
		p.names = append(p.names, nameOf(part, line))
	}
	return p
}

// IsBash reports whether the path of a shell is that of bash.
func IsBash(shell string) bool { return strings.HasPrefix(strings.ToLower(path.Base(shell)), "bash") }

// parses reports whether a line with a pipe may be parsed, and whether it cannot notice how its statuses are asked for.
// The parser is recursive, so the line is not long.
func parses(line string) bool {
	return strings.Contains(line, "|") && len(line) <= 32<<10 && strings.Count(line, "(") <= 2000 &&
		!slices.ContainsFunc([]string{"$_", "${_", "trap", "BASH_EXECUTION_STRING", "/fd"}, func(s string) bool {
			return strings.Contains(line, s)
		})
}

func isPipe(s *syntax.Stmt) bool {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	return ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll)
}

// parts are the commands of a pipeline, in order.
func parts(s *syntax.Stmt) []*syntax.Stmt {
	if !isPipe(s) {
		return []*syntax.Stmt{s}
	}
	b := s.Cmd.(*syntax.BinaryCmd)
	return append(parts(b.X), parts(b.Y)...)
}

// hasOther reports whether the shell itself may run another pipeline of n commands than last.
func hasOther(file *syntax.File, last *syntax.Stmt, n int) (found bool) {
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.Stmt:
			found = found || node != last && isPipe(node) && len(parts(node)) == n
			return !isPipe(node)
		}
		return true
	})
	return found
}

// endsEarly reports whether a line may end before its last command.
func endsEarly(file *syntax.File) (ends bool) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			name := call.Args[0].Lit()
			ends = ends || slices.Contains([]string{"", ".", "builtin", "command", "eval", "exec", "exit", "set", "shopt", "source"}, name)
		}
		return true
	})
	return ends
}

// wrappers run the command that is named behind their own arguments.
var wrappers = []string{"command", "env", "nice", "nohup", "stdbuf", "sudo", "time", "timeout"}

// plain reports whether a word can be a subcommand.
func plain(word string) bool {
	return word != "" && word[0] != '-' && !strings.ContainsFunc(word, func(c rune) bool {
		return c != '-' && c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9')
	})
}

// nameOf is a program and its subcommand, as in "go test"; of anything else than a simple command its text.
func nameOf(s *syntax.Stmt, line string) string {
	var words []string
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		for _, w := range call.Args {
			words = append(words, w.Lit())
		}
	}
	for len(words) > 1 && slices.Contains(wrappers, words[0]) {
		rest := words[1:]
		at := slices.IndexFunc(rest, func(w string) bool {
			return w != "" && !strings.ContainsAny(w[:1], "-0123456789") && !strings.Contains(w, "=")
		})
		if at < 0 {
			break
		}
		words = rest[at:]
	}
	if len(words) == 0 || words[0] == "" {
		text, _, _ := strings.Cut(line[s.Pos().Offset():s.End().Offset()], "\n")
		if len(text) > 40 {
			text = strings.ToValidUTF8(text[:40], "") + "…"
		}
		return text
	}
	name := path.Base(words[0])
	switch {
	case len(words) > 2 && words[1] == "-m" && plain(words[2]): // python -m pytest
		return name + " -m " + words[2]
	case len(words) > 1 && plain(words[1]):
		return name + " " + words[1]
	}
	return name
}

// Ask is the line with a beginning by which bash reports, as it ends, the statuses to the output it began with: in
// control strings, which a Cleaner takes out. The status of the line and its commands stay as they are. The
// descriptor is one that lines do not use.
func (p Pipeline) Ask(line string) string {
	if p.names == nil {
		return line
	}
	return `{ exec 187>&1; } 2>/dev/null; trap '{ builtin printf "\033_` + pipeMark + `%s\007" "" "${PIPESTATUS[@]}" >&187 || :; } 2>/dev/null' EXIT; ` + line
}

// pipeMark begins the control strings; the first one holds nothing else.
const pipeMark = "artoo-pipe:"

// Statuses are the pipeline's commands, of a line that ended with the status code; nil if they are not known.
func (p Pipeline) Statuses(c *Cleaner, code int) (of []Part) {
	if len(c.pipe) != len(p.names) || p.onlyAtZero && code != 0 {
		return nil
	}
	for i, name := range p.names {
		of = append(of, Part{name, c.pipe[i]})
	}
	return of
}

// OfPipe are the words behind an exit status that say whose it is, and which other parts of the pipeline failed, each
// with what meaning says of its status; "" where none did.
func OfPipe(all []Part, meaning func(status int) string) (of, others string) {
	for i, part := range all {
		if i < len(all)-1 && part.Failed() {
			of = " of " + all[len(all)-1].Name
			others += "; " + part.Name + ": " + strconv.Itoa(part.Status) + meaning(part.Status)
		}
	}
	return of, others
}

// heard takes a control string that has ended.
func (c *Cleaner) heard() {
	status, ours := bytes.CutPrefix(c.said, []byte(pipeMark))
	if c.said = c.said[:0]; !ours {
		return
	}
	if len(status) == 0 {
		c.pipe = c.pipe[:0]
	} else if n, err := strconv.Atoi(string(status)); err == nil && len(c.pipe) < mostParts {
		c.pipe = append(c.pipe, n)
	}
}

// mostParts is how many statuses are kept; a longer pipeline is not reported.
const mostParts = 64
