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
		case *syntax.LetClause, *syntax.DeclClause:
			h.quoted(n)
		case *syntax.Redirect:
			h.redirect(n)
		}
		return true
	})
	for _, words := range h.programs {
		commands = append(commands, simple{words: words, dirs: []string{dir}})
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
	programs [][]word
}

func (h *hiddenWalker) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		if a.Value == nil {
			continue
		}
		if text, ok := plainText(a.Value.Parts); ok && text != "" {
			h.values = append(h.values, text)
		}
	}
	if len(c.Args) > 0 && len(c.Args[0].Parts) > 0 {
		_, expands := c.Args[0].Parts[0].(*syntax.ParamExp)
		h.expands = h.expands || expands
	}
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
			h.evaluated(rest)
		case "source", ".":
			h.shell = true
		case "fish":
			h.after(rest, "-c", "--command")
		case "mapfile", "readarray", "compgen", "complete":
			h.after(rest, "-C", "-F")
		case "bind":
			h.kept = append(h.kept, boundTo(rest)...)
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
			if text, ok := plainText(n.Parts); ok {
				h.evaluated([]string{text})
			}
		}
		return true
	})
}

// boundTo are the lines that bind -x keeps for keys.
func boundTo(words []string) (lines []string) {
	for _, w := range words {
		if _, line, ok := strings.Cut(w, ":"); ok {
			lines = append(lines, strings.Trim(line, "\" "))
		}
	}
	return lines
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
