package line

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mostRounds is how many rounds of a loop are walked one by one.
const mostRounds = 32

// loop walks a for loop. Its variable is a variable like any other: a loop over
// PATH decides which programs run. Within it the variable stands for one item
// after the other, as far as they are known.
func (w *walker) loop(c *syntax.ForClause, at place) ends {
	words, ok := c.Loop.(*syntax.WordIter)
	if ok {
		w.mayBeAnything(words.Name.Value)
	}
	if !ok || c.Select || !words.InPos.IsValid() || !ownVariable(words.Name.Value) {
		w.compound(c)
		w.nested(c, place{})
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
		if !word.Known {
			w.guessItem(name, item)
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
		if after := w.list(c.Do, at).any(); !after.is(at) { // a cd in it
			w.commands, at = w.commands[:before], place{}
			w.list(c.Do, at)
		}
	}
	w.items = maps.Clone(outer)
	delete(w.items, name)
	return ends{at, at}
}

// guessItem gives a loop's variable the values that an item could have by the values of
// other variables and by its braces.
func (w *walker) guessItem(name string, item *syntax.Word) {
	round := w.round
	for w.round = range mostValues {
		for _, value := range Each(w.expanded(item), w.literal) {
			if value.Known && !slices.Contains(w.values[name], value) {
				w.values[name] = append(w.values[name], value)
			}
		}
	}
	w.round = round
}

// rounds are the values of a loop's variable for which its body is walked. An
// item that is not known stands for all of them.
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
func (w *walker) test(c *syntax.TestClause, redirects []*syntax.Redirect, at place) {
	w.nested(c, at)
	w.emit(at, w.append, func(dirs []string) Command {
		s := w.redirects(redirects, dirs)
		s.UnsafeExpansion = s.UnsafeExpansion || unsafeExpansion(c)
		s.Words = slices.Concat(operator("[["), w.testWords(c.X), operator("]]"))
		return s
	})
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
