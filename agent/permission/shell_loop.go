package permission

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
func (w *shellWalker) loop(c *syntax.ForClause, dirs []string) ends {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || !words.InPos.IsValid() || !ownVariable(words.Name.Value) {
		w.opaque(c)
		w.nested(c, nil)
		return ends{}
	}
	items, name := []word{}, words.Name.Value
	for _, item := range words.Items {
		if loose(item) {
			w.opaque(c)
		}
		w.nested(item, dirs)
		items = append(items, each(w.expanded(item), w.literal)...)
	}
	before, outer := len(w.commands), w.bound
	for _, item := range w.rounds(c, name, items) {
		w.bound = map[string]word{}
		maps.Copy(w.bound, outer)
		delete(w.bound, name)
		if item.known {
			w.bound[name] = item
		} else if !slices.ContainsFunc(items, func(i word) bool { return i.known }) {
			w.bound[name] = word{} // numbers and the like
		}
		if after := w.list(c.Do, dirs).any(); !same(after, dirs) { // a cd in it
			w.commands, dirs = w.commands[:before], nil
			w.list(c.Do, nil)
		}
	}
	w.bound = maps.Clone(outer)
	delete(w.bound, name)
	return ends{dirs, dirs}
}

// rounds are the values of a loop's variable for which its body is walked. An
// item that is not known stands for all of them.
func (w *shellWalker) rounds(c *syntax.ForClause, name string, items []word) []word {
	used := false
	for _, s := range c.Do {
		syntax.Walk(s, func(n syntax.Node) bool {
			p, ok := n.(*syntax.ParamExp)
			used = used || ok && p.Param != nil && p.Param.Value == name
			return !used
		})
	}
	w.walked += len(items)
	unknown := slices.ContainsFunc(items, func(i word) bool { return !i.known })
	if !used || unknown || len(items) == 0 || w.walked > mostRounds {
		return []word{{}}
	}
	return items
}

// same reports whether two sets of directories are one.
func same(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

// test collects a test of bash's own as a command of its words.
func (w *shellWalker) test(c *syntax.TestClause, s simple) {
	s.words = []word{{text: "[[", known: true}}
	s.loose = s.loose || loose(c)
	w.nested(c, s.dirs)
	s.words = append(append(s.words, w.testWords(c.X)...), word{text: "]]", known: true})
	w.commands = append(w.commands, s)
}

func (w *shellWalker) testWords(x syntax.TestExpr) []word {
	operator := func(text string) []word { return []word{{text: text, known: true}} }
	switch x := x.(type) {
	case *syntax.BinaryTest:
		return slices.Concat(w.testWords(x.X), operator(x.Op.String()), w.testWords(x.Y))
	case *syntax.UnaryTest:
		return append(operator(x.Op.String()), w.testWords(x.X)...)
	case *syntax.ParenTest:
		return slices.Concat(operator("("), w.testWords(x.X), operator(")"))
	case *syntax.Word:
		item := w.literal(x)
		item.glob = false // it is not taken for file names
		return []word{item}
	}
	return nil
}

// ownVariable reports whether no program looks at a variable of this name.
func ownVariable(name string) bool {
	const shells = `histchars auto_resume path cdpath fpath manpath mailpath module_path status argv prompt psvar fignore`
	return name == strings.ToLower(name) && !strings.Contains(name, "proxy") && !listed(shells, name)
}
