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
}

// list walks statements one after the other. Behind a cd that may have failed no directory is known.
func (w *walker) list(stmts []*syntax.Stmt, dir string) {
	for _, s := range stmts {
		w.statement(s, dir)
		if moves(s) {
			dir = ""
		}
	}
}

// statement returns the directory in which the shell is where the statement succeeded, "" where that is not known.
func (w *walker) statement(s *syntax.Stmt, dir string) (end string) {
	for _, r := range s.Redirs {
		w.nested(r, dir)
	}
	call, isCall := s.Cmd.(*syntax.CallExpr)
	around := w.redirects(s.Redirs, dir)
	if !isCall && (len(around.Outputs) > 0 || len(around.Inputs) > 0 || around.SetsVariables ||
		around.UnsafeExpansion) {
		around.Words, around.Compound = []Word{{Text: w.source(s)}}, true
		w.commands = append(w.commands, around)
	}
	chain, isBinary := s.Cmd.(*syntax.BinaryCmd)
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		end = w.call(call, around)
	case *syntax.Subshell:
		w.list(c.Stmts, dir)
		end = dir
	case *syntax.Block:
		w.list(c.Stmts, dir)
		end = after(s, dir)
	default:
		if isBinary && chain.Op == syntax.AndStmt {
			end = w.statement(chain.Y, w.statement(chain.X, dir))
			break
		}
		end = after(s, dir)
		w.construct(s.Cmd, end)
	}
	if s.Negated || s.Background || s.Coprocess {
		return after(s, end)
	}
	return end
}

// construct walks a command that is not simple. Loops over variables that programs look at, arithmetic, declarations,
// functions and the like can run commands or change the meaning of later ones: no rule for their words covers them.
func (w *walker) construct(cmd syntax.Command, dir string) {
	plain := true
	switch c := cmd.(type) {
	case nil, *syntax.BinaryCmd, *syntax.IfClause, *syntax.WhileClause, *syntax.TimeClause:
	case *syntax.TestClause: // It only looks, unless it evaluates a word as arithmetic or as a variable's name.
		evaluates := strings.FieldsFunc(w.source(c), func(c rune) bool { return strings.ContainsRune(" \t\n()!", c) })
		w.commands = append(w.commands, Command{Words: []Word{{Text: "[[", Known: true}}, Dir: dir,
			UnsafeExpansion: unsafeExpansion(c) || slices.ContainsFunc(evaluates, arithmetic)})
	case *syntax.ForClause: // A loop over PATH decides which programs run.
		words, ok := c.Loop.(*syntax.WordIter)
		plain = ok && !c.Select && words.InPos.IsValid() && ownVariable(words.Name.Value) && !unsafeExpansion(words)
	default:
		plain, dir = false, ""
	}
	if !plain {
		w.compound(cmd)
	}
	if cmd != nil {
		w.nested(cmd, dir)
	}
}

// arithmetic reports whether a word of a test makes others arithmetic or names of variables.
func arithmetic(w string) bool { return In("-v -R -eq -ne -lt -le -gt -ge", w) }

// after is a directory that is not known any more behind a node that may take the shell to another one.
func after(node syntax.Node, dir string) string {
	if moves(node) {
		return ""
	}
	return dir
}

// moves reports whether a command within the node may take the shell to another directory.
func moves(node syntax.Node) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a shell of its own
		case *syntax.CallExpr:
			found = found || len(n.Args) > 0 && (n.Args[0].Lit() == "" || In("cd pushd popd eval source . trap",
				n.Args[0].Lit()))
		}
		return !found
	})
	return found
}

// compound adds a construct that is no simple command under its first word.
func (w *walker) compound(node syntax.Node) {
	text, _, _ := strings.Cut(strings.TrimSpace(w.source(node)), " ")
	w.commands = append(w.commands, Command{Words: []Word{{Text: text, Known: true}}, Compound: true})
}

// nested walks the statements and substitutions in a node.
func (w *walker) nested(node syntax.Node, dir string) {
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

// call collects a simple command and the commands that its words start. s holds its redirections.
func (w *walker) call(c *syntax.CallExpr, s Command) (end string) {
	w.nested(c, s.Dir)
	s.SetsVariables = s.SetsVariables || len(c.Assigns) > 0
	s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(c)
	s.Words = Each(c.Args, w.literal)
	if len(s.Words) == 0 {
		s.Words, s.Compound = []Word{{Text: w.source(c)}}, true
		w.commands = append(w.commands, s)
		return s.Dir
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
			text := w.hereDocument(r, target)
			c.Texts, c.UnknownText = append(c.Texts, text.Text), c.UnknownText || !text.Known
		case syntax.WordHdoc:
			c.Texts, c.UnknownText = append(c.Texts, target.Text), c.UnknownText || !target.Known
		default:
			if r.Op == syntax.DplOut && descriptor || target.Known && In("/dev/null /dev/stderr /dev/stdout",
				target.Text) {
				continue
			}
			c.Outputs = append(c.Outputs, target)
			c.Overwrites = c.Overwrites || r.Op != syntax.AppOut && r.Op != syntax.AppAll
		}
	}
	return c
}

// hereDocument is a text that follows the line. Where it ends must be plain, or the shell may find commands where the
// parser sees text; the shell joins continued lines of one that is not quoted before it looks for the end.
func (w *walker) hereDocument(r *syntax.Redirect, end Word) Word {
	text := Word{Known: true}
	if r.Hdoc != nil {
		text.Text = w.source(r.Hdoc)
		text.Known = !slices.ContainsFunc(r.Hdoc.Parts, func(part syntax.WordPart) bool {
			_,
				plain := part.(*syntax.Lit)
			return !plain
		})
	}
	quoted := w.source(r.Word) != end.Text
	w.ok = w.ok && end.Known && !strings.ContainsAny(end.Text, "\n\\`$'\" ") &&
		(quoted || !strings.Contains(text.Text, "\\\n"))
	return text
}

// add adds a command, follows cd, and opens wrappers: the commands that they run count,
// not the wrappers themselves, except for rules that deny or ask.
func (w *walker) add(c Command) (end string) {
	inner, script, how := unwrap(c)
	if how != wrapsNothing && !OfSystem(c.Name()) {
		w.commands = append(w.commands, c) // ./sudo is a program of its own
	}
	switch how {
	case wrapsCommand:
		if end = w.add(inner); c.Name() == "command" || c.Name() == "builtin" {
			return end
		}
		return c.Dir
	case wrapsScript:
		if how = w.script(inner, script); how == wrapsScript {
			return c.Dir
		}
	case wrapsNothing:
		how = given(c)
	}
	// Its text counts as a whole for rules that deny or ask.
	unseen := how == wrapsUnseen
	c.Compound, c.RunsUnknown = c.Compound || unseen || how == wrapsText, c.RunsUnknown || unseen
	w.commands = append(w.commands, c)
	w.found(c)
	if c.Name() != "cd" {
		return c.Dir
	}
	if !c.Known() || c.Globs() || c.SetsVariables || len(c.Words) != 2 || c.Words[1].Text == "" ||
		c.Words[1].Text[0] == '-' {
		return ""
	}
	return c.Path(c.Words[1].Text)
}

// literal is the word as far as it is known. Tildes, braces and variables make it unknown, globs do not.
func (w *walker) literal(source *syntax.Word) Word {
	if source == nil {
		return Word{}
	}
	text, bare, known := w.parts(source.Parts, "")
	// Braces and their commas may stand in different parts: {a,"b"}.
	braces := strings.Contains(bare, "{") && (strings.Contains(bare, ",") || strings.Contains(bare, ".."))
	// The shell expands a tilde at the start, and after = or : as in an assignment.
	tilde := strings.HasPrefix(bare, "~") || strings.Contains(bare, "=~") || strings.Contains(bare, ":~")
	if !known || braces || tilde {
		return Word{Text: w.source(source)}
	}
	return Word{Text: text, Known: true, Glob: strings.ContainsAny(bare, "*?[") && bare != "["}
}

// parts is the text of the parts of a word, and of those that are not quoted. quotes are the characters that a
// backslash quotes, "" for all.
func (w *walker) parts(parts []syntax.WordPart, quotes string) (text, bare string, known bool) {
	known = true
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			plain := dropBackslashes(p.Value, quotes)
			text, bare = text+plain, bare+plain
		case *syntax.SglQuoted:
			text, known = text+p.Value, known && !p.Dollar
		case *syntax.DblQuoted:
			inner, _, plain := w.parts(p.Parts, "$`\"\\\n")
			text, known = text+inner, known && plain && !p.Dollar
		default:
			source := w.source(part)
			text, known = text+source, known && source == "$?" // a number
		}
	}
	return text, bare, known
}

// WordCharacters are those that the shell leaves as they are in the values that it expands.
const WordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@%:,"

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

// ownVariable reports whether no program looks at a variable of this name.
func ownVariable(name string) bool {
	const shells = `histchars auto_resume path cdpath fpath manpath mailpath module_path status argv prompt psvar
		fignore`
	return name == strings.ToLower(name) && !strings.Contains(name, "proxy") && !In(shells, name)
}

// script walks the line that a shell is given, with the surroundings of inner. Another shell may take the line in
// another way: no rule for its words covers it.
func (w *walker) script(inner Command, script string) wrapping {
	kind, how := path.Base(inner.Wrappers[len(inner.Wrappers)-1][0].Text), wrapsScript
	if kind == "eval" {
		kind = w.kind
	}
	commands, ok := read(script, inner.Dir, kind, w.depth+1)
	switch {
	case kind != w.kind, inner.SetsVariables:
		inner.Compound, how = true, wrapsUnseen
	case len(commands) == 0:
		how = wrapsNothing // nothing except its surroundings
	}
	w.ok = w.ok && (ok || how == wrapsUnseen)
	for _, found := range commands {
		w.commands = append(w.commands, found.within(inner))
	}
	return how
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

// given reports whether a command makes the shell or git run others that its own words do not show as commands: later,
// by another name, from its input, or by git's plumbing.
func given(c Command) wrapping {
	words, git := Texts(c.Words), Texts(c.Git())
	own := words[:len(words)-len(git)]
	switch name := c.Base(); {
	case name == "hash" && len(words) > 2, name == "enable" && slices.Contains(words, "-f"),
		// Names stand for other programs from now on.
		IsShell(name) && !slices.ContainsFunc(words[1:], func(w string) bool { return !IsOption(w) }):
		return wrapsUnseen
	case len(git) > 0 && (slices.Contains(git, "foreach") || slices.Contains(git, "run") ||
		In("rebase difftool", git[0]) && HaveOption(git, "-x --extcmd") ||
		git[0] == "grep" && HaveOption(git, "-O --open-files-in-pager") ||
		In("clone init", git[0]) && HaveOption(git, "-u -c --config --template") ||
		HaveOption(git, "--exec --upload-pack --receive-pack --access-hook") ||
		git[0] == "send-email" && HaveOption(git, "--sendmail-cmd --smtp-server --to-cmd --cc-cmd --header-cmd") ||
		git[0] == "filter-branch" && HaveOption(git, "--tree-filter --index-filter --msg-filter --env-filter"+
			" --commit-filter --parent-filter --tag-name-filter") ||
		// A setting may name a program by its path.
		HaveOption(own, "-c") && slices.ContainsFunc(own, func(w string) bool {
			return strings.Contains(w, "/") && strings.Contains(w, "=")
		})):
		return wrapsUnseen
	case strings.HasPrefix(name, "git-"), len(git) > 0 &&
		(In("send-pack http-push fetch-pack http-fetch commit-tree subtree for-each-repo", git[0]) ||
			HaveOption(own, "-c --config-env") ||
			slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(strings.ToLower(w), "alias.") })):
		return wrapsText
	}
	return wrapsNothing
}

// found adds the commands that find starts, up to the end of their words.
func (w *walker) found(c Command) {
	for i, word := range c.Words {
		if c.Base() != "find" || !In("-exec -execdir -ok -okdir", word.Text) {
			continue
		}
		inner := Command{TakesArgs: true}.within(c)
		for _, word := range c.Words[i+1:] {
			if word.Text == ";" || word.Text == "+" {
				break
			}
			word.Known = word.Known && !strings.Contains(word.Text, "{}")
			inner.Words = append(inner.Words, word)
		}
		if len(inner.Words) > 0 {
			w.add(inner)
		}
	}
}

// OfSystem reports whether a name stands for a program of the system, not the project's file.
func OfSystem(name string) bool {
	return !strings.Contains(name, "/") || In("/bin /usr/bin", path.Dir(name))
}
