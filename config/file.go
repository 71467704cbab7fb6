package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/extension"
)

// applyFile takes over everything a config file says, or a profile, which may have a setting without its section.
func (l loader) applyFile(d *document) error {
	l.cfg.written = append(l.cfg.written, writtenIn("", d.root)...)
	root := &table{doc: d, m: d.root, asked: map[string]bool{}}
	sections := map[string]func(*table){
		"project": l.applyProjects, "agents": l.applyAgents, "lsp": l.applyServers, "check": l.applyChecks,
		"mcp": l.applyMCP,
	}
	for _, o := range Options() {
		sections[o.Section] = func(t *table) { l.applySection(t, o.Section) }
	}
	for _, name := range root.keys() {
		v := d.root[name]
		_, isTable := v.(map[string]any)
		apply, o := sections[name], fileOption(name)
		switch {
		case d.profile != "" && !isTable && o != nil && o.Key == name:
			l.applyKey(root, name, o)
		case name == "profile" && isTable && d.rank == fromFile:
			l.cfg.Profiles = slices.Sorted(maps.Keys(v.(map[string]any)))
		case name == "hooks":
			l.cfg.Hooks = append(l.cfg.Hooks, d.hooks(v, extension.Origin{Source: extension.SourceUser})...)
		case apply == nil, !isTable && o != nil: // provider = "x" is a key of [provider]
			root.unknown(name, append(slices.Sorted(maps.Keys(sections)), "hooks", "profile"), false)
		default:
			if t, ok := d.table(v, name); ok {
				apply(t)
			}
		}
	}
	l.cfg.Warnings = append(l.cfg.Warnings, d.lines()...)
	return d.err()
}

// fileOption is the option with this key or alias in the file, nil for none.
func fileOption(key string) *Option {
	for _, o := range Options() {
		if !o.NoFile && (o.Key == key || slices.Contains(o.Aliases, key)) {
			return &o
		}
	}
	return nil
}

// applySection reads the options of a section; in [provider] also the tables of providers.
func (l loader) applySection(t *table, section string) {
	for _, o := range Options() {
		key, found := "", false
		for _, k := range o.keysIn(section) {
			if _, ok := t.get(k); !ok {
				continue
			}
			if found {
				t.doc.wrong(t.at(k), t.name(k)+" says the same as "+t.name(key), "keep one of the two lines")
			}
			key, found = k, true
		}
		before := l.cfg.origins[o.Key]
		switch {
		case found && before.rank == t.doc.rank:
			t.doc.wrong(t.at(key), t.name(key)+" says the same as "+before.text, "keep one of the two lines")
		case found:
			l.applyKey(t, key, &o)
		}
	}
	if section == "provider" {
		l.applyProviders(t)
	}
	t.leftover(section == "permissions")
}

// applyKey stores the value at key as the option's.
func (l loader) applyKey(t *table, key string, o *Option) {
	v := t.m[key]
	texts, expected := o.fromTOML(v)
	if expected != "" {
		t.doc.wrong(t.at(key), t.name(key)+" must be "+expected+", not "+typeName(v), key+" = "+o.exampleTOML(""))
		return
	}
	if err := l.assign(o, texts); err != nil {
		t.doc.wrong(t.at(key), t.name(key)+": "+err.Error(), key+" = "+o.exampleTOML(strings.Join(texts, "")))
		return
	}
	l.noteOrigin(o, t.doc.rank, t.doc.where(t.at(key)...))
	if slices.Contains(ruleLists(), o.Key) {
		l.cfg.ruleTexts = append(l.cfg.ruleTexts, t.doc.rulesAt(t.at(key), o.Key, texts)...)
	}
}

// fromTOML turns a decoded value into texts for assign, or names the type it should have.
func (o *Option) fromTOML(v any) (texts []string, expected string) {
	text, isText := v.(string)
	_, isInt := v.(int64)
	_, isFloat := v.(float64)
	_, isBool := v.(bool)
	ok := isText
	switch o.Kind {
	case KindBool:
		ok, expected = isBool, "true or false"
	case KindInt:
		ok, expected = isInt, "a whole number"
	case KindFloat:
		ok, expected = isInt || isFloat, "a number"
	case KindDuration, KindBytes:
		ok, expected = isInt || isText, "a string or a whole number"
	case KindList:
		if isText {
			return splitList(text), ""
		}
		if list, ok := stringList(v, o.Key == "loopback"); ok {
			return list, ""
		}
		return nil, "an array of strings"
	default:
		expected = "a string"
	}
	if !ok {
		return nil, expected
	}
	return []string{fmt.Sprint(v)}, ""
}

// exampleTOML is a right value as the file would have it.
func (o *Option) exampleTOML(wrong string) string {
	text := o.example(wrong)
	switch o.Kind {
	case KindInt, KindFloat:
		return text
	case KindBool:
		return "true"
	case KindList:
		return fmt.Sprintf("[%q]", text)
	}
	return strconv.Quote(text)
}

// noteOrigin remembers where the option's value came from.
func (l loader) noteOrigin(o *Option, r rank, text string) {
	if old := l.cfg.origins[o.Key]; o.adds && old.rank != fromDefault {
		text = old.text + ", " + text
	}
	l.cfg.origins[o.Key] = origin{r, text}
}
