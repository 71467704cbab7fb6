package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// ProjectRules are permission rules that hold in one project: a
// [project."/path"] table of the user's file.
type ProjectRules struct {
	Allow, Ask, Deny []string
	Origin           string // "config.toml line 12", "" for the zero value
}

// Rules returns what the user's file says for the project at root, an
// absolute path; the zero value when it says nothing.
func (c *Config) Rules(root string) ProjectRules { return c.Projects[filepath.Clean(root)] }

// applyProjects reads the tables under [project].
func (c *Config) applyProjects(t *table) {
	for _, path := range t.keys() {
		sub, ok := t.doc.table(t.m[path], t.at(path)...)
		if !ok {
			continue
		}
		root := path
		if rest, found := strings.CutPrefix(path, "~/"); found {
			home, _ := homeDir(c.lookup)
			root = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(root) {
			t.doc.wrong(sub.path, "project "+path+" is not an absolute path", `[project."/home/me/src/shop"]`)
			continue
		}
		rules := ProjectRules{Origin: t.doc.where(sub.path...)}
		sub.texts("allow", &rules.Allow)
		sub.texts("ask", &rules.Ask)
		sub.texts("deny", &rules.Deny)
		c.projectRules[filepath.Clean(root)] = slices.Concat(t.doc.rulesAt(sub.at("allow"), "allow", rules.Allow),
			t.doc.rulesAt(sub.at("ask"), "ask", rules.Ask), t.doc.rulesAt(sub.at("deny"), "deny", rules.Deny))
		sub.leftover(true)
		c.Projects[filepath.Clean(root)] = rules
	}
}

// ProjectFile is what a project's own .artoo/config.toml may say: it can only
// take away.
type ProjectFile struct {
	ToolsOff  []string // names of tools to switch off
	Ask, Deny []string // rules
}

// projectFile is where a project keeps its own settings, below its root.
const projectFile = ".artoo/config.toml"

// ParseProject reads the text of a project's own file; path is for messages.
// Whatever would give instead of take is left out, with a warning each. The
// error is a *Error with file and line, for syntax and for wrong types.
//
// The caller must know that the user trusts the file.
func ParseProject(path string, data []byte) (ProjectFile, []string, error) {
	var p ProjectFile
	d, err := parseDocument(path, data)
	if err != nil {
		return p, nil, err
	}
	root := &table{doc: d, m: d.root, asked: map[string]bool{}}
	for _, name := range root.keys() {
		if name != "agent" && name != "permissions" {
			d.warn([]string{name}, name+" is not the project's to say: put it into your own config file")
			continue
		}
		t, ok := d.table(d.root[name], name)
		if !ok {
			continue
		}
		var tools []string
		if name == "agent" {
			t.texts("tools", &tools)
		} else {
			t.texts("ask", &p.Ask)
			t.texts("deny", &p.Deny)
		}
		for _, tool := range tools {
			off, found := strings.CutPrefix(tool, "-")
			if !found {
				d.warn(t.at("tools"), "a project can only take tools away, as in \"-"+strings.TrimPrefix(tool, "+")+"\"")
				continue
			}
			p.ToolsOff = append(p.ToolsOff, off)
		}
		for _, k := range t.keys() {
			if !t.asked[k] {
				d.warn(t.at(k), t.name(k)+" is not the project's to say: put it into your own config file")
			}
		}
	}
	if err := d.err(); err != nil {
		return ProjectFile{}, nil, err
	}
	return p, d.lines(), nil
}
