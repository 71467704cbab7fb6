package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

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
