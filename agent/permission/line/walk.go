package line

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mostDirs bounds the directories of a command: more count as not known.
const mostDirs = 16

// certainly is the reading of a line in which the values that it gives its variables do not count.
const certainly = -1

// A walker collects the simple commands of a line, and follows where each may run.
type walker struct {
	commands []Command
	text     string
	kind     string // the kind of shell that runs the line
	certain  bool   // the commands that it finds are certain
	depth    int    // how deep this script lies in other scripts
	ok       bool

	items  map[string]Word   // loop variables, with the item that each stands for
	values map[string][]Word // the values that the line has given its variables so far
	round  int               // the index of the value that each variable has in this reading, or certainly
	walked int               // the rounds of loops so far
	later  texts
}

// ends are the directories a statement may leave the shell in; nil stands for "not known".
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

func (w *walker) list(stmts []*syntax.Stmt, at []string) ends {
	e := ends{at, at}
	for i, s := range stmts {
		if i > 0 {
			at = e.any()
		}
		e = w.statement(s, at)
	}
	return e
}

func (w *walker) statement(s *syntax.Stmt, at []string) ends {
	still := ends{at, at}
	for _, r := range s.Redirs {
		w.nested(r, at)
	}
	call, isCall := s.Cmd.(*syntax.CallExpr)
	test, isTest := s.Cmd.(*syntax.TestClause)
	if len(s.Redirs) > 0 && !isCall && !isTest {
		c := w.redirects(s.Redirs, at)
		if len(c.Outputs) > 0 || len(c.Inputs) > 0 || c.SetsVariables || c.UnsafeExpansion {
			c.Words, c.Compound = []Word{{Text: w.source(s)}}, true
			w.append(c)
		}
	}
	e := still
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		e = w.call(call, s.Redirs, at)
	case *syntax.Block:
		e = w.list(c.Stmts, at)
	case *syntax.Subshell:
		w.list(c.Stmts, at)
	case *syntax.BinaryCmd:
		e = w.binary(c, at)
	case *syntax.IfClause:
		e = w.branches(c, at)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			e = w.statement(c.Stmt, at)
		}
	case *syntax.WhileClause:
		w.list(c.Cond, nil)
		w.list(c.Do, nil)
		e = ends{}
	case *syntax.ForClause:
		e = w.loop(c, at)
	case *syntax.TestClause:
		w.test(test, s.Redirs, at)
	default:
		// Arithmetic, declarations and functions can run commands or change the meaning of later ones.
		w.compound(s.Cmd)
		w.declared(s.Cmd)
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

func (w *walker) binary(c *syntax.BinaryCmd, at []string) ends {
	switch c.Op {
	case syntax.AndStmt:
		x := w.statement(c.X, at)
		y := w.statement(c.Y, x.success)
		return ends{y.success, union(x.failure, y.failure)}
	case syntax.OrStmt:
		x := w.statement(c.X, at)
		y := w.statement(c.Y, x.failure)
		return ends{union(x.success, y.success), y.failure}
	}
	w.statement(c.X, at) // the parts of a pipe are shells of their own
	w.statement(c.Y, at)
	return ends{at, at}
}

func (w *walker) branches(c *syntax.IfClause, at []string) ends {
	if c == nil {
		return ends{at, at}
	}
	if len(c.Cond) == 0 { // else
		return w.list(c.Then, at)
	}
	cond := w.list(c.Cond, at)
	then := w.list(c.Then, cond.success)
	other := w.branches(c.Else, cond.failure)
	return ends{union(then.success, other.success), union(then.failure, other.failure)}
}

// append adds a command as it is. It leaves the shell where it was.
func (w *walker) append(c Command) ends {
	c.Certain = w.certain
	w.commands = append(w.commands, c)
	return ends{c.Dirs, c.Dirs}
}

// compound adds a construct that is no simple command under its first word.
func (w *walker) compound(node syntax.Node) {
	text, _, _ := strings.Cut(strings.TrimSpace(w.source(node)), " ")
	w.append(Command{Words: []Word{{Text: text, Known: true}}, Compound: true})
}

// nested walks the substitutions in a node.
func (w *walker) nested(node syntax.Node, at []string) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				w.compound(n) // backslashes in it mean something else to each shell
			}
			w.list(n.Stmts, at)
			return false
		case *syntax.ProcSubst:
			w.list(n.Stmts, at)
			return false
		case *syntax.Stmt:
			w.statement(n, at)
			return false
		}
		return true
	})
}

// call collects a simple command and the commands its words start.
func (w *walker) call(c *syntax.CallExpr, redirects []*syntax.Redirect, at []string) ends {
	for _, a := range c.Assigns {
		w.nested(a, at)
		w.assign(a)
	}
	for _, arg := range c.Args {
		w.nested(arg, at)
	}
	w.mayRun(c, redirects, at)
	s := w.redirects(redirects, at)
	s.SetsVariables = s.SetsVariables || len(c.Assigns) > 0
	for _, a := range c.Assigns {
		s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(a)
	}
	for _, arg := range c.Args {
		s.Words = append(s.Words, Each(w.expanded(arg), w.literal)...)
		s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(arg)
	}
	if len(s.Words) == 0 {
		s.Words, s.Compound = []Word{{Text: w.source(c)}}, true
		return w.append(s)
	}
	return w.add(s)
}

// redirects is a command without words that runs in dirs with these redirections.
func (w *walker) redirects(redirects []*syntax.Redirect, dirs []string) Command {
	c := Command{Dirs: dirs}
	for _, r := range redirects {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			c.SetsVariables = true // {name}>file sets the variable
		}
		c.UnsafeExpansion = c.UnsafeExpansion || unsafeExpansion(r)
		target := w.literal(r.Word)
		descriptor := target.Known && target.Text != "" && strings.Trim(target.Text, "0123456789-") == ""
		switch r.Op {
		case syntax.RdrIn:
			c.Inputs = append(c.Inputs, target)
		case syntax.DplIn:
			c.UnsafeExpansion = c.UnsafeExpansion || !descriptor
		case syntax.Hdoc, syntax.DashHdoc:
			w.hereDocument(&c, r, target)
		case syntax.WordHdoc:
			c.UnknownText = c.UnknownText || !target.Known
			c.Texts = append(c.Texts, target.Text)
		case syntax.DplOut:
			if !descriptor {
				c.Outputs = append(c.Outputs, target)
				c.Overwrites = append(c.Overwrites, target)
			}
		default:
			if target.Known && In("/dev/null /dev/stderr /dev/stdout", target.Text) {
				continue
			}
			c.Outputs = append(c.Outputs, target)
			if r.Op == syntax.RdrOut || r.Op == syntax.RdrClob || r.Op == syntax.RdrAll {
				c.Overwrites = append(c.Overwrites, target)
			}
		}
	}
	return c
}

// hereDocument looks at a text that follows the line. Where it ends must be
// plain, or the shell may find commands where the parser sees text.
func (w *walker) hereDocument(c *Command, r *syntax.Redirect, end Word) {
	quoted := len(r.Word.Parts) != 1
	if !quoted {
		_, bare := r.Word.Parts[0].(*syntax.Lit)
		quoted = !bare || strings.Contains(w.source(r.Word), `\`)
	}
	if !end.Known || strings.ContainsAny(end.Text, "\n\\`$'\" ") {
		w.ok = false
	}
	if r.Hdoc == nil {
		return
	}
	c.Texts = append(c.Texts, w.source(r.Hdoc))
	if quoted {
		return
	}
	if strings.Contains(w.source(r.Hdoc), "\\\n") {
		w.ok = false // the shell joins such lines before it looks for the end
	}
	for _, part := range r.Hdoc.Parts {
		if _, text := part.(*syntax.Lit); !text {
			c.UnknownText = true
		}
	}
}

// add adds a command, follows cd, and opens wrappers: the commands that they run count,
// not the wrappers themselves, except for rules that deny or ask.
func (w *walker) add(c Command) ends {
	inner, script, how := unwrap(c)
	if how != wrapsNothing && !OfSystem(c.Name()) {
		w.append(c) // ./sudo is a program of its own
	}
	switch how {
	case wrapsCommand:
		e := w.add(inner)
		if c.Name() == "command" || c.Name() == "builtin" {
			return e
		}
		return ends{c.Dirs, c.Dirs}
	case wrapsScript, wrapsForeign:
		return w.script(c, inner, script, how)
	case wrapsUnseen:
		c.Compound, c.RunsUnknown = true, true
	}
	w.append(c)
	w.found(c)
	w.given(c)
	switch name := c.Name(); {
	case name == "cd":
		return ends{follow(c), c.Dirs}
	case c.ChangesShell() && name != "test" && name != "[":
		return ends{}
	}
	return ends{c.Dirs, c.Dirs}
}

// found collects the commands that find would start.
func (w *walker) found(c Command) {
	if filepath.Base(c.Name()) != "find" {
		return
	}
	for i, at := range c.Words {
		if !In("-exec -execdir -ok -okdir", at.Text) {
			continue
		}
		inner := Command{TakesArgs: true, Compound: c.Compound, Elevated: c.Elevated, SetsVariables: c.SetsVariables,
			UnsafeExpansion: c.UnsafeExpansion, Outputs: c.Outputs, Wrappers: c.Wrappers}
		for _, arg := range c.Words[i+1:] {
			if arg.Text == ";" || arg.Text == "+" {
				break
			}
			arg.Known = arg.Known && !strings.Contains(arg.Text, "{}")
			inner.Words = append(inner.Words, arg)
		}
		if len(inner.Words) > 0 {
			w.add(inner)
		}
	}
}

// follow is where a cd leads, nil where that is not known.
func follow(c Command) []string {
	if !c.Known() || c.Globs() || c.SetsVariables || len(c.Words) != 2 || c.Dirs == nil {
		return nil
	}
	to := c.Words[1].Text
	if to == "" || strings.HasPrefix(to, "-") {
		return nil
	}
	return c.Paths(to)
}
