package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/atomicfile"
	"artoo/tool/text"
)

// RuleText is a permission rule as the user wrote it. Its meaning is not looked at here.
type RuleText struct {
	List   string // allow, ask, deny, hide, show or hosts; hide and show hold patterns for files, hosts arguments of hosts(…)
	Text   string
	Origin string // "--allow", "ARTOO_ASK", "config.toml line 4"

	// OfProject says that it stands in the user's file for this project alone.
	OfProject bool
	// Fixed says that it stands in the system's policy.
	Fixed bool

	file   string // path of the file, "" for flags and variables
	ofRepo bool   // the file is the project's own
}

// Rule is the text as a rule of permissions: those of files are for reading, those of hosts list them.
func (r RuleText) Rule() string {
	switch r.List {
	case "hide", "show":
		return "read(" + r.Text + ")"
	case "hosts":
		return "hosts(" + r.Text + ")"
	}
	return r.Text
}

// InFile reports whether the rule stands in the user's own file.
func (r RuleText) InFile() bool { return r.file != "" && !r.ofRepo }

// OfRepository reports whether the rule comes from a repository or a bundle.
func (r RuleText) OfRepository() bool { return r.ofRepo }

// ruleLists are the keys of the options that hold rules.
func ruleLists() []string { return []string{"allow", "ask", "deny", "hide", "show", "hosts"} }

// AllRules are the rules for the project at root, an absolute path: those of the system's policy, the
// user's for it, those of files, environment and flags for every project, and those of a trusted
// project.
func (c *Config) AllRules(root string) []RuleText {
	return slices.Concat(c.Policy.rules, c.projectRules[filepath.Clean(root)], c.ruleTexts, c.project.rules, c.foreignRules)
}

// AddForeignRules takes over rules that ask and deny from a trusted project's or a bundle's files for other programs.
func (c *Config) AddForeignRules(rules []RuleText) {
	for _, r := range rules {
		r.ofRepo = true
		c.foreignRules = append(c.foreignRules, r)
	}
}

// applyProjects reads the [project."/path"] tables of the user's file: rules that
// hold in one project.
func (l loader) applyProjects(t *table) {
	for _, path := range t.keys() {
		sub, ok := t.doc.table(t.m[path], t.at(path)...)
		if !ok {
			continue
		}
		root := l.cfg.Paths.inHome(path)
		if !filepath.IsAbs(root) {
			t.doc.wrong(sub.path, "project "+path+" is not an absolute path", `[project."/home/me/src/shop"]`)
			continue
		}
		root = filepath.Clean(root)
		for _, list := range ruleLists() {
			for _, rule := range sub.rules(list) {
				rule.OfProject = true
				l.cfg.projectRules[root] = append(l.cfg.projectRules[root], rule)
			}
		}
		sub.leftover(true)
	}
}

// Wrong is the error for a rule: why describes its fault, right is one
// that could have been meant, "" for none.
func (r RuleText) Wrong(why, right string) error {
	e := wrong(kindUsage, r.Origin, why, "artoo rules explain 'COMMAND' shows the effect of rules")
	right = cmp.Or(right, "bash(go test:*)")
	switch {
	case r.file != "":
		dir := filepath.Dir(r.file)
		if r.ofRepo { // its origin begins with a directory
			dir = filepath.Dir(dir)
		}
		e.Kind = kindConfig
		if e.Where = r.Origin; !filepath.IsAbs(r.Origin) {
			e.Where = filepath.Join(dir, r.Origin)
		}
		e.Hint = r.List + " = [" + quoteTOML(right) + "]"
	case strings.HasPrefix(r.Origin, "--"):
		e.Hint = r.Origin + " '" + right + "'"
	default:
		e.Hint = r.Origin + "='" + right + "'"
	}
	return e
}

// noteRules remembers where the rules of an option stand.
func (l loader) noteRules(o *Option, texts []string, origin string) {
	if slices.Contains(ruleLists(), o.Key) {
		for _, text := range texts {
			l.cfg.ruleTexts = append(l.cfg.ruleTexts, RuleText{List: o.Key, Text: text, Origin: origin})
		}
	}
}

// rules are the rules of a list in the table.
func (t *table) rules(list string) []RuleText {
	var texts []string
	t.store(list, &texts)
	return t.doc.rulesAt(t.at(list), list, texts)
}

// rulesAt are the rules of a list in the document, each with its line.
func (d *document) rulesAt(path []string, list string, texts []string) (rules []RuleText) {
	elements := d.index.elements[pathKey(slices.Concat(d.index.under, path))]
	for i, text := range texts {
		line := d.index.find(path...)
		if len(elements) == len(texts) { // else a text that was taken apart
			line = d.index.line(elements[i])
		}
		rules = append(rules, RuleText{List: list, Text: text, file: d.path, Origin: d.at(line)})
	}
	return rules
}

// Approval is the scope of a permanent rule's approval: the directory its paths are seen from, and
// fingerprints of its scripts, by path.
type Approval struct {
	Dir     string            `json:"dir"`
	Scripts map[string]string `json:"scripts"`
}

// approvals are the scopes of rules, by project root and rule.
type approvals map[string]map[string]Approval

// Approved is the scope of the rule's approval in the project at root, nil for none.
func (c *Config) Approved(root, rule string) (*Approval, error) {
	_, all, err := c.readApproved()
	if err != nil {
		return nil, err
	}
	if a, ok := all[root][rule]; ok {
		return &a, nil
	}
	return nil, nil
}

// Approve keeps the scope of a permanent rule of the project at root, where it names scripts.
func (c *Config) Approve(root, rule string, a Approval) error {
	path, all, err := c.readApproved()
	if err != nil {
		return err
	}
	if _, there := all[root][rule]; !there && len(a.Scripts) == 0 {
		return nil
	}
	if all[root] == nil {
		all[root] = map[string]Approval{}
	}
	all[root][rule] = a
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, append(data, '\n'), 0o600); err != nil {
		return because(kindConfig, path, err.Error(), err, "check the owner and mode of the directory")
	}
	return nil
}

func (c *Config) readApproved() (path string, all approvals, err error) {
	path, err = c.Paths.Approved()
	if err != nil {
		return "", nil, err
	}
	all = approvals{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return "", nil, because(kindConfig, path, "the approved scripts cannot be read: "+text.Misread(err).Error(), err,
			"remove the file; artoo then asks about the scripts again")
	}
	return path, all, nil
}
