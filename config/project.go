package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/extension"
)

// ProjectFile is where a project keeps its own settings, below its root, with
// slashes.
const ProjectFile = ".artoo/config.toml"

// projectSettings are the rights that a project's own file takes away.
type projectSettings struct {
	rules   []RuleText    // they ask and deny
	without []withoutTool // tools that are not offered
	only    []string      // patterns, one of which has to match each path that a run changes; nil for any
}

// withoutTool is a tool, or with a * at its end several, and where that stands.
type withoutTool struct{ name, where string }

// ApplyProject applies data, the trusted own file of the project at root. It can only take tools
// away, hide files, bring rules that ask and deny, and tighten the caps on effects; all else is an *Error with file,
// line and key. Call it at most once.
func (c *Config) ApplyProject(root string, data []byte) error {
	path := filepath.Join(root, filepath.FromSlash(ProjectFile))
	d, err := parseDocument(c.Paths.shorten(path), data)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Hint = "fix the line, or --no-project for a run without the file"
	}
	if err != nil {
		return err
	}
	p := project{document: d, root: root, user: "your own config.toml", caps: loader{&Config{origins: map[string]origin{}}}}
	if file, err := c.Paths.ConfigFile(); err == nil {
		p.user = c.Paths.shorten(file)
	}
	top := &table{doc: d, m: d.root, asked: map[string]bool{}}
	for _, section := range top.keys() {
		if section == "hooks" {
			c.Hooks = append(c.Hooks, d.hooks(d.root[section], extension.Origin{Source: extension.SourceRepository, Root: root})...)
			continue
		}
		sub, isTable := d.root[section].(map[string]any)
		if !isTable {
			p.misplaced([]string{section})
			continue
		}
		t := &table{doc: d, path: []string{section}, m: sub, asked: map[string]bool{}}
		for _, key := range t.keys() {
			switch {
			case section == "agent" && key == "tools":
				p.takeTools(t)
			case section == "agent" && slices.Contains(effectCaps(), key):
				p.caps.applyKey(t, key, fileOption(key))
			case section == "permissions" && (key == "ask" || key == "deny" || key == "hide"):
				p.takeRules(t, key)
			default:
				p.misplaced(t.at(key))
			}
		}
	}
	p.only = p.caps.cfg.Only
	c.project = p.projectSettings
	c.tighten(p)
	return d.err()
}

// effectCaps are the settings that bound the changes of a run.
func effectCaps() []string { return []string{"max_files", "max_lines", "only", "no_delete"} }

// tighten takes over the caps on effects that are stricter than the present ones.
func (c *Config) tighten(p project) {
	caps := p.caps
	for key, stricter := range map[string]bool{
		"max_files": caps.cfg.MaxFiles > 0 && (c.MaxFiles == 0 || caps.cfg.MaxFiles < c.MaxFiles),
		"max_lines": caps.cfg.MaxLines > 0 && (c.MaxLines == 0 || caps.cfg.MaxLines < c.MaxLines),
		"no_delete": bool(caps.cfg.NoDelete && !c.NoDelete),
	} {
		if stricter {
			o := fileOption(key)
			c.field(o).Set(caps.cfg.field(o))
			c.origins[key] = origin{fromFile, p.origin([]string{"agent", key})}
		}
	}
}

// OnlyPaths are the lists of patterns of which one each has to match a path that a run changes: the user's and
// that of the project's own file. nil is any path.
func (c *Config) OnlyPaths() (lists [][]string) {
	for _, list := range [][]string{c.Only, c.project.only} {
		if len(list) > 0 {
			lists = append(lists, list)
		}
	}
	return lists
}

// project is a project's own file as it is read.
type project struct {
	*document
	projectSettings
	root string
	user string // the user's own file
	caps loader // those on effects
}

// misplaced notes a key that a project must not bring.
func (p *project) misplaced(path []string) {
	hint := fmt.Sprintf("%s in %s", dotted(path), p.user)
	switch key := path[len(path)-1]; {
	case key == "ask" || key == "deny" || key == "hide":
		hint = "move the line below [permissions]"
	case key == "tools":
		hint = "move the line below [agent]"
	case slices.Equal(path, []string{"permissions", "allow"}):
		hint = fmt.Sprintf("allow under [project.%s] in %s", quoteTOML(p.root), p.user)
	}
	p.wrong(path, dotted(path)+
		": a project can only set restrictions: agent.tools with -NAME, the caps on effects, permissions.ask, permissions.deny and permissions.hide", hint)
}

func (p *project) takeTools(t *table) {
	var names []string
	t.store("tools", &names)
	for _, name := range names {
		bare, takes := strings.CutPrefix(name, "-")
		if !takes || bare == "" {
			p.wrong(t.at("tools"), fmt.Sprintf("agent.tools: %q: a project can only take tools away", name),
				fmt.Sprintf("tools = [%s], or agent.tools in %s", quoteTOML("-"+strings.TrimLeft(name, "+-")), p.user))
			continue
		}
		p.without = append(p.without, withoutTool{bare, p.origin(t.at("tools"))})
	}
}

func (p *project) takeRules(t *table, list string) {
	for _, r := range t.rules(list) {
		r.Origin, r.ofRepo = filepath.Join(filepath.Dir(filepath.FromSlash(ProjectFile)), r.Origin), true
		p.rules = append(p.rules, r)
	}
}

// origin names a line for messages.
func (p *project) origin(path []string) string {
	return fmt.Sprintf("%s line %d", p.path, p.index.find(path...))
}

// withoutTaken leaves out the tools that the project's own file takes away. The error
// names one that does not exist.
func (c *Config) withoutTaken(all, chosen []string) ([]string, error) {
	for _, w := range c.project.without {
		takes := func(tool string) bool { return toolMatches(w.name, tool) }
		if !slices.ContainsFunc(all, takes) {
			return nil, wrong(kindConfig, w.where, "no such tool: "+w.name+didYouMean(w.name, all), strings.Join(all, ", "))
		}
		chosen = slices.DeleteFunc(chosen, takes)
	}
	return chosen, nil
}

// toolMatches reports whether an element of the tools setting names a tool.
func toolMatches(name, tool string) bool {
	prefix, glob := strings.CutSuffix(name, "*")
	return tool == name || name == "all" || glob && strings.HasPrefix(tool, prefix)
}

// SelectTools turns the tools setting into names: all is every tool, on those of the default set, both in
// the order to keep. A list of +name and -name starts from the default set; a * at the end matches by
// prefix. The rules of a trusted project go last. The error is an *Error with an unknown tool.
func (c *Config) SelectTools(all, on []string) ([]string, error) {
	chosen := map[string]bool{}
	if len(c.Tools) == 0 || relative(c.Tools[:1]) {
		for _, name := range on {
			chosen[name] = true
		}
	}
	for _, e := range c.Tools {
		name, want := strings.TrimPrefix(e, "+"), true
		if rest, off := strings.CutPrefix(e, "-"); off {
			name, want = rest, false
		}
		found := false
		for _, tool := range all {
			if toolMatches(name, tool) {
				chosen[tool], found = want, true
			}
		}
		if !found {
			return nil, c.blame("tools", "no such tool: "+name+didYouMean(name, all), strings.Join(all, ", "))
		}
	}
	return c.withoutTaken(all, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !chosen[name] }))
}
