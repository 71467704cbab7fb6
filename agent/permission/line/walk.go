package line

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
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

// mostValues bounds how many values of one variable are tried; half as many in each script within another.
const mostValues = 8

// literal is the word as far as it is known. Tildes and braces make it unknown, globs do not.
func (w *walker) literal(source *syntax.Word) Word {
	if source == nil {
		return Word{}
	}
	var value, bare strings.Builder // all of it; its unquoted parts
	out := Word{Text: w.source(source)}
	known, harmless, glob := true, true, false
	for _, part := range source.Parts {
		p := w.part(part, false)
		known, harmless = known && p.Known, harmless && (p.Known || p.Harmless)
		glob = glob || p.Glob
		if _, bareText := part.(*syntax.Lit); bareText {
			if tilde(p.Text) {
				return out
			}
			bare.WriteString(p.Text)
		}
		value.WriteString(p.Text)
	}
	b := bare.String()
	glob = glob || strings.ContainsAny(b, "*?[") && b != "["
	// Braces and their commas may stand in different parts: {a,"b"}.
	if strings.Contains(b, "{") && (strings.Contains(b, ",") || strings.Contains(b, "..")) {
		return out
	}
	if known {
		return Word{Text: value.String(), Known: true, Glob: glob}
	}
	out.Harmless = harmless && !glob
	return out
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
			out.Known, out.Glob = out.Known && i.Known, out.Glob || i.Glob
			out.Harmless = out.Harmless && (i.Known || i.Harmless)
		}
		return out
	case *syntax.ParamExp:
		return w.variable(p, quoted)
	case *syntax.CmdSubst:
		// Its output may be anything; the commands in it are looked at.
		return Word{Harmless: quoted && !unsafeExpansion(p)}
	}
	return Word{}
}

// variable is the value of a variable, as far as it is known.
func (w *walker) variable(p *syntax.ParamExp, quoted bool) Word {
	if p.Param == nil || !plainParameter(p) {
		return w.trimmed(p)
	}
	value, ok := w.value(p.Param.Value)
	switch {
	case !ok:
		return Word{Harmless: publicVariable(p.Param.Value)}
	case !value.Known:
		return Word{}
	case quoted, !value.Glob && strings.Trim(value.Text, WordCharacters) == "" && value.Text != "":
		return value
	}
	return Word{Harmless: true}
}

// value is a variable's value in this reading: a loop's item, or a value of the line.
func (w *walker) value(name string) (value Word, ok bool) {
	if value, ok = w.items[name]; ok || w.round == certainly {
		return value, ok
	}
	of := w.values[name]
	if len(of) == 0 {
		return Word{}, false
	}
	return of[min(w.round, len(of)-1)], true
}

// assign records the value that an assignment gives a variable.
func (w *walker) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	of, value := w.values[a.Name.Value], w.literal(a.Value)
	value.Known = value.Known || a.Value == nil && a.Array == nil // x=
	switch before := (Word{}); {
	case !a.Append:
	case len(of) > 0 && of[len(of)-1].Known && value.Known:
		before = of[len(of)-1]
		value.Text = before.Text + value.Text
	default:
		value = Word{}
	}
	w.values[a.Name.Value] = append(of, value)
	if text := w.plain(a.Value); text != "" {
		w.later.values = append(w.later.values, text)
	}
}

// mayBeAnything notes that a variable may have other values than those that are followed.
func (w *walker) mayBeAnything(name string) {
	if of := w.values[name]; of != nil {
		w.values[name] = append(of, Word{})
	}
}

// WordCharacters are those that the shell leaves as they are in the values that it expands.
const WordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@%:,"

// plainParameter reports whether an expansion is just the value of a variable.
func plainParameter(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && p.Flags == nil && p.NestedParam == nil
}

// trimmed is a known value without a plain text at one end.
func (w *walker) trimmed(p *syntax.ParamExp) Word {
	if p.Param == nil || p.Exp == nil || p.Exp.Word == nil || p.Excl || p.Index != nil || p.Length {
		return Word{}
	}
	value, _ := w.value(p.Param.Value)
	end := w.literal(p.Exp.Word)
	if !value.Known || value.Glob || !end.Known || end.Glob {
		return Word{}
	}
	switch p.Exp.Op {
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		value.Text = strings.TrimSuffix(value.Text, end.Text)
		return value
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		value.Text = strings.TrimPrefix(value.Text, end.Text)
		return value
	}
	return Word{}
}

// expanded are the words that braces make of one, where they are only guessed.
func (w *walker) expanded(source *syntax.Word) []*syntax.Word {
	text := w.source(source)
	if w.round == certainly || !strings.Contains(text, "{") || strings.Contains(text, "..") ||
		strings.Count(text, ",") > mostValues {
		return []*syntax.Word{source}
	}
	split := &syntax.Word{Parts: slices.Clone(source.Parts)} // a word with split braces cannot be walked
	syntax.SplitBraces(split)
	words := []*syntax.Word{}
	for word, err := range expand.BracesSeq(nil, split) {
		if err != nil {
			return []*syntax.Word{source}
		}
		words = append(words, word)
	}
	return words
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
			i++
			if s[i] == '\n' {
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

// texts are texts of a line that may be run as lines, where it does something else too.
type texts struct {
	values  []string // values of variables: run where a command's name is an expansion
	expands bool     // there is such a command
	given   []string // texts that commands print or read: run where a shell reads them
	shell   bool     // there is a shell that may read
}

// runTexts collects the commands of texts that the line may run, as seen from its end.
func (w *walker) runTexts(at []string) {
	if w.later.expands {
		w.mayRunTexts(at, w.later.values...)
	}
	if w.later.shell {
		w.mayRunTexts(at, w.later.given...)
	}
}

// mayRunTexts collects the commands of texts that the line may run.
func (w *walker) mayRunTexts(at []string, texts ...string) {
	for _, text := range texts {
		if text != w.text { // no text holds itself
			commands, _ := read(text, at, walker{kind: w.kind, depth: w.depth + 1})
			w.commands = append(w.commands, commands...)
		}
	}
}

// mayRun looks for texts in a command that may be run: by itself, by a shell, or later. Only rules that deny or ask
// use what it finds: where it is in doubt it takes a text for a command.
func (w *walker) mayRun(c *syntax.CallExpr, redirects []*syntax.Redirect, at []string) {
	if w.round != certainly {
		return // the certain reading has seen them
	}
	if len(c.Args) > 0 && len(c.Args[0].Parts) > 0 {
		_, expands := c.Args[0].Parts[0].(*syntax.ParamExp)
		w.later.expands = w.later.expands || expands
	}
	for _, r := range redirects {
		given := r.Hdoc
		if r.Op == syntax.WordHdoc {
			given = r.Word
		}
		if text := w.plain(given); text != "" {
			w.later.given = append(w.later.given, text)
		}
	}
	words := Each(c.Args, w.plain)
	for i, word := range words {
		rest, name := words[i+1:], path.Base(word)
		w.later.shell = w.later.shell || IsShell(name) || In("fish source .", name)
		switch name {
		case "hash":
			if p := slices.Index(rest, "-p"); p >= 0 && p+1 < len(rest) {
				program := Word{Text: rest[p+1], Known: rest[p+1] != ""}
				w.commands = append(w.commands, Command{Words: []Word{program}, Dirs: at})
			}
		case "echo", "printf":
			w.later.given = append(w.later.given, strings.Join(rest, " "))
			w.evaluated(at, rest)
		case "fish", "mapfile", "readarray", "compgen", "complete":
			for j, option := range rest {
				if In("-c --command -C -F", option) && j+1 < len(rest) {
					w.mayRunTexts(at, rest[j+1])
				}
			}
		case "bind": // -x '"key": line'
			for _, r := range rest {
				if _, line, ok := strings.Cut(r, ":"); ok {
					w.mayRunTexts(at, strings.Trim(line, "\" "))
				}
			}
		case "test", "[", "let", "unset", "declare", "typeset", "local", "export", "readonly":
			w.evaluated(at, rest)
		case "git":
			for _, r := range rest {
				if _, line, ok := strings.Cut(r, "=!"); ok { // -c alias.x='!line'
					w.mayRunTexts(at, line)
				}
			}
		}
		if In("read mapfile readarray printf getopts", name) {
			w.evaluated(at, rest)
			for _, variable := range rest {
				w.mayBeAnything(variable)
			}
		}
	}
}

// evaluated looks at words with a subscript, in which some commands run substitutions.
func (w *walker) evaluated(at []string, words []string) {
	for _, word := range words {
		if strings.Contains(word, "[") && strings.ContainsAny(word, "$`") {
			w.mayRunTexts(at, ": "+word)
		}
	}
}

// declared records the assignments of a declaration, and looks at the quoted texts of a
// construct that the parser takes for no command of words.
func (w *walker) declared(node syntax.Node) {
	declaration, ok := node.(*syntax.DeclClause)
	if ok {
		for _, a := range declaration.Args {
			w.assign(a)
		}
	} else if _, ok := node.(*syntax.LetClause); !ok {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			if quoted := w.part(n.(syntax.WordPart), true); quoted.Known {
				w.evaluated(nil, []string{quoted.Text})
			}
		}
		return true
	})
}

// plain is a word without its quotes, "" where it holds an expansion.
func (w *walker) plain(word *syntax.Word) (text string) {
	if word == nil {
		return ""
	}
	for _, part := range word.Parts {
		p := w.part(part, false)
		if !p.Known {
			return ""
		}
		text += p.Text
	}
	return text
}

// mostRounds is how many rounds of a loop are walked one by one.
const mostRounds = 32

// loop walks a for loop, in which its variable stands for one known item after the other. It is a
// variable like any other: a loop over PATH decides which programs run.
func (w *walker) loop(c *syntax.ForClause, at []string) ends {
	words, ok := c.Loop.(*syntax.WordIter)
	if ok {
		w.mayBeAnything(words.Name.Value)
	}
	if !ok || c.Select || !words.InPos.IsValid() || !ownVariable(words.Name.Value) {
		w.compound(c)
		w.nested(c, nil)
		return ends{}
	}
	items, name := []Word{}, words.Name.Value
	for _, item := range words.Items {
		if unsafeExpansion(item) {
			w.compound(c)
		}
		w.nested(item, at)
		word := w.literal(item)
		items = append(items, word)
		if !word.Known { // braces and variables may give the loop's variable these values
			w.values[name] = append(w.values[name], slices.DeleteFunc(Each(w.expanded(item), w.literal),
				func(value Word) bool { return !value.Known })...)
		}
	}
	before, outer := len(w.commands), w.items
	for _, item := range w.rounds(c, name, items) {
		w.items = map[string]Word{}
		maps.Copy(w.items, outer)
		delete(w.items, name)
		if item.Known {
			w.items[name] = item
		} else if len(w.values[name]) == 0 && !slices.ContainsFunc(items, func(i Word) bool { return i.Known }) {
			w.items[name] = Word{} // numbers and the like
		}
		if after := w.list(c.Do, at).any(); !slices.Equal(after, at) { // a cd in it
			w.commands, at = w.commands[:before], nil
			w.list(c.Do, at)
		}
	}
	w.items = maps.Clone(outer)
	delete(w.items, name)
	return ends{at, at}
}

// rounds are the values with which a loop is walked: one for all where an item is not known.
func (w *walker) rounds(c *syntax.ForClause, name string, items []Word) []Word {
	used := false
	for _, s := range c.Do {
		syntax.Walk(s, func(n syntax.Node) bool {
			p, ok := n.(*syntax.ParamExp)
			used = used || ok && p.Param != nil && p.Param.Value == name
			return !used
		})
	}
	w.walked += len(items)
	unknown := slices.ContainsFunc(items, func(i Word) bool { return !i.Known })
	if !used || unknown || len(items) == 0 || w.walked > mostRounds {
		return []Word{{}}
	}
	return items
}

// test collects a test of bash's own as a command of its words.
func (w *walker) test(c *syntax.TestClause, redirects []*syntax.Redirect, at []string) {
	w.nested(c, at)
	s := w.redirects(redirects, at)
	s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(c)
	s.Words = slices.Concat(operator("[["), w.testWords(c.X), operator("]]"))
	w.append(s)
}

func operator(text string) []Word { return []Word{{Text: text, Known: true}} }

func (w *walker) testWords(x syntax.TestExpr) []Word {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		return slices.Concat(w.testWords(x.X), operator(x.Op.String()), w.testWords(x.Y))
	case *syntax.UnaryTest:
		return append(operator(x.Op.String()), w.testWords(x.X)...)
	case *syntax.ParenTest:
		return slices.Concat(operator("("), w.testWords(x.X), operator(")"))
	case *syntax.Word:
		item := w.literal(x)
		item.Glob = false // it stands for no file names
		return []Word{item}
	}
	return nil
}

// ownVariable reports whether no program looks at a variable of this name.
func ownVariable(name string) bool {
	const shells = `histchars auto_resume path cdpath fpath manpath mailpath module_path status argv prompt psvar fignore`
	return name == strings.ToLower(name) && !strings.Contains(name, "proxy") && !In(shells, name)
}
