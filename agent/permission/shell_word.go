package permission

import (
	"slices"
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
	out := word{text: w.source(source)}
	known, soft, glob := true, true, false
	for _, part := range source.Parts {
		p := w.part(part, false)
		known, soft = known && p.known, soft && (p.known || p.soft)
		glob = glob || p.glob
		if _, bareText := part.(*syntax.Lit); bareText {
			if tilde(p.text) {
				return out
			}
			bare.WriteString(p.text)
		}
		value.WriteString(p.text)
	}
	b := bare.String()
	glob = glob || strings.ContainsAny(b, "*?[") && b != "["
	// Braces and what makes them work may stand in different parts: {a,"b"}.
	if strings.Contains(b, "{") && (strings.Contains(b, ",") || strings.Contains(b, "..")) {
		return out
	}
	if known {
		return word{text: value.String(), known: true, glob: glob}
	}
	out.soft = soft && !glob
	return out
}

// part is what is known of a part of a word.
func (w *shellWalker) part(part syntax.WordPart, quoted bool) word {
	switch p := part.(type) {
	case *syntax.Lit:
		quotes := ""
		if quoted {
			quotes = "$`\"\\\n"
		}
		return word{text: dropBackslashes(p.Value, quotes), known: true}
	case *syntax.SglQuoted:
		return word{text: p.Value, known: !p.Dollar}
	case *syntax.DblQuoted:
		out := word{known: !p.Dollar, soft: !p.Dollar}
		for _, inner := range p.Parts {
			i := w.part(inner, true)
			out.text += i.text
			out.known, out.glob = out.known && i.known, out.glob || i.glob
			out.soft = out.soft && (i.known || i.soft)
		}
		return out
	case *syntax.ParamExp:
		return w.variable(p, quoted)
	case *syntax.CmdSubst:
		// What it prints may be anything; the commands in it are looked at.
		return word{soft: quoted && !loose(p)}
	}
	return word{}
}

// variable is what is known of the value of a variable.
func (w *shellWalker) variable(p *syntax.ParamExp, quoted bool) word {
	if p.Param == nil || !plainParameter(p) {
		return w.cutVariable(p)
	}
	name := p.Param.Value
	if value, ok := w.bound[name]; ok {
		if !value.known {
			return word{}
		}
		plain := !value.glob && strings.Trim(value.text, wordCharacters) == "" && value.text != ""
		if quoted || plain {
			return value
		}
		return word{soft: true}
	}
	return word{soft: publicVariable(name)}
}

// wordCharacters are those that the shell leaves as they are in what it expands.
const wordCharacters = letterCharacters + "0123456789_-./+@%:,"

const letterCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// plainParameter reports whether an expansion is the value of a variable and
// nothing else.
func plainParameter(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil &&
		p.Names == 0 && p.Exp == nil && p.Flags == nil && p.NestedParam == nil
}

// tilde reports whether an unquoted text may hold a tilde that the shell
// expands: at the start, and after = or : as in an assignment.
func tilde(text string) bool {
	return strings.HasPrefix(text, "~") || strings.Contains(text, "=~") || strings.Contains(text, ":~")
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
			sets := []syntax.ParExpOperator{syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps}
			found = found || n.Excl || n.Index != nil || n.Slice != nil || n.Names != 0 ||
				n.Exp != nil && slices.Contains(sets, n.Exp.Op)
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
