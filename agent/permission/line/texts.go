package line

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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

// mayRun looks for texts in a command that may be run: by itself, by a shell, or later. It serves rules
// that deny or ask, and so sees rather too many commands.
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
