package line

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A walker collects the simple commands of a line, and follows where each runs.
type walker struct {
	commands []Command
	text     string
	kind     string // the kind of shell that runs the line
	depth    int    // how deep this script lies in other scripts
	ok       bool
	aliases  map[string]string
}

// list walks statements one after the other. It returns the directory in which the shell is after them, "" where that
// is not known: behind a cd that may have failed, too.
func (w *walker) list(stmts []*syntax.Stmt, dir string) (end string) {
	for i, s := range stmts {
		end = w.statement(s, dir)
		if i < len(stmts)-1 && moves(s) {
			end = ""
		}
		dir = end
	}
	return dir
}

// statement returns the directory in which the shell is where the statement succeeded.
func (w *walker) statement(s *syntax.Stmt, dir string) (end string) {
	for _, r := range s.Redirs {
		w.nested(r, dir)
	}
	call, isCall := s.Cmd.(*syntax.CallExpr)
	if len(s.Redirs) > 0 && !isCall {
		c := w.redirects(s.Redirs, dir)
		if len(c.Outputs) > 0 || len(c.Inputs) > 0 || c.SetsVariables || c.UnsafeExpansion {
			c.Words, c.Compound = []Word{{Text: w.source(s)}}, true
			w.append(c)
		}
	}
	inner := dir
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		end = w.call(call, s.Redirs, dir)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt {
			end = w.statement(c.Y, w.statement(c.X, dir))
			break
		}
		inner, end = w.around(s, dir)
		w.nested(c, inner)
	case *syntax.Block:
		end = w.list(c.Stmts, dir)
	case *syntax.Subshell:
		w.list(c.Stmts, dir)
		end = dir
	case *syntax.TestClause:
		w.test(c, dir)
		end = dir
	case *syntax.ForClause:
		w.loop(c, dir)
		inner, end = w.around(s, dir)
		w.nested(c, inner)
	case nil, *syntax.IfClause, *syntax.WhileClause, *syntax.TimeClause:
		inner, end = w.around(s, dir)
		w.nested(s.Cmd, inner)
	default: // Arithmetic, declarations and functions can run commands or change the meaning of later ones.
		w.compound(s.Cmd)
		w.nested(s.Cmd, "")
		end = ""
	}
	if (s.Negated || s.Background || s.Coprocess) && moves(s) {
		return ""
	}
	return end
}

// around is where the commands within a construct run, and where the shell is after it. Neither is known where one of the
// commands may take the shell to another directory.
func (w *walker) around(s *syntax.Stmt, dir string) (inner, end string) {
	if moves(s) {
		return "", ""
	}
	return dir, dir
}

// moves reports whether a command within the statement may take the shell to another directory.
func moves(s *syntax.Stmt) (found bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a shell of its own
		}
		call, ok := n.(*syntax.CallExpr)
		found = found || ok && len(call.Args) > 0 && In("cd pushd popd eval source . trap", call.Args[0].Lit()) ||
			ok && len(call.Args) > 0 && call.Args[0].Lit() == ""
		return !found
	})
	return found
}

func (w *walker) append(c Command) { w.commands = append(w.commands, c) }

// compound adds a construct that is no simple command under its first word.
func (w *walker) compound(node syntax.Node) {
	text, _, _ := strings.Cut(strings.TrimSpace(w.source(node)), " ")
	w.append(Command{Words: []Word{{Text: text, Known: true}}, Compound: true})
}

// nested walks the statements and substitutions in a node.
func (w *walker) nested(node syntax.Node, dir string) {
	if node == nil {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				w.compound(n) // backslashes in it mean something else to each shell
			}
			w.list(n.Stmts, dir)
		case *syntax.ProcSubst:
			w.list(n.Stmts, dir)
		case *syntax.Stmt:
			w.statement(n, dir)
		default:
			return true
		}
		return false
	})
}

// call collects a simple command and the commands that its words start.
func (w *walker) call(c *syntax.CallExpr, redirects []*syntax.Redirect, dir string) (end string) {
	s := w.redirects(redirects, dir)
	s.SetsVariables = s.SetsVariables || len(c.Assigns) > 0
	for _, a := range c.Assigns {
		w.nested(a, dir)
		s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(a)
	}
	for _, arg := range c.Args {
		w.nested(arg, dir)
		s.Words = append(s.Words, w.literal(arg))
		s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(arg)
	}
	if len(s.Words) == 0 {
		s.Words, s.Compound = []Word{{Text: w.source(c)}}, true
		w.append(s)
		return dir
	}
	return w.add(s)
}

// redirects is a command without words that runs in dir with these redirections.
func (w *walker) redirects(redirects []*syntax.Redirect, dir string) Command {
	c := Command{Dir: dir}
	for _, r := range redirects {
		// {name}>file sets the variable.
		c.SetsVariables = c.SetsVariables || r.N != nil && strings.HasPrefix(r.N.Value, "{")
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
		default:
			if r.Op == syntax.DplOut && descriptor || target.Known && In("/dev/null /dev/stderr /dev/stdout", target.Text) {
				continue
			}
			c.Outputs = append(c.Outputs, target)
			c.Overwrites = c.Overwrites || r.Op != syntax.AppOut && r.Op != syntax.AppAll
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
	w.ok = w.ok && end.Known && !strings.ContainsAny(end.Text, "\n\\`$'\" ")
	if r.Hdoc == nil {
		return
	}
	text := w.source(r.Hdoc)
	c.Texts = append(c.Texts, text)
	if quoted {
		return
	}
	// The shell joins such lines before it looks for the end.
	w.ok = w.ok && !strings.Contains(text, "\\\n")
	for _, part := range r.Hdoc.Parts {
		_, plain := part.(*syntax.Lit)
		c.UnknownText = c.UnknownText || !plain
	}
}

// add adds a command, follows cd, and opens wrappers: the commands that they run count,
// not the wrappers themselves, except for rules that deny or ask.
func (w *walker) add(c Command) (end string) {
	inner, script, how := unwrap(c)
	if how != wrapsNothing && !OfSystem(c.Name()) {
		w.append(c) // ./sudo is a program of its own
	}
	switch how {
	case wrapsCommand:
		if end = w.add(inner); c.Name() == "command" || c.Name() == "builtin" {
			return end
		}
		return c.Dir
	case wrapsScript, wrapsForeign:
		w.script(c, inner, script, how)
		return c.Dir
	case wrapsUnseen:
		c.Compound, c.RunsUnknown = true, true
	}
	w.append(c)
	w.given(c)
	if value, named := w.aliases[c.Name()]; named {
		w.unlike(value+" "+strings.Join(c.Args(), " "), c)
	}
	if c.Name() != "cd" {
		return c.Dir
	}
	if !c.Known() || c.Globs() || c.SetsVariables || len(c.Words) != 2 || c.Words[1].Text == "" || c.Words[1].Text[0] == '-' {
		return ""
	}
	return c.Path(c.Words[1].Text)
}

// literal is the word as far as it is known. Tildes, braces and variables make it unknown, globs do not.
func (w *walker) literal(source *syntax.Word) Word {
	if source == nil {
		return Word{}
	}
	var bare strings.Builder // its unquoted parts
	out, unknown := Word{Known: true, Harmless: true}, Word{Text: w.source(source)}
	for _, part := range source.Parts {
		p := w.part(part, false)
		out.Known, out.Harmless = out.Known && p.Known, out.Harmless && (p.Known || p.Harmless)
		if _, plain := part.(*syntax.Lit); plain {
			if tilde(p.Text) {
				return unknown
			}
			bare.WriteString(p.Text)
		}
		out.Text += p.Text
	}
	b := bare.String()
	out.Glob = strings.ContainsAny(b, "*?[") && b != "["
	// Braces and their commas may stand in different parts: {a,"b"}.
	if strings.Contains(b, "{") && (strings.Contains(b, ",") || strings.Contains(b, "..")) {
		return unknown
	}
	if out.Known {
		out.Harmless = false
		return out
	}
	unknown.Harmless = out.Harmless && !out.Glob
	return unknown
}

// part is a part of a word, as far as it is known.
func (w *walker) part(part syntax.WordPart, quoted bool) Word {
	switch p := part.(type) {
	case *syntax.Lit:
		quotes := ""
		if quoted {
			quotes = "$`\"\\\n"
		}
		return Word{Text: dropBackslashes(p.Value, quotes), Known: true}
	case *syntax.SglQuoted:
		return Word{Text: p.Value, Known: !p.Dollar}
	case *syntax.DblQuoted:
		out := Word{Known: !p.Dollar, Harmless: !p.Dollar}
		for _, inner := range p.Parts {
			i := w.part(inner, true)
			out.Text += i.Text
			out.Known = out.Known && i.Known
			out.Harmless = out.Harmless && (i.Known || i.Harmless)
		}
		return out
	case *syntax.ParamExp:
		return Word{Harmless: p.Param != nil && plainParameter(p) && publicVariable(p.Param.Value)}
	case *syntax.CmdSubst:
		// Its output may be anything; the commands in it are looked at.
		return Word{Harmless: quoted && !unsafeExpansion(p)}
	}
	return Word{}
}

// WordCharacters are those that the shell leaves as they are in the values that it expands.
const WordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@%:,"

// plainParameter reports whether an expansion is just the value of a variable.
func plainParameter(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && p.Flags == nil && p.NestedParam == nil
}

// tilde reports whether an unquoted text may hold a tilde that the shell
// expands: at the start, and after = or : as in an assignment.
func tilde(text string) bool {
	return strings.HasPrefix(text, "~") || strings.Contains(text, "=~") || strings.Contains(text, ":~")
}

// unsafeExpansion reports whether expansions in a node can set variables, or run commands that are not
// seen: a subscript in arithmetic may hold one.
func unsafeExpansion(node syntax.Node) bool {
	found := false
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ExtGlob, *syntax.BraceExp:
			found = true
		case *syntax.CmdSubst:
			found = found || n.Backquotes || n.TempFile || n.ReplyVar
		case *syntax.ParamExp:
			sets := []syntax.ParExpOperator{syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps}
			found = found || n.Excl || n.Index != nil || n.Slice != nil || n.Names != 0 ||
				n.Exp != nil && slices.Contains(sets, n.Exp.Op)
		}
		return !found
	})
	return found
}

// source is the text of a node as it was written.
func (w *walker) source(node syntax.Node) string {
	from, to := node.Pos().Offset(), node.End().Offset()
	if !node.Pos().IsValid() || from >= to || int(to) > len(w.text) {
		return "?"
	}
	return w.text[from:to]
}

// dropBackslashes removes the backslashes that quote one of these characters,
// or any with "", and lines that are continued.
func dropBackslashes(s, quotes string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (quotes == "" || strings.IndexByte(quotes, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// publicVariable reports whether the value of a variable of the environment may be
// shown, and whether it never changes the meaning of a command.
func publicVariable(name string) bool {
	return In(`HOME PATH PWD OLDPWD USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TERM EDITOR VISUAL PAGER TMPDIR
		GOPATH GOROOT GOOS GOARCH GOBIN GOFLAGS CGO_ENABLED HOSTNAME HOSTTYPE OSTYPE MACHTYPE UID EUID PPID
		RANDOM SECONDS LINENO BASH BASH_VERSION ZSH_VERSION SHLVL COLUMNS LINES NODE_ENV NODE_PATH PYTHONPATH
		VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV JAVA_HOME CARGO_HOME RUSTUP_HOME XDG_CONFIG_HOME XDG_DATA_HOME
		XDG_CACHE_HOME XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY TZ CI CC CXX CFLAGS CXXFLAGS LDFLAGS MAKEFLAGS
		LD_LIBRARY_PATH PKG_CONFIG_PATH KUBECONFIG DOCKER_HOST ? $ # ! 0 -`, name)
}

// loop adds a for loop that may change the meaning of the commands in it: a loop over PATH decides which programs run.
func (w *walker) loop(c *syntax.ForClause, dir string) {
	words, ok := c.Loop.(*syntax.WordIter)
	unsafe := !ok || c.Select || !words.InPos.IsValid() || !ownVariable(words.Name.Value)
	if ok {
		for _, item := range words.Items {
			unsafe = unsafe || unsafeExpansion(item)
		}
	}
	if unsafe {
		w.compound(c)
	}
}

// ownVariable reports whether no program looks at a variable of this name.
func ownVariable(name string) bool {
	const shells = `histchars auto_resume path cdpath fpath manpath mailpath module_path status argv prompt psvar fignore`
	return name == strings.ToLower(name) && !strings.Contains(name, "proxy") && !In(shells, name)
}

// test adds a test of bash's own: it only looks, unless it evaluates a word as arithmetic or as a variable's name.
func (w *walker) test(c *syntax.TestClause, dir string) {
	w.nested(c, dir)
	evaluates := unsafeExpansion(c)
	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			evaluates = evaluates || n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar
		case *syntax.BinaryTest:
			evaluates = evaluates || n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr
		}
		return true
	})
	w.append(Command{Words: []Word{{Text: "[[", Known: true}}, Dir: dir, UnsafeExpansion: evaluates})
}

// script walks the line that a shell is given.
func (w *walker) script(c, inner Command, script string, how wrapping) {
	kind := c.Base()
	if kind == "eval" {
		kind = w.kind
	}
	if how == wrapsForeign || kind != w.kind || inner.SetsVariables {
		// Another shell may take the line in another way: no rule for its words covers it.
		w.unlike(script, inner)
		c.Compound, c.RunsUnknown = true, true
		w.append(c)
		return
	}
	commands, ok := read(script, inner.Dir, walker{kind: w.kind, depth: w.depth + 1})
	w.ok = w.ok && ok
	for _, found := range commands {
		w.append(found.within(inner))
	}
	if len(commands) == 0 { // nothing in it, except its surroundings
		w.append(c)
	}
}

// within is a command of a script with the script's surroundings.
func (c Command) within(outer Command) Command {
	c.Elevated, c.TakesArgs = c.Elevated || outer.Elevated, c.TakesArgs || outer.TakesArgs
	c.SetsVariables, c.UnknownText = c.SetsVariables || outer.SetsVariables, c.UnknownText || outer.UnknownText
	c.UnsafeExpansion, c.Compound = c.UnsafeExpansion || outer.UnsafeExpansion, c.Compound || outer.Compound
	c.Overwrites = c.Overwrites || outer.Overwrites
	c.Outputs = append(slices.Clip(outer.Outputs), c.Outputs...)
	c.Inputs = append(slices.Clip(outer.Inputs), c.Inputs...)
	c.Wrappers = append(slices.Clip(outer.Wrappers), c.Wrappers...)
	return c
}

// unlike collects the commands of a text that is not for this shell, or not for now: for
// rules that deny or ask, and for commands that are always asked.
func (w *walker) unlike(script string, outer Command) {
	commands, _ := read(script, "", walker{kind: "sh", depth: w.depth + 1})
	for _, found := range commands {
		found = found.within(outer)
		found.Compound = true
		w.append(found)
	}
}

// given collects the commands that a command makes the shell or git run later or by another name, those that find
// starts, and those that a shell reads from its input.
func (w *walker) given(c Command) {
	last, words := len(w.commands)-1, Texts(c.Words)
	behind := func(i int) string { return strings.Join(words[min(i, len(words)):], " ") }
	switch name := c.Base(); {
	case name == "trap":
		w.unlike(strings.Join(words[1:], "\n"), c)
	case name == "alias":
		for _, word := range words[1:] {
			alias, value, _ := strings.Cut(word, "=")
			w.aliases[alias] = value
		}
	case name == "git", strings.HasPrefix(name, "git-"):
		w.inGit(c, words)
		for i, word := range words {
			if In("foreach run", word) {
				w.unlike(behind(i+1), c)
			} else if HasOption(word, "--exec -x") {
				_, value, _ := strings.Cut(word, "=")
				w.unlike(value+" "+behind(i+1), c)
			}
		}
	case name == "find":
		for i, word := range words {
			if In("-exec -execdir -ok -okdir", word) {
				w.found(c, c.Words[i+1:])
			}
		}
	case name == "hash" && len(words) > 2, name == "enable" && slices.Contains(words, "-f"):
		w.commands[last].RunsUnknown = true // names stand for other programs from now on
	case IsShell(name) && !slices.ContainsFunc(words[1:], func(a string) bool { return !IsOption(a) }):
		w.commands[last].Compound, w.commands[last].RunsUnknown = true, true
		for _, text := range c.Texts {
			w.unlike(text, c)
		}
	}
}

// plumbing are commands of git that do the work of another one.
var plumbing = []struct{ commands, does string }{
	{"send-pack http-push", "push"}, {"fetch-pack http-fetch", "fetch"}, {"commit-tree", "commit"},
}

// inGit collects the commands for which those of a git command are other words: an alias that the line defines, a
// program of git named by itself, and plumbing.
func (w *walker) inGit(c Command, words []string) {
	for i, word := range words {
		name, alias, given := strings.Cut(word, "=") // -c alias.x='!line'
		if !given && i+1 < len(words) {
			alias = words[i+1] // config alias.x '!line'
		}
		if i > 0 && words[i-1] == "-c" || strings.HasSuffix(name, "-filter") { // core.pager='line', --tree-filter 'line'
			w.unlike(alias, c)
		}
		if !strings.HasPrefix(strings.ToLower(name), "alias.") {
			continue
		}
		line, shell := strings.CutPrefix(alias, "!")
		if !shell {
			line = "git " + alias
		}
		w.unlike(line, c)
	}
	rest := Texts(GitWords(c.Words[1:]))
	if own, named := strings.CutPrefix(c.Base(), "git-"); named {
		rest = append([]string{own}, words[1:]...)
		w.unlike("git "+strings.Join(rest, " "), c)
	}
	for _, row := range plumbing {
		if len(rest) > 0 && In(row.commands, rest[0]) {
			w.unlike("git "+row.does+" "+strings.Join(rest[1:], " "), c)
		}
	}
}

// found adds the command that find starts, up to the end of its words.
func (w *walker) found(c Command, words []Word) {
	inner := Command{TakesArgs: true}
	for _, word := range words {
		if word.Text == ";" || word.Text == "+" {
			break
		}
		word.Known = word.Known && !strings.Contains(word.Text, "{}")
		inner.Words = append(inner.Words, word)
	}
	if len(inner.Words) > 0 {
		c.Words = nil
		w.add(inner.within(c))
	}
}

// OfSystem reports whether a name stands for a program of the system, not the project's file.
func OfSystem(name string) bool {
	dir := path.Dir(name)
	return !strings.Contains(name, "/") || dir == "/bin" || dir == "/usr/bin"
}
