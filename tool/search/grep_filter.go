package search

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

type fileFilter struct {
	globs   []string // any of them; nil means all files
	without []string
	types   []string // globs of a language's files, as globs
}

// newFileFilter reads grep's glob and type arguments; both may be "".
func newFileFilter(glob, language string) (fileFilter, error) {
	var f fileFilter
	for _, g := range splitGlobs(filepath.ToSlash(glob)) {
		bare, negated := strings.CutPrefix(g, "!")
		if !doublestar.ValidatePattern(bare) {
			return f, fmt.Errorf("the glob %q is not a pattern: close every [ and {", g)
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
			return f, fmt.Errorf("the type %q is not known: use glob, such as *.%s",
				language, strings.TrimPrefix(language, "."))
		}
	}
	return f, nil
}

// splitGlobs splits at commas and spaces outside braces.
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

// takes says whether a file is searched, by its path from there and the one from the project root.
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

// typeGlobs are the files of a language, by ripgrep's names; nil for an unknown one.
func typeGlobs(language string) []string {
	switch language {
	case "make":
		return []string{"[Mm]akefile", "GNUmakefile", "*.mk"}
	case "docker":
		return []string{"Dockerfile*", "*.dockerfile"}
	}
	const languages = `
		c: c h
		cpp c++ cc: cpp cc cxx hpp hh hxx h inl
		cs csharp: cs
		css: css scss sass less
		go golang: go
		html: html htm
		java: java
		js javascript: js jsx mjs cjs vue
		json: json jsonl
		kotlin kt: kt kts
		lua: lua
		markdown md: md markdown mdx
		php: php
		proto protobuf: proto
		py python: py pyi
		ruby rb: rb rake gemspec
		rust rs: rs
		sh bash shell: sh bash zsh
		sql: sql
		swift: swift
		tex: tex sty bib
		toml: toml
		ts typescript tsx: ts tsx mts cts
		txt: txt
		xml: xml xsl xsd svg
		yaml yml: yaml yml
		zig: zig`
	for line := range strings.Lines(languages) {
		names, endings, _ := strings.Cut(line, ":")
		if slices.Contains(strings.Fields(names), language) {
			return []string{"*.{" + strings.Join(strings.Fields(endings), ",") + "}"}
		}
	}
	return nil
}
