package skill

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/tool/extension"
)

// Part is a stretch of an expanded command.
type Part struct {
	Text string
	// Line means that Text is a shell line, whose output belongs in its place. Inserted means that
	// Text comes from the arguments.
	Line, Inserted bool
}

// Expand replaces the placeholders of a command's body: $ARGUMENTS and $@ by all arguments as they
// were typed, $1 to $9 by one, ${@:N} by those from the Nth on. A body that has $0 or $ARGUMENTS[N]
// counts from 0. A placeholder without an argument of that number stays; \$ is a dollar. Inserted text
// is not looked at again. With lines, the lines !`LINE`, and blocks ```! of lines, become parts of their
// own, in which arguments are quoted for the shell. Arguments that no placeholder takes follow the text.
// The error names a line in which an argument could not be quoted safely.
func Expand(body, args string, lines bool) ([]Part, error) {
	return expander{lines: lines, follow: true}.expand(body, args)
}

// Expand is Expand of the body of a command, or of a skill that is called as one, with its lines. A bundle's
// can name the bundle's directory, and a skill its own. A Gemini extension's has {{args}}, one word in
// a line, !{LINE} and @{PATH} in their place. Lines in a skill's blocks of code are examples, and arguments
// that no placeholder takes do not follow it.
func (i Item) Expand(body, args string) ([]Part, error) {
	isSkill := i.Kind == extension.KindSkill
	return expander{lines: true, gemini: path.Ext(i.rel) == geminiExt, dirs: i.dirs(), quoted: isSkill, follow: !isSkill}.expand(body, args)
}

// dirs are the directories that texts of an item can name as ${NAME} or $NAME.
func (i Item) dirs() map[string]string {
	dirs := map[string]string{}
	if i.Place.Bundle != "" {
		dirs["CLAUDE_PLUGIN_ROOT"], dirs["extensionPath"] = i.Place.Root, i.Place.Root
	}
	if i.Kind == extension.KindSkill {
		dirs["CLAUDE_SKILL_DIR"] = i.Dir()
		if real, err := filepath.EvalSymlinks(i.Dir()); err == nil {
			dirs["CLAUDE_SKILL_DIR"] = real // The sandbox shows it there.
		}
	}
	return dirs
}

// directoryAt is the directory that a text begins with the name of, and the length of the name; 0 for none.
func directoryAt(dirs map[string]string, text string) (dir string, length int) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return "", 0
	}
	inside, braced := strings.CutPrefix(rest, "{")
	for name, dir := range dirs {
		after, ok := strings.CutPrefix(inside, name)
		switch {
		case !ok:
		case !braced && (after == "" || !nameByte(after[0])):
			return dir, 1 + len(name)
		case braced && strings.HasPrefix(after, "}"):
			return dir, len("${}") + len(name)
		case braced && strings.HasPrefix(after, ":-"):
			if end := strings.IndexAny(after, "}\n"); end > 0 && after[end] == '}' {
				return dir, len("${") + len(name) + end + 1
			}
		}
	}
	return "", 0
}

func (e expander) expand(body, args string) ([]Part, error) {
	args = strings.ToValidUTF8(args, "\uFFFD")
	e.args, e.words = strings.TrimSpace(args), Words(args)
	e.from0 = countsFromZero(body)
	for i := 0; i < len(body); {
		if i == 0 || body[i-1] == '\n' {
			e.fence(body[i:])
		}
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
			e.used = e.used || p.dir == ""
			e.add(Part{Text: e.value(p), Inserted: p.dir == ""})
			i += n
			continue
		}
		e.plain.WriteByte(body[i])
		i++
	}
	if !e.used && e.args != "" && e.follow {
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
	case e.lines && strings.HasPrefix(body[at:], blockMark) && strings.TrimSpace(body[strings.LastIndexByte(body[:at], '\n')+1:at]) == "":
		first, rest, ok := strings.Cut(body[at+len(blockMark):], "\n")
		inside, _, closed := strings.Cut("\n"+rest, "\n```")
		if ok && closed && strings.TrimSpace(first) == "" && strings.TrimSpace(inside) != "" {
			return strings.Trim(inside, "\n"), len(blockMark) + len(first) + len(inside) + len("\n```")
		}
	case e.lines && !(e.quoted && e.open != "") && strings.HasPrefix(body[at:], "!`") && beginsLine(body[:at]):
		line, _, ok := strings.Cut(body[at+2:], "`")
		if ok && strings.TrimSpace(line) != "" && !strings.Contains(line, "\n") {
			return line, len("!``") + len(line)
		}
	}
	return "", 0
}

// blockMark begins a block of shell lines.
const blockMark = "```!"

// countsFromZero reports whether a body has placeholders that count arguments from 0.
func countsFromZero(body string) bool {
	for at := 0; ; at++ {
		next := strings.IndexByte(body[at:], '$')
		if next < 0 {
			return false
		}
		at += next
		rest := body[at+1:]
		zero := strings.HasPrefix(rest, "0") && (len(rest) == 1 || !nameByte(rest[1])) || strings.HasPrefix(rest, "ARGUMENTS[")
		if zero && (at == 0 || body[at-1] != '\\') {
			return true
		}
	}
}

// fence notes where a block of code begins and ends, at the beginning of a line.
func (e *expander) fence(text string) {
	row, _, _ := strings.Cut(text, "\n")
	row = strings.TrimSpace(row)
	mark := row[:len(row)-len(strings.TrimLeft(row, "`"))]
	switch {
	case len(mark) < 3 || strings.HasPrefix(row, blockMark):
	case e.open == "":
		e.open = mark
	case row == mark && len(mark) >= len(e.open):
		e.open = ""
	}
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
	lines, gemini bool              // whether it has shell lines, and the form of a Gemini extension
	quoted        bool              // lines in blocks of code are text
	follow        bool              // arguments that no placeholder takes follow the text
	dirs          map[string]string // the directories that it can name
	args          string
	words         []string
	from0         bool   // the first argument is $0
	open          string // the mark of the block of code that has begun; "" for none
	used          bool   // a placeholder took arguments
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
// of them as they were typed with 0. With dir it stands for that directory.
type placeholder struct {
	n    int
	rest bool
	dir  string
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
	if dir, length := directoryAt(e.dirs, text); length > 0 {
		return placeholder{dir: dir}, length
	}
	if e.gemini {
		return p, 0
	}
	first := byte('1')
	if e.from0 {
		first = '0'
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	switch {
	case e.from0 && strings.HasPrefix(rest, "ARGUMENTS[") && digit(next(10)) && next(11) == ']':
		return placeholder{n: int(next(10)-'0') + 1}, len("$ARGUMENTS[0]")
	case strings.HasPrefix(rest, "ARGUMENTS") && !nameByte(next(len("ARGUMENTS"))):
		return p, 1 + len("ARGUMENTS")
	case rest[0] == '@':
		return p, 2
	case rest[0] >= first && rest[0] <= '9' && !digit(next(1)): // $100 is a sum
		return placeholder{n: int(rest[0]-first) + 1}, 2
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
	return p.dir != "" || p.n == 0 || p.rest || p.n <= len(e.words)
}

func (e *expander) list(p placeholder) []string {
	switch {
	case p.dir != "":
		return []string{p.dir}
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
	if p.n == 0 && p.dir == "" {
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
		case n > 0 && p.dir != "" && shellPlain(p.dir):
			b.WriteString(p.dir)
			i += n - 1
			continue
		case n > 0 && e.has(p):
			e.used, replaced = e.used || p.dir == "", true
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
