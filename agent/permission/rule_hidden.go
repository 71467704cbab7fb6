package permission

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
	file := parseBash(line)
	if file == nil {
		return nil
	}
	h := hiddenWalker{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			h.call(n)
		case *syntax.LetClause, *syntax.DeclClause:
			h.quoted(n)
		case *syntax.Redirect:
			h.redirect(n)
		}
		return true
	})
	for _, name := range h.programs {
		commands = append(commands, simple{words: []word{{text: name, known: name != ""}}, dirs: []string{dir}})
	}
	texts := h.kept
	if h.expands {
		texts = append(texts, h.values...)
	}
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
	values   []string // of variables that the line sets: run where a command's name is an expansion
	expands  bool     // there is such a command
	given    []string // what commands are given to read, or say: run where a shell reads it
	shell    bool     // there is a shell that may read
	programs []string
}

func (h *hiddenWalker) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		if text, ok := plainText(a.Value); ok && text != "" {
			h.values = append(h.values, text)
		}
	}
	if len(c.Args) > 0 && len(c.Args[0].Parts) > 0 {
		_, expands := c.Args[0].Parts[0].(*syntax.ParamExp)
		h.expands = h.expands || expands
	}
	words := make([]string, len(c.Args)) // "" for what is not plain
	for i, arg := range c.Args {
		words[i], _ = plainText(arg)
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
				h.programs = append(h.programs, rest[at+1])
			}
		case "echo", "printf":
			h.given = append(h.given, strings.Join(rest, " "))
			h.evaluated(rest)
		case "source", ".":
			h.shell = true
		case "fish":
			h.after(rest, "-c", "--command")
		case "mapfile", "readarray", "compgen", "complete":
			h.after(rest, "-C", "-F")
		case "bind": // -x '"key": line'
			for _, r := range rest {
				if _, line, ok := strings.Cut(r, ":"); ok {
					h.kept = append(h.kept, strings.Trim(line, "\" "))
				}
			}
		case "test", "[", "let", "unset", "read", "declare", "typeset", "local", "export", "readonly":
			h.evaluated(rest)
		case "git":
			for _, r := range rest {
				if _, value, ok := strings.Cut(r, "=!"); ok { // -c alias.x='!line'
					h.kept = append(h.kept, value)
				}
			}
		}
	}
}

// after keeps the words that follow these options: commands to be run.
func (h *hiddenWalker) after(words []string, options ...string) {
	for i, w := range words {
		if slices.Contains(options, w) && i+1 < len(words) {
			h.kept = append(h.kept, words[i+1])
		}
	}
}

// evaluated keeps words with a subscript, whose substitutions some commands run
// although they were quoted.
func (h *hiddenWalker) evaluated(words []string) {
	for _, w := range words {
		if strings.Contains(w, "[") && strings.ContainsAny(w, "$`") {
			h.kept = append(h.kept, ": "+w)
		}
	}
}

// quoted is evaluated for the quoted texts of a construct that is no command of
// words for the parser.
func (h *hiddenWalker) quoted(node syntax.Node) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			h.evaluated([]string{n.Value})
		case *syntax.DblQuoted:
			if text, ok := textOf(n.Parts); ok {
				h.evaluated([]string{text})
			}
		}
		return true
	})
}

// redirect takes here-documents and here-strings.
func (h *hiddenWalker) redirect(r *syntax.Redirect) {
	given := r.Hdoc
	if r.Op == syntax.WordHdoc {
		given = r.Word
	}
	if text, ok := plainText(given); ok {
		h.given = append(h.given, text)
	}
}

// plainText is what a word comes to, if it holds no expansion; not ok for nil.
func plainText(word *syntax.Word) (text string, ok bool) {
	if word == nil {
		return "", false
	}
	return textOf(word.Parts)
}

func textOf(parts []syntax.WordPart) (text string, ok bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += dropBackslashes(p.Value, "")
		case *syntax.SglQuoted:
			text += p.Value
		case *syntax.DblQuoted:
			inner, ok := textOf(p.Parts)
			if !ok {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, true
}
