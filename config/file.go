package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// applyFile takes over everything a config file says.
func (c *Config) applyFile(d *document) error {
	root := &table{doc: d, m: d.root, asked: map[string]bool{}}
	for _, name := range root.keys() {
		v := d.root[name]
		switch name {
		case "provider", "agent", "permissions", "web", "ui", "session":
			if t, ok := d.table(v, name); ok {
				c.applySection(t, name)
			}
		case "project":
			if t, ok := d.table(v, name); ok {
				c.applyProjects(t)
			}
		case "agents":
			if t, ok := d.table(v, name); ok {
				c.applyAgents(t)
			}
		case "lsp":
			if t, ok := d.table(v, name); ok {
				c.applyServers(t)
			}
		case "check":
			if t, ok := d.table(v, name); ok {
				c.applyChecks(t)
			}
		case "hooks", "mcp":
			if t, ok := d.table(v, name); ok {
				for _, k := range t.keys() {
					t.unknown(k, "", true)
				}
			}
		default:
			d.warn([]string{name}, "no such key: "+name+misplaced(name))
		}
	}
	c.Warnings = append(c.Warnings, d.lines()...)
	return d.err()
}

// misplaced is the tail of a warning for a name outside its section.
func misplaced(name string) string {
	sections := []string{"provider", "agent", "permissions", "web", "ui", "session", "project", "agents", "check", "lsp", "hooks", "mcp"}
	for _, o := range Options() {
		if o.Key == name && !o.NoFile {
			return ", it belongs under [" + o.Section + "]"
		}
	}
	return didYouMean(name, sections)
}

// applySection reads the options of a section, and in [provider] the tables
// of providers too.
func (c *Config) applySection(t *table, section string) {
	for _, o := range Options() {
		keys := append([]string{o.Key}, o.Aliases...)
		switch {
		case o.NoFile, o.Section != section && (o.alsoIn != section || c.origins[o.Key].rank == fromFile):
			continue
		case o.Section != section:
			keys = o.Aliases // as an older program's file has it
		}
		key, found := "", false
		for _, k := range keys {
			if _, ok := t.get(k); !ok {
				continue
			}
			if found {
				t.doc.wrong(t.at(k), t.name(k)+" says the same as "+t.name(key), "keep one of the two lines")
			}
			key, found = k, true
		}
		if found {
			c.applyKey(t, key, &o)
		}
	}
	if section == "provider" {
		c.applyProviders(t)
	}
	for _, k := range t.keys() {
		if !t.asked[k] {
			t.unknown(k, elsewhere(k, section), section == "permissions")
		}
	}
}

// elsewhere is the tail of a message about an unknown key of a section.
func elsewhere(key, section string) string {
	var known []string
	for _, o := range Options() {
		switch {
		case o.NoFile:
			if o.Key == key {
				return ", it is a flag or a variable only"
			}
		case o.Key == key:
			return ", it belongs under [" + o.Section + "]"
		case o.Section == section:
			known = append(known, o.Key)
			known = append(known, o.Aliases...)
		}
	}
	return didYouMean(key, known)
}

// applyKey stores the value at key as the option's.
func (c *Config) applyKey(t *table, key string, o *Option) {
	v := t.m[key]
	texts, expected := o.fromTOML(v)
	if expected != "" {
		t.doc.wrong(t.at(key), t.name(key)+" must be "+expected+", not "+typeName(v), key+" = "+o.exampleTOML(""))
		return
	}
	if err := c.assign(o, texts); err != nil {
		t.doc.wrong(t.at(key), t.name(key)+": "+err.Error(), key+" = "+o.exampleTOML(strings.Join(texts, "")))
		return
	}
	c.noteOrigin(o, fromFile, t.doc.where(t.at(key)...))
	if slices.Contains(ruleLists(), o.Key) {
		c.ruleTexts = append(c.ruleTexts, t.doc.rulesAt(t.at(key), o.Key, texts)...)
	}
}

// fromTOML turns a decoded value into the texts assign takes, or says what
// type it should have.
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
		if o.Key == "loopback" {
			v = numbersAsText(v)
		}
		if list, ok := stringList(v); ok {
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
func (c *Config) noteOrigin(o *Option, r rank, text string) {
	if old := c.origins[o.Key]; o.adds() && old.rank != fromDefault {
		text = old.text + ", " + text
	}
	c.origins[o.Key] = origin{r, text}
}
