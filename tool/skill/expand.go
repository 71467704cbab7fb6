package skill

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Part is a stretch of an expanded command.
type Part struct {
	Text string
	// Line means that Text is a shell line, whose output belongs in its place. Inserted means that
	// Text comes from the arguments.
	Line, Inserted bool
}

// Expand replaces the placeholders of a command's body: $ARGUMENTS and $@ by all arguments as they
// were typed, $1 to $9 by one, ${@:N} by those from the Nth on. A placeholder without an argument
// of that number stays; \$ is a dollar. Inserted text is not looked at again. With lines, the
// lines !`LINE` become parts of their own, in which arguments are quoted for the shell. Arguments
// that no placeholder takes follow the text. The error names a line in which an argument could not
// be quoted safely.
func Expand(body, args string, lines bool) ([]Part, error) {
	return expander{lines: lines}.expand(body, args)
}

// Expand is Expand of a command's body with its lines. A bundle's can name the bundle's directory.
// A Gemini extension's has {{args}}, one word in a line, !{LINE} and @{PATH} in their place.
func (i Item) Expand(body, args string) ([]Part, error) {
	return expander{lines: true, gemini: path.Ext(i.rel) == geminiExt, root: i.Place.Root}.expand(body, args)
}

func (e expander) expand(body, args string) ([]Part, error) {
	args = strings.ToValidUTF8(args, "\uFFFD")
	e.args, e.words = strings.TrimSpace(args), Words(args)
	for i := 0; i < len(body); {
		if line, n := e.lineAt(body, i); n > 0 {
			quoted, err := e.line(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", body[i:i+n], err)
			}
			e.add(Part{Text: quoted, Line: true})
			i += n
			continue
		}
		if file, n := bracedAt(body[i:], '@'); e.gemini && n > 0 {
			if r, _ := utf8.DecodeLastRuneInString(body[:i]); i > 0 && !unicode.IsSpace(r) {
				e.plain.WriteByte(' ') // Behind a word an @ means nothing.
			}
			e.plain.WriteString(`@"` + strings.ReplaceAll(file, `"`, `\"`) + `"`)
			i += n
			continue
		}
		if !e.gemini && strings.HasPrefix(body[i:], `\$`) {
			e.plain.WriteByte('$')
			i += 2
			continue
		}
		if p, n := e.placeholderAt(body[i:]); n > 0 && e.has(p) {
			e.used = e.used || !p.root
			e.add(Part{Text: e.value(p), Inserted: !p.root})
			i += n
			continue
		}
		e.plain.WriteByte(body[i])
		i++
	}
	if !e.used && e.args != "" {
		e.plain.WriteString("\n\n")
		e.add(Part{Text: e.args, Inserted: true})
	}
	e.flush()
	return e.parts, nil
}

// lineAt is the shell line that begins at a place of a body, and its length with the marks around it;
// 0 for none.
func (e *expander) lineAt(body string, at int) (line string, length int) {
	switch {
	case e.gemini:
		return bracedAt(body[at:], '!')
	case e.lines && strings.HasPrefix(body[at:], "!`") && beginsLine(body[:at]):
		line, _, ok := strings.Cut(body[at+2:], "`")
		if ok && strings.TrimSpace(line) != "" && !strings.Contains(line, "\n") {
			return line, len("!``") + len(line)
		}
	}
	return "", 0
}

// bracedAt is the text in braces behind a mark that a text begins with, and the length of all; 0 for
// none. Braces within it come in pairs.
func bracedAt(text string, mark byte) (inside string, length int) {
	if len(text) < 2 || text[0] != mark || text[1] != '{' {
		return "", 0
	}
	for i, open := 1, 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open++
		case '}':
			open--
		}
		if open == 0 {
			if inside = strings.TrimSpace(text[2:i]); inside == "" {
				return "", 0
			}
			return inside, i + 1
		}
	}
	return "", 0
}

// beginsLine reports whether !` after this text begins a shell line: not behind a word, nor where
// it is escaped or quoted as code.
func beginsLine(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsSpace(r) || strings.ContainsRune("([{:=\"'*_>", r)
}

type expander struct {
	lines, gemini bool   // whether it has shell lines, and the form of a Gemini extension
	root          string // the directory of the command's bundle; "" for none
	args          string
	words         []string
	used          bool // a placeholder took arguments
	parts         []Part
	plain         strings.Builder // the text behind the parts
}

// add adds a part that is not plain text.
func (e *expander) add(p Part) {
	e.flush()
	e.parts = append(e.parts, p)
}

func (e *expander) flush() {
	if e.plain.Len() > 0 {
		e.parts = append(e.parts, Part{Text: e.plain.String()})
		e.plain.Reset()
	}
}

// placeholder stands for arguments: the nth one, those from the nth on with rest, or all
// of them as they were typed with 0. With root it stands for the bundle's directory.
type placeholder struct {
	n    int
	rest bool
	root bool
}

// placeholderAt is the placeholder that a text begins with, and its length; 0 for none.
func (e *expander) placeholderAt(text string) (p placeholder, length int) {
	const geminiArgs = "{{args}}"
	if e.gemini && strings.HasPrefix(text, geminiArgs) {
		return p, len(geminiArgs)
	}
	rest, ok := strings.CutPrefix(text, "$")
	if !ok || rest == "" {
		return p, 0
	}
	next := func(n int) byte {
		if n < len(rest) {
			return rest[n]
		}
		return 0
	}
	for _, name := range rootNames() {
		if strings.HasPrefix(text, name) {
			return placeholder{root: true}, len(name)
		}
	}
	if e.gemini {
		return p, 0
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	switch {
	case strings.HasPrefix(rest, "ARGUMENTS") && !nameByte(next(len("ARGUMENTS"))):
		return p, 1 + len("ARGUMENTS")
	case rest[0] == '@':
		return p, 2
	case rest[0] >= '1' && rest[0] <= '9' && !digit(next(1)): // $100 is a sum
		return placeholder{n: int(rest[0] - '0')}, 2
	case strings.HasPrefix(rest, "{@:") && digit(next(3)):
		end := 3
		for n := 0; digit(next(end)) && n < 1000; end++ {
			n = n*10 + int(next(end)-'0')
			p.n = n
		}
		if next(end) == '}' {
			return placeholder{n: max(p.n, 1), rest: true}, 1 + end + 1
		}
	}
	return placeholder{}, 0
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// has reports whether a placeholder is replaced: one with a number needs such an argument.
func (e *expander) has(p placeholder) bool {
	if p.root {
		return e.root != ""
	}
	return p.n == 0 || p.rest || p.n <= len(e.words)
}

func (e *expander) list(p placeholder) []string {
	switch {
	case p.root:
		return []string{e.root}
	case p.n == 0 && e.gemini:
		return []string{e.args}
	case p.n == 0:
		return e.words
	case p.rest:
		return e.words[min(p.n-1, len(e.words)):]
	}
	return e.words[p.n-1 : p.n]
}

func (e *expander) value(p placeholder) string {
	if p.n == 0 && !p.root {
		return e.args
	}
	return strings.Join(e.list(p), " ")
}

// line replaces the placeholders of a shell line by quoted arguments.
func (e *expander) line(line string) (string, error) {
	var b strings.Builder
	quote, replaced := byte(0), false
	dollar := false  // A $ stands before, neither quoted nor escaped: with the quotes of an argument it would be $'…'.
	var unsafe error // why no argument can be quoted in this line
	refuse := func(what string) {
		if unsafe == nil {
			unsafe = errors.New("arguments cannot be quoted safely in a line with " + what)
		}
	}
	for i := 0; i < len(line); i++ {
		c, afterDollar := line[i], dollar
		dollar = false
		p, n := e.placeholderAt(line[i:])
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(line):
			b.WriteString(line[i : i+2])
			i++
			continue
		case n > 0 && p.root && shellPlain(e.root):
			b.WriteString(e.root)
			i += n - 1
			continue
		case n > 0 && e.has(p):
			e.used, replaced = e.used || !p.root, true
			if afterDollar {
				refuse("$ before an argument")
			}
			b.WriteString(inQuotes(e.list(p), quote))
			i += n - 1
			continue
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == '\'':
		case strings.HasPrefix(line[i:], "${"), strings.HasPrefix(line[i:], "$["):
			refuse("${…} or $[…]")
		case quote == '"':
			if strings.HasPrefix(line[i:], "$(") {
				refuse(`$(…) within "…"`)
			}
		case strings.HasPrefix(line[i:], "$'"), strings.HasPrefix(line[i:], `$"`):
			refuse("$'…'")
		case strings.HasPrefix(line[i:], "(("), strings.HasPrefix(line[i:], "[["):
			refuse("((…)) or [[…]]")
		case strings.HasPrefix(line[i:], "<<"):
			refuse("<<")
		case c == '#':
			refuse("#")
		}
		dollar = quote == 0 && c == '$'
		b.WriteByte(c)
	}
	switch {
	case replaced && quote != 0:
		refuse("a quote that is not closed")
	case replaced && strings.HasSuffix(line, `\`):
		refuse(`\ at its end`)
	}
	if replaced && unsafe != nil {
		return "", unsafe
	}
	return b.String(), nil
}

// inQuotes are arguments as words of a shell line, or within its quotes as one.
func inQuotes(list []string, quote byte) string {
	if quote != 0 {
		return string(quote) + Quote(strings.Join(list, " ")) + string(quote)
	}
	quoted := make([]string, len(list))
	for i, word := range list {
		quoted[i] = Quote(word)
	}
	return strings.Join(quoted, " ")
}

// shellPlain reports whether a text means itself anywhere in a shell line.
func shellPlain(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+") == ""
}

// Quote is a text as one word of a shell line.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Words splits arguments as a shell does: at blanks that are neither quoted nor escaped. Nothing
// else has a meaning. A quote that is not closed is a character like any other.
func Words(args string) (words []string) {
	var b strings.Builder
	open := false // a word has begun
	for i := 0; i < len(args); {
		r, n := utf8.DecodeRuneInString(args[i:])
		switch {
		case (r == '"' || r == '\'') && strings.ContainsRune(args[i+n:], r) && (r == '"' || !open):
			inside, _, _ := strings.Cut(args[i+n:], string(r))
			b.WriteString(inside)
			open, n = true, n+len(inside)+1
		case r == '\\' && i+n < len(args):
			_, size := utf8.DecodeRuneInString(args[i+n:])
			b.WriteString(args[i+n : i+n+size])
			open, n = true, n+size
		case unicode.IsSpace(r):
			if open {
				words = append(words, b.String())
				b.Reset()
			}
			open = false
		default:
			b.WriteString(args[i : i+n])
			open = true
		}
		i += n
	}
	if open {
		words = append(words, b.String())
	}
	return words
}
