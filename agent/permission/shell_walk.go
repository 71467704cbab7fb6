package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mostDirs bounds how many places a command may be in before they count as not
// known.
const mostDirs = 16

// shellWalker collects the simple commands of a line, and follows where each
// may run.
type shellWalker struct {
	commands []simple
	line     string
	kind     string // of the shell that runs the line
	variant  syntax.LangVariant
	bound    map[string]word // loop variables, with what they stand for
	set      map[string]bool // variables that the line sets to what is not known
	braces   bool            // braces in words are expanded
	walked   int             // rounds of loops
	depth    int
	ok       bool
}

// ends are the directories a statement may leave the shell in.
type ends struct{ success, failure []string }

func (e ends) any() []string { return union(e.success, e.failure) }

// union joins two sets of directories; nil stands for "not known".
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > mostDirs {
		return nil
	}
	return out
}

func (w *shellWalker) list(stmts []*syntax.Stmt, dirs []string) ends {
	e := ends{dirs, dirs}
	for i, s := range stmts {
		if i > 0 {
			dirs = e.any()
		}
		e = w.statement(s, dirs)
	}
	return e
}

func (w *shellWalker) statement(s *syntax.Stmt, dirs []string) ends {
	still := ends{dirs, dirs}
	frame := simple{dirs: dirs}
	w.redirects(&frame, s.Redirs)
	call, isCall := s.Cmd.(*syntax.CallExpr)
	_, isTest := s.Cmd.(*syntax.TestClause)
	redirected := len(frame.outputs) > 0 || len(frame.inputs) > 0 || frame.assigns || frame.loose
	if redirected && !isCall && !isTest {
		frame.words, frame.opaque = []word{{text: w.source(s)}}, true
		w.commands = append(w.commands, frame)
	}
	e := still
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		e = w.call(call, frame)
	case *syntax.Block:
		e = w.list(c.Stmts, dirs)
	case *syntax.Subshell:
		w.list(c.Stmts, dirs)
	case *syntax.BinaryCmd:
		e = w.binary(c, dirs)
	case *syntax.IfClause:
		e = w.branches(c, dirs)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			e = w.statement(c.Stmt, dirs)
		}
	case *syntax.WhileClause:
		w.list(c.Cond, nil)
		w.list(c.Do, nil)
		e = ends{}
	case *syntax.ForClause:
		e = w.loop(c, dirs)
	case *syntax.TestClause:
		w.test(c, frame)
	default:
		// Tests, arithmetic, declarations, functions and the like can run
		// commands or change what later ones mean in ways of their own.
		w.opaque(s.Cmd)
		w.nested(s.Cmd, nil)
		e = ends{}
	}
	if s.Background || s.Coprocess || s.Disown {
		return still
	}
	if s.Negated {
		e.success, e.failure = e.failure, e.success
	}
	return e
}

func (w *shellWalker) binary(c *syntax.BinaryCmd, dirs []string) ends {
	switch c.Op {
	case syntax.AndStmt:
		x := w.statement(c.X, dirs)
		y := w.statement(c.Y, x.success)
		return ends{y.success, union(x.failure, y.failure)}
	case syntax.OrStmt:
		x := w.statement(c.X, dirs)
		y := w.statement(c.Y, x.failure)
		return ends{union(x.success, y.success), y.failure}
	}
	w.statement(c.X, dirs) // the parts of a pipe are shells of their own
	w.statement(c.Y, dirs)
	return ends{dirs, dirs}
}

func (w *shellWalker) branches(c *syntax.IfClause, dirs []string) ends {
	if c == nil {
		return ends{dirs, dirs}
	}
	if len(c.Cond) == 0 { // else
		return w.list(c.Then, dirs)
	}
	cond := w.list(c.Cond, dirs)
	then := w.list(c.Then, cond.success)
	other := w.branches(c.Else, cond.failure)
	return ends{union(then.success, other.success), union(then.failure, other.failure)}
}

// opaque adds a construct that is no simple command under its first word.
func (w *shellWalker) opaque(node syntax.Node) {
	text, _, _ := strings.Cut(strings.TrimSpace(w.source(node)), " ")
	w.commands = append(w.commands, simple{words: []word{{text: text, known: true}}, opaque: true})
}

// nested walks the substitutions in a node.
func (w *shellWalker) nested(node syntax.Node, dirs []string) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				w.opaque(n) // backslashes in it mean something else to each shell
			}
			w.list(n.Stmts, dirs)
			return false
		case *syntax.ProcSubst:
			w.list(n.Stmts, dirs)
			return false
		case *syntax.Stmt:
			w.statement(n, dirs)
			return false
		}
		return true
	})
}

// call collects a simple command and what its words start.
func (w *shellWalker) call(c *syntax.CallExpr, s simple) ends {
	s.assigns = s.assigns || len(c.Assigns) > 0
	for _, a := range c.Assigns {
		s.loose = s.loose || loose(a)
		w.nested(a, s.dirs)
	}
	for _, arg := range c.Args {
		s.words = append(s.words, each(w.expanded(arg), w.literal)...)
		s.loose = s.loose || loose(arg)
		w.nested(arg, s.dirs)
	}
	if len(s.words) == 0 {
		s.words, s.opaque = []word{{text: w.source(c)}}, true
		w.commands = append(w.commands, s)
		return ends{s.dirs, s.dirs}
	}
	return w.add(s)
}

func (w *shellWalker) redirects(s *simple, redirects []*syntax.Redirect) {
	for _, r := range redirects {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			s.assigns = true // {name}>file sets the variable
		}
		s.loose = s.loose || loose(r)
		w.nested(r, s.dirs)
		target := w.literal(r.Word)
		descriptor := target.known && target.text != "" && strings.Trim(target.text, "0123456789-") == ""
		switch r.Op {
		case syntax.RdrIn:
			s.inputs = append(s.inputs, target)
		case syntax.DplIn:
			s.loose = s.loose || !descriptor
		case syntax.Hdoc, syntax.DashHdoc:
			w.hereDocument(s, r, target)
		case syntax.WordHdoc:
			s.unsure = s.unsure || !target.known
			s.texts = append(s.texts, target.text)
		case syntax.DplOut:
			if !descriptor {
				s.outputs = append(s.outputs, target)
				s.overwrites = append(s.overwrites, target)
			}
		default:
			if target.known && listed("/dev/null /dev/stderr /dev/stdout", target.text) {
				continue
			}
			s.outputs = append(s.outputs, target)
			if r.Op == syntax.RdrOut || r.Op == syntax.RdrClob || r.Op == syntax.RdrAll {
				s.overwrites = append(s.overwrites, target)
			}
		}
	}
}

// hereDocument looks at a text that follows the line. Where it ends must be
// plain, or the shell may find commands where the parser sees text.
func (w *shellWalker) hereDocument(s *simple, r *syntax.Redirect, end word) {
	quoted := len(r.Word.Parts) != 1
	if !quoted {
		_, bare := r.Word.Parts[0].(*syntax.Lit)
		quoted = !bare || strings.Contains(w.source(r.Word), `\`)
	}
	if !end.known || strings.ContainsAny(end.text, "\n\\`$'\" ") {
		w.ok = false
	}
	if r.Hdoc == nil {
		return
	}
	s.texts = append(s.texts, w.source(r.Hdoc))
	if quoted {
		return
	}
	if strings.Contains(w.source(r.Hdoc), "\\\n") {
		w.ok = false // the shell joins such lines before it looks for the end
	}
	for _, part := range r.Hdoc.Parts {
		if _, text := part.(*syntax.Lit); !text {
			s.unsure = true
		}
	}
}

// add appends a command, follows cd, and opens wrappers: what they run counts,
// not they themselves, but for rules that deny or ask.
func (w *shellWalker) add(s simple) ends {
	still := ends{s.dirs, s.dirs}
	inner, script, how := unwrap(s)
	if how != wrapsNothing && !system(s.name()) {
		w.commands = append(w.commands, s) // ./sudo is a program of its own
	}
	switch how {
	case wrapsCommand:
		if e := w.add(inner); s.name() == "command" || s.name() == "builtin" {
			return e
		}
		return still
	case wrapsScript, wrapsForeign:
		return w.script(s, inner, script, how)
	case wrapsUnseen:
		s.opaque, s.hides = true, true
	}
	w.commands = append(w.commands, s)
	w.found(s)
	w.given(s)
	switch name := s.name(); {
	case name == "cd":
		return ends{follow(s), s.dirs}
	case s.changesShell() && name != "test" && name != "[":
		return ends{}
	}
	return still
}

// found collects the commands that find would start.
func (w *shellWalker) found(s simple) {
	if filepath.Base(s.name()) != "find" {
		return
	}
	for i, at := range s.words {
		if !listed("-exec -execdir -ok -okdir", at.text) {
			continue
		}
		inner := simple{fed: true, opaque: s.opaque, raised: s.raised, assigns: s.assigns, loose: s.loose,
			outputs: s.outputs, layers: s.layers}
		for _, arg := range s.words[i+1:] {
			if arg.text == ";" || arg.text == "+" {
				break
			}
			arg.known = arg.known && !strings.Contains(arg.text, "{}")
			inner.words = append(inner.words, arg)
		}
		if len(inner.words) > 0 {
			w.add(inner)
		}
	}
}

// follow is where a cd leads, nil when that cannot be told.
func follow(s simple) []string {
	if !s.known() || s.globs() || s.assigns || len(s.words) != 2 || s.dirs == nil {
		return nil
	}
	to := s.words[1].text
	if to == "" || strings.HasPrefix(to, "-") {
		return nil
	}
	return into(s.dirs, to)
}
