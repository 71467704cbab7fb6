package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// mostValues bounds how many values of one variable are tried.
const mostValues = 8

// resolved are the commands of a line with the values in place that the line
// gives its variables, and with braces expanded. A variable that is set more
// than once stands for each of its values. It is for what asks and denies, which
// rather sees too many commands.
func resolved(line, dir string) (commands []simple) {
	file := parseBash(line)
	if file == nil {
		return nil
	}
	values, set := assigned(file, line)
	rounds := 1
	for _, of := range values {
		rounds = max(rounds, min(len(of), mostValues))
	}
	for round := range rounds {
		w := &shellWalker{ok: true, line: line, kind: "bash", variant: syntax.LangBash, set: set, braces: true}
		w.bound = map[string]word{}
		for name, of := range values {
			w.bound[name] = of[min(round, len(of)-1)]
		}
		w.list(file.Stmts, known(dir))
		commands = append(commands, w.commands...)
	}
	return commands
}

// assigned are the values that a line gives its variables, in its order, and
// the variables that it sets in ways that are not followed.
func assigned(file *syntax.File, line string) (values map[string][]word, set map[string]bool) {
	values, set = map[string][]word{}, map[string]bool{}
	w := &shellWalker{ok: true, line: line, kind: "bash", variant: syntax.LangBash, bound: map[string]word{}, set: set}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name == nil || n.Naked {
				return true
			}
			name := n.Name.Value
			value := w.literal(n.Value)
			value.known = value.known || n.Value == nil && n.Array == nil // x=
			if before := w.bound[name]; n.Append && !(before.known && value.known) {
				value = word{}
			} else if n.Append {
				value.text = before.text + value.text
			}
			values[name], w.bound[name] = append(values[name], value), value
		case *syntax.WordIter:
			set[n.Name.Value] = true
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			if listed("read mapfile readarray printf getopts", w.literal(n.Args[0]).text) {
				for _, arg := range n.Args[1:] {
					set[w.literal(arg).text] = true
				}
			}
		}
		return true
	})
	for name := range set { // what is not followed may be any of its values
		if of := values[name]; of != nil {
			values[name] = append(of, word{})
		}
	}
	return values, set
}

// cutVariable is what is known of an expansion that takes a part of a value: a
// plain text off one of its ends gives a known value.
func (w *shellWalker) cutVariable(p *syntax.ParamExp) word {
	if p.Param == nil {
		return word{}
	}
	value, bound := w.bound[p.Param.Value]
	switch {
	case !bound, p.Excl, p.Index != nil, !value.known, p.Length, value.glob:
		return word{}
	case p.Exp != nil && p.Exp.Word != nil:
		cut := w.literal(p.Exp.Word)
		if cut.known && !cut.glob {
			switch p.Exp.Op {
			case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
				value.text = strings.TrimSuffix(value.text, cut.text)
				return value
			case syntax.RemSmallPrefix, syntax.RemLargePrefix:
				value.text = strings.TrimPrefix(value.text, cut.text)
				return value
			}
		}
	}
	return word{}
}

// expanded are the words that braces make of one.
func (w *shellWalker) expanded(source *syntax.Word) []*syntax.Word {
	text := w.source(source)
	if !w.braces || !strings.Contains(text, "{") || strings.Contains(text, "..") || strings.Count(text, ",") > mostValues {
		return []*syntax.Word{source}
	}
	split := &syntax.Word{Parts: slices.Clone(source.Parts)} // what holds braces cannot be walked
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
