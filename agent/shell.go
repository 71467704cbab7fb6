package agent

import (
	"path"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simple is one simple command of a shell line, with wrappers opened.
type simple struct {
	words   []string // literal words; an expansion is a word of its source text
	dir     string   // where it runs, as far as literal cd's tell; "" when they do not
	unknown bool     // a word holds an expansion: its value is not known beforehand
	assigns bool     // variables are set for it
	writes  bool     // output is redirected into a file
	inputs  []string // files it reads through redirection
	raised  bool     // it runs under sudo or doas
	fed     bool     // it gets arguments from xargs or find
}

// text is the command as a rule would name it.
func (s simple) text() string { return strings.Join(s.words, " ") }

// shellLine takes a shell line apart into every simple command in it, those in
// substitutions, subshells, functions and wrappers included. ok is false when
// it cannot be parsed, or when a part of it cannot be seen.
func shellLine(line, dir string) (commands []simple, ok bool) {
	return parseShell(line, dir, 0)
}

func parseShell(line, dir string, depth int) ([]simple, bool) {
	if depth > 4 {
		return nil, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false
	}
	w := &shellWalker{dir: dir, ok: true, depth: depth}
	w.printer = syntax.NewPrinter(syntax.Minify(true))
	syntax.Walk(file, w.visit)
	return w.commands, w.ok
}

type shellWalker struct {
	commands []simple
	dir      string
	ok       bool
	depth    int
	printer  *syntax.Printer
}

func (w *shellWalker) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		w.statement(n)
	case *syntax.DeclClause, *syntax.LetClause, *syntax.CoprocClause, *syntax.FuncDecl:
		// A declaration may change what later commands mean; what it is named
		// in a rule, it must be named as a whole.
		w.commands = append(w.commands, simple{words: []string{w.source(node)}, unknown: true})
	}
	return true
}

// statement collects a statement that is a simple command; others are walked.
func (w *shellWalker) statement(stmt *syntax.Stmt) {
	call, isCall := stmt.Cmd.(*syntax.CallExpr)
	s := simple{dir: w.dir}
	w.redirects(&s, stmt.Redirs)
	if !isCall {
		if s.writes || len(s.inputs) > 0 {
			s.words, s.unknown = []string{w.source(stmt)}, true
			w.commands = append(w.commands, s)
		}
		return
	}
	s.assigns = len(call.Assigns) > 0
	for _, word := range call.Args {
		text, literal := literalWord(word)
		if !literal {
			text, s.unknown = w.source(word), true
		}
		s.words = append(s.words, text)
	}
	w.add(s)
}

func (w *shellWalker) redirects(s *simple, redirects []*syntax.Redirect) {
	for _, r := range redirects {
		target := ""
		literal := true
		if r.Word != nil {
			target, literal = literalWord(r.Word)
		}
		switch r.Op {
		case syntax.RdrIn:
			s.inputs = append(s.inputs, target)
			s.unknown = s.unknown || !literal
		case syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		case syntax.DplOut:
			s.writes = s.writes || !literal || strings.Trim(target, "0123456789-") != ""
		default:
			s.writes = s.writes || !literal || target != "/dev/null" && target != "/dev/stderr" && target != "/dev/stdout"
		}
	}
}

// add appends a command, follows cd, and opens wrappers: the wrapper itself is
// not a command of its own, except those that raise rights.
func (w *shellWalker) add(s simple) {
	if len(s.words) == 0 {
		if s.assigns || s.writes {
			s.words, s.unknown = []string{"="}, true
			w.commands = append(w.commands, s)
		}
		return
	}
	if s.words[0] == "cd" {
		w.dir = follow(w.dir, s)
	}
	inner, script, wrapped := unwrap(s)
	if !wrapped {
		w.commands = append(w.commands, s)
		w.found(s)
		return
	}
	if script != "" {
		commands, ok := parseShell(script, s.dir, w.depth+1)
		w.ok = w.ok && ok
		for i := range commands {
			commands[i].raised = commands[i].raised || s.raised
			commands[i].assigns = commands[i].assigns || s.assigns
			commands[i].writes = commands[i].writes || s.writes
		}
		w.commands = append(w.commands, commands...)
		return
	}
	w.add(inner)
}

// found collects the commands that find and its like would start.
func (w *shellWalker) found(s simple) {
	if path.Base(s.words[0]) != "find" {
		return
	}
	for i, word := range s.words {
		switch word {
		case "-exec", "-execdir", "-ok", "-okdir":
			inner := simple{dir: s.dir, unknown: true, fed: true}
			for _, arg := range s.words[i+1:] {
				if arg == ";" || arg == "+" {
					break
				}
				inner.words = append(inner.words, arg)
			}
			w.add(inner)
		}
	}
}

func (w *shellWalker) source(node syntax.Node) string {
	var b strings.Builder
	if err := w.printer.Print(&b, node); err != nil {
		w.ok = false
	}
	return b.String()
}

// follow is the directory after a cd, "" when it cannot be told.
func follow(dir string, s simple) string {
	if s.unknown || len(s.words) != 2 || dir == "" || strings.HasPrefix(s.words[1], "-") || strings.HasPrefix(s.words[1], "~") {
		return ""
	}
	if filepath.IsAbs(s.words[1]) {
		return filepath.Clean(s.words[1])
	}
	return filepath.Join(dir, s.words[1])
}

// literalWord is the value of a word without expansions. Globs stay as they
// are written; a leading tilde is an expansion.
func literalWord(word *syntax.Word) (string, bool) {
	var b strings.Builder
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(p.Value, "~") || strings.Contains(p.Value, "{") && strings.ContainsAny(p.Value, ",.") {
				return "", false
			}
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(unescapeQuoted(lit.Value))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
