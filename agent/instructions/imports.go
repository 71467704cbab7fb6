package instructions

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"artoo/tool/names"
)

// imported adds the file that a text names as @target.
func (r *reader) imported(target string, by File, above []string, linked bool) {
	at, exists := r.target(target, by)
	if at == "" || !exists && !pathLike(target) {
		return
	}
	f := File{Path: at, By: by.Path, maybe: !exists && !surePath(target), linked: linked}
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

// target is the path that an import means, and whether there is such a file: without the punctuation or the heading
// behind it, if only so there is one. It is "" where there is no home.
func (r *reader) target(target string, by File) (path string, exists bool) {
	bare, _, _ := strings.Cut(target, "#")
	for _, name := range []string{target, bare, strings.TrimRight(target, closing), strings.TrimRight(bare, closing)} {
		for _, from := range []string{by.Path, by.real} {
			if at := r.absolute(name, from); at != "" {
				if _, err := os.Lstat(at); err == nil {
					return at, true
				}
			}
		}
	}
	return r.absolute(strings.TrimRight(bare, closing), by.Path), false
}

// closing are characters that stand behind a path in a sentence.
const closing = ".,;:!?)]}>\"'*_"

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
	return !strings.Contains(target, "://") && (strings.Contains(target, "/") || filepath.Ext(strings.TrimRight(target, closing)) != "")
}

// surePath reports whether a word is meant as a path, as @scope/name and @object.method need not be.
func surePath(target string) bool {
	bare, _, _ := strings.Cut(strings.TrimRight(target, closing), "#")
	return document(bare) || slices.ContainsFunc([]string{"./", "../", "~/", "/"}, func(p string) bool { return strings.HasPrefix(target, p) })
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
	if err == nil && info.Mode().IsRegular() || document(words[0]) {
		return words[0]
	}
	return ""
}

// importsOf are the words behind the @ of a Markdown text, outside of code and HTML, in order and each once. alone
// reports that there is nothing else in the text.
func importsOf(source string) (targets []string, alone bool) {
	if !strings.Contains(source, "@") {
		return nil, false
	}
	prose := withoutCode([]byte(source))
	word := regexp.MustCompile(`(^|\s)@((?:\\ |[^\s\\])+)`)
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

// withoutCode is a Markdown text with blanks in place of its code and HTML.
func withoutCode(source []byte) []byte {
	prose := slices.Clone(source)
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
		case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
			lines(n.Lines())
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
