package instructions

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"artoo/tool/names"
)

// imported adds the file that a text names as @target.
func (r *reader) imported(target string, by File, above []string, linked bool) {
	at, info := r.target(target, by)
	if at == "" || info == nil && !pathLike(target) {
		return
	}
	unlikely := info == nil || info.IsDir() && !strings.HasSuffix(target, "/")
	f := File{Path: at, By: by.Path, maybe: unlikely && !surePath(target), linked: linked}
	if len(above) > mostDeep {
		f.Why = Deep
		r.add(f)
		return
	}
	before := len(r.found)
	r.read(f, above)
	if len(r.found) > before && !pathLike(target) && !r.found[before].Used && r.found[before].Why != Cycle {
		r.found = r.found[:before] // @name is the name of a program or a directory, and not meant
	}
}

// target is the path that an import means, and what is there, nil for nothing. It is "" where there is no home.
func (r *reader) target(target string, by File) (path string, info fs.FileInfo) {
	names := spellings(target)
	for _, name := range names {
		for _, from := range []string{by.Path, by.real} {
			if at := r.absolute(name, from); at != "" {
				if info, err := os.Lstat(at); err == nil && (name == target || !info.IsDir()) {
					return at, info
				}
			}
		}
	}
	if i := slices.IndexFunc(names, document); i >= 0 {
		return r.absolute(names[i], by.Path), nil
	}
	bare, _, _ := strings.Cut(target, "#")
	return r.absolute(strings.TrimRightFunc(bare, isMark), by.Path), nil
}

// spellings are the names that a word of a sentence may mean: the word, and then less of it, as a heading, punctuation or an
// ending stands behind a path.
func spellings(word string) []string {
	list := []string{word}
	for end, last := len(word), true; end > 0; {
		r, size := utf8.DecodeLastRuneInString(word[:end])
		end -= size
		if end > 0 && r != '/' && isMark(r) && (last || !strings.ContainsRune(".-_~@+", r)) {
			list = append(list, word[:end])
		}
		last = last && isMark(r)
	}
	return list
}

func isMark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

func (r *reader) absolute(name, from string) string {
	switch rest, home := strings.CutPrefix(name, "~/"); {
	case name == "" || from == "" || home && r.Home == "":
		return ""
	case home:
		return filepath.Join(r.Home, rest)
	case filepath.IsAbs(name):
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(from), filepath.FromSlash(name))
}

// pathLike reports whether a word may be meant as a path, as @name is not.
func pathLike(target string) bool {
	return !strings.Contains(target, "://") &&
		(strings.Contains(target, "/") || filepath.Ext(strings.TrimRightFunc(target, isMark)) != "")
}

// surePath reports whether a word is meant as a path, as @scope/name and @object.method need not be.
func surePath(target string) bool {
	from := []string{"./", "../", "~/", "/"}
	return slices.ContainsFunc(spellings(target), document) ||
		slices.ContainsFunc(from, func(p string) bool { return strings.HasPrefix(target, p) })
}

// document reports whether a path has the name of a text for people.
func document(path string) bool {
	return slices.Contains([]string{".md", ".mdc", ".mdx", ".markdown", ".txt", ".rst", ".adoc"}, names.Fold(filepath.Ext(path)))
}

// linkText is the path that a text consists of, as git writes a link where there are none; "" for another text.
func linkText(path, text string) string {
	words := strings.Fields(text)
	if len(words) != 1 || strings.HasPrefix(words[0], "@") {
		return ""
	}
	info, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(words[0])))
	ascii := len(words[0]) == utf8.RuneCountInString(words[0]) // a sentence of Chinese is one word, too
	if err == nil && info.Mode().IsRegular() || document(words[0]) && ascii {
		return words[0]
	}
	return ""
}

// importsOf are the words behind the @ of a Markdown text, outside code, tags and comments, in order and each once. alone
// reports that there is nothing else in the text.
func importsOf(source string) (targets []string, alone bool) {
	if !strings.Contains(source, "@") {
		return nil, false
	}
	prose := withoutCode([]byte(source + "\n")) // goldmark panics at some last lines without an end
	word := regexp.MustCompile(`(^|[\s(\[{<>"'*|（「『【《“‘„«])@((?:\\ |[^\s\\])+)`)
	for _, m := range word.FindAllSubmatch(prose, -1) {
		target := strings.ReplaceAll(string(m[2]), `\ `, " ")
		first := target[0]
		if named := first == '.' || first == '_' || first == '-' || first == '/' || first == '~' || first >= 0x80 ||
			'0' <= first && first <= '9' || 'a' <= first|0x20 && first|0x20 <= 'z'; named && !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	alone = len(targets) > 0 && strings.TrimSpace(string(word.ReplaceAll([]byte(source), nil))) == ""
	return targets, alone
}

// withoutCode is a Markdown text with blanks in place of its code, HTML comments and tags.
func withoutCode(source []byte) []byte {
	prose := slices.Clone(source)
	hidden := regexp.MustCompile(`(?is)<!--.*?(?:-->|$)|<(script|style|pre|textarea)\b.*?(?:</(script|style|pre|textarea)>|$)`)
	blank := func(s text.Segment) {
		for i := s.Start; i < s.Stop; i++ {
			if prose[i] != '\n' {
				prose[i] = '`'
			}
		}
	}
	lines := func(l *text.Segments) {
		for i := range l.Len() {
			blank(l.At(i))
		}
	}
	walk := func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			for child := n.FirstChild(); child != nil; child = child.NextSibling() {
				if t, ok := child.(*ast.Text); ok {
					blank(t.Segment)
				}
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			lines(n.Lines())
		case *ast.HTMLBlock:
			from, to := n.Lines().At(0).Start, max(n.Lines().At(n.Lines().Len()-1).Stop, n.ClosureLine.Stop)
			for _, at := range hidden.FindAllIndex(source[from:to], -1) {
				blank(text.NewSegment(from+at[0], from+at[1]))
			}
		case *ast.RawHTML:
			lines(n.Segments)
		}
		return ast.WalkContinue, nil
	}
	if err := ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(source)), walk); err != nil {
		panic("instructions: " + err.Error()) // walk returns none
	}
	return prose
}
