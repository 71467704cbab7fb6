package agent

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// literal is the word as far as it is known. A tilde or braces that the shell
// would expand make it unknown; globs do not.
func (w *shellWalker) literal(source *syntax.Word) word {
	if source == nil {
		return word{}
	}
	var value, bare strings.Builder // all of it; its unquoted parts
	for _, part := range source.Parts {
		text, quoted, ok := literalPart(part)
		if !ok || !quoted && tilde(text) {
			return word{text: w.source(source)}
		}
		value.WriteString(text)
		if !quoted {
			bare.WriteString(text)
		}
	}
	// Braces and what makes them work may stand in different parts: {a,"b"}.
	if b := bare.String(); strings.Contains(b, "{") && (strings.Contains(b, ",") || strings.Contains(b, "..")) {
		return word{text: w.source(source)}
	}
	return word{text: value.String(), known: true, glob: strings.ContainsAny(bare.String(), "*?[")}
}

func literalPart(part syntax.WordPart) (text string, quoted, ok bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return unescape(p.Value), false, true
	case *syntax.SglQuoted:
		return p.Value, true, !p.Dollar
	case *syntax.DblQuoted:
		var b strings.Builder
		for _, inner := range p.Parts {
			lit, ok := inner.(*syntax.Lit)
			if !ok {
				return "", true, false
			}
			b.WriteString(unescapeQuoted(lit.Value))
		}
		return b.String(), true, !p.Dollar
	}
	return "", false, false
}

// tilde reports whether an unquoted text may hold a tilde that the shell
// expands: at the start, and after = or : as in an assignment.
func tilde(text string) bool {
	for i := range len(text) {
		if text[i] == '~' && (i == 0 || text[i-1] == '=' || text[i-1] == ':') {
			return true
		}
	}
	return false
}

// loose reports whether the expansions in a node can set variables, or run
// commands that the parser does not show: arithmetic takes the value of a
// variable for an expression, in which a subscript may hold a command.
func loose(node syntax.Node) bool {
	found := false
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp, *syntax.ExtGlob, *syntax.BraceExp:
			found = true
		case *syntax.CmdSubst:
			found = found || n.Backquotes || n.TempFile || n.ReplyVar
		case *syntax.ParamExp:
			found = found || n.Excl || n.Index != nil || n.Slice != nil || n.Names != 0 ||
				n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull || n.Exp.Op == syntax.OtherParamOps)
		}
		return !found
	})
	return found
}

// source is the text of a node as it was written.
func (w *shellWalker) source(node syntax.Node) string {
	from, to := node.Pos().Offset(), node.End().Offset()
	if !node.Pos().IsValid() || from >= to || int(to) > len(w.line) {
		return "?"
	}
	return w.line[from:to]
}

func unescape(s string) string { return dropBackslashes(s, "") }

func unescapeQuoted(s string) string { return dropBackslashes(s, "$`\"\\\n") }

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
