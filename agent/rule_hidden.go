package agent

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hiddenCommands are commands that a line runs although they do not stand in it
// as commands: the text a shell is given to read, what trap and alias keep for
// later, what hash puts in place of another program. For rules that refuse or
// ask, which rather see too many.
func hiddenCommands(line, dir string) (commands []simple) {
	if !legible(line) {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	h := hiddenWalker{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			h.call(n)
		case *syntax.Redirect:
			h.redirect(n)
		}
		return true
	})
	for _, words := range h.programs {
		commands = append(commands, simple{words: words, dirs: []string{dir}})
	}
	texts := h.kept
	if h.shell {
		texts = append(texts, h.given...)
	}
	for _, text := range texts {
		if text != line { // no text holds itself
			inner, _ := shellLine(text, dir)
			commands = append(commands, inner...)
		}
	}
	return commands
}

// hiddenWalker collects texts that may be run.
type hiddenWalker struct {
	kept     []string // by trap and alias: they are run
	given    []string // what commands are given to read, or say: run where a shell reads it
	shell    bool     // there is a shell that may read
	programs [][]word
}

func (h *hiddenWalker) call(c *syntax.CallExpr) {
	var words []string
	for _, arg := range c.Args {
		text, ok := plainText(arg.Parts)
		if !ok {
			text = ""
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		return
	}
	for i, w := range words {
		h.shell = h.shell || shellName(path.Base(w))
		rest := words[i+1:]
		switch path.Base(w) {
		case "trap":
			if at := slices.IndexFunc(rest, func(w string) bool { return !isOption(w) }); at >= 0 {
				h.kept = append(h.kept, rest[at])
			}
		case "alias":
			for _, a := range rest {
				if _, value, ok := strings.Cut(a, "="); ok {
					h.kept = append(h.kept, value)
				}
			}
		case "hash":
			if at := slices.Index(rest, "-p"); at >= 0 && at+1 < len(rest) {
				h.programs = append(h.programs, []word{{text: rest[at+1], known: rest[at+1] != ""}})
			}
		case "echo", "printf":
			h.given = append(h.given, strings.Join(rest, " "))
		}
	}
}

func (h *hiddenWalker) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.WordHdoc:
		if text, ok := plainText(r.Word.Parts); ok {
			h.given = append(h.given, text)
		}
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return
		}
		if text, ok := plainText(r.Hdoc.Parts); ok {
			h.given = append(h.given, text)
		}
	}
}

// plainText is what parts of a word come to, if they hold no expansion.
func plainText(parts []syntax.WordPart) (text string, ok bool) {
	var b strings.Builder
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(dropBackslashes(p.Value, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, ok := plainText(p.Parts)
			if !ok {
				return "", false
			}
			b.WriteString(inner)
		default:
			return "", false
		}
	}
	return b.String(), true
}
