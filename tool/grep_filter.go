package tool

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// fileFilter picks the files of a tree that a search looks at.
type fileFilter struct {
	globs   []string // any of them; nil means all files
	without []string // none of them
	types   []string // globs of a language's files, as globs
}

// newFileFilter reads grep's glob and type arguments; both may be "".
func newFileFilter(glob, language string) (fileFilter, error) {
	var f fileFilter
	for _, g := range splitGlobs(filepath.ToSlash(glob)) {
		bare, negated := strings.CutPrefix(g, "!")
		if !doublestar.ValidatePattern(bare) {
			return f, fmt.Errorf("the glob %q is no pattern: close every [ and {", g)
		}
		bare = strings.TrimPrefix(strings.TrimPrefix(bare, "./"), "/")
		if strings.HasSuffix(bare, "/") {
			bare += "**"
		}
		if negated {
			f.without = append(f.without, bare)
		} else {
			f.globs = append(f.globs, bare)
		}
	}
	if language != "" {
		if f.types = typeGlobs(strings.ToLower(strings.TrimPrefix(language, "."))); f.types == nil {
			return f, fmt.Errorf("the type %q is not known: use glob, such as *.%s", language, strings.TrimPrefix(language, "."))
		}
	}
	return f, nil
}

// splitGlobs splits at commas and blanks outside of braces.
func splitGlobs(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ')
	})
}

// takes says whether the file is to be searched; below is its path from the
// directory searched, shown the one from the project root.
func (f *fileFilter) takes(below, shown string) bool {
	if f.types != nil && !matchesAny(f.types, below, shown) {
		return false
	}
	if f.globs != nil && !matchesAny(f.globs, below, shown) {
		return false
	}
	return !matchesAny(f.without, below, shown)
}

func matchesAny(globs []string, below, shown string) bool {
	for _, g := range globs {
		if !strings.Contains(g, "/") {
			if doublestar.MatchUnvalidated(g, path.Base(below)) {
				return true
			}
			continue
		}
		if doublestar.MatchUnvalidated(g, below) || doublestar.MatchUnvalidated(g, shown) {
			return true
		}
	}
	return false
}

// typeGlobs are the files of a language, by the names people know from
// ripgrep; nil when it is not known.
func typeGlobs(language string) []string {
	var exts string
	switch language {
	case "c":
		exts = "c,h"
	case "cpp", "c++", "cc":
		exts = "cpp,cc,cxx,hpp,hh,hxx,h,inl"
	case "cs", "csharp":
		exts = "cs"
	case "css":
		exts = "css,scss,sass,less"
	case "go", "golang":
		exts = "go"
	case "html":
		exts = "html,htm"
	case "java":
		exts = "java"
	case "js", "javascript":
		exts = "js,jsx,mjs,cjs,vue"
	case "json":
		exts = "json,jsonl"
	case "kotlin", "kt":
		exts = "kt,kts"
	case "lua":
		exts = "lua"
	case "markdown", "md":
		exts = "md,markdown,mdx"
	case "php":
		exts = "php"
	case "proto", "protobuf":
		exts = "proto"
	case "py", "python":
		exts = "py,pyi"
	case "ruby", "rb":
		exts = "rb,rake,gemspec"
	case "rust", "rs":
		exts = "rs"
	case "sh", "bash", "shell":
		exts = "sh,bash,zsh"
	case "sql":
		exts = "sql"
	case "swift":
		exts = "swift"
	case "tex":
		exts = "tex,sty,bib"
	case "toml":
		exts = "toml"
	case "ts", "typescript", "tsx":
		exts = "ts,tsx,mts,cts"
	case "txt":
		exts = "txt"
	case "xml":
		exts = "xml,xsl,xsd,svg"
	case "yaml", "yml":
		exts = "yaml,yml"
	case "zig":
		exts = "zig"
	case "make":
		return []string{"[Mm]akefile", "GNUmakefile", "*.mk"}
	case "docker":
		return []string{"Dockerfile*", "*.dockerfile"}
	default:
		return nil
	}
	return []string{"*.{" + exts + "}"}
}
