package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
	"artoo/tool/atomicfile"
)

// AddRule writes a rule for the project at root, an absolute path, into the config file at path:
// list is allow, ask or deny. A missing file is made, mode 0600; all else in it stays byte for
// byte. A rule that is there already changes nothing. Errors are *Error.
func AddRule(path, root, list, rule string) error {
	root = filepath.Clean(root)
	if !slices.Contains([]string{"allow", "ask", "deny"}, list) || !filepath.IsAbs(root) || strings.TrimSpace(rule) == "" {
		return wrong(kindConfig, "rule", "cannot save "+list+" "+strconv.Quote(rule)+" for "+root, "")
	}
	keys := []string{"project", root, list}
	return editFile(path, keys, func(src string, d *document) (text string, value any, err error) {
		old, there := lookUp(d.root, keys)
		rules, isList := stringList(old, false)
		at, written := d.index.values[pathKey(keys)]
		switch {
		case there && !isList:
			return "", nil, byHand(path, d, keys)
		case slices.Contains(rules, rule):
			return src, nil, nil
		case written && src[at] == '[':
			// At the front of the array no comma or comment can be in the way.
			return src[:at+1] + quoteTOML(rule) + ", " + src[at+1:], append([]any{rule}, old.([]any)...), nil
		}
		return insertKey(src, d, keys, "["+quoteTOML(rule)+"]"), []any{rule}, nil
	})
}

// SetProvider writes the provider to take when nothing else names one, as AddRule writes. A file that
// names one stays as it is.
func SetProvider(path, name string) error {
	return setOnce(path, "provider", "provider", name, "default")
}

// SetNotify writes how to notify the user, under the same rules.
func SetNotify(path, how string) error { return setOnce(path, "ui", "notify", how) }

// setOnce writes a key, unless the section has it or one of its aliases.
func setOnce(path, section, key, value string, aliases ...string) error {
	keys := []string{section, key}
	return editFile(path, keys, func(src string, d *document) (string, any, error) {
		for _, name := range append([]string{key}, aliases...) {
			place := []string{section, name}
			if _, ok := lookUp(d.root, place); ok {
				return "", nil, byHand(path, d, place)
			}
		}
		return insertKey(src, d, keys, quoteTOML(value)), value, nil
	})
}

// editFile has change set keys to a value in the file's text, proves that nothing else has changed, and
// replaces the file in one step.
func editFile(path string, keys []string, change func(string, *document) (text string, value any, err error)) error {
	mode := fs.FileMode(0o600)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return because(kindConfig, path, err.Error(), err, "check the owner and mode of the file")
	default:
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	d, err := parseDocument(path, data)
	if err != nil {
		return err
	}
	text, value, err := change(string(data), d)
	if err != nil || text == string(data) {
		return err
	}
	changed := map[string]any{}
	if err := decode(text, &changed); err != nil || !put(d.root, keys, value) || !reflect.DeepEqual(changed, d.root) {
		return byHand(path, d, keys)
	}
	if err := atomicfile.Write(path, []byte(text), mode); err != nil {
		return because(kindConfig, path, err.Error(), err, "check the owner and mode of the directory")
	}
	return nil
}

// insertKey puts a key behind its table's header, or into a new table at the end.
func insertKey(src string, d *document, keys []string, value string) string {
	table, key := keys[:len(keys)-1], keys[len(keys)-1]
	line := key + " = " + value + "\n"
	if at, ok := d.index.headers[pathKey(table)]; ok {
		if end := strings.IndexByte(src[at:], '\n'); end >= 0 {
			at += end + 1
			return src[:at] + line + src[at:]
		}
		return src + "\n" + line
	}
	header := table[0]
	for _, part := range table[1:] {
		header += "." + quoteTOML(part)
	}
	if src != "" {
		src = strings.TrimSuffix(src, "\n") + "\n\n"
	}
	return src + "[" + header + "]\n" + line
}

// byHand is the error for a file that is written in a way that is not edited.
func byHand(path string, d *document, keys []string) error {
	return wrong(kindConfig, path+" line "+strconv.Itoa(d.index.find(keys...)), "artoo does not edit this form",
		"edit "+dotted(keys)+" by hand")
}

// lookUp follows keys down the tables of m.
func lookUp(m map[string]any, keys []string) (any, bool) {
	var v any = m
	for _, k := range keys {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = table[k]; !ok {
			return nil, false
		}
	}
	return v, true
}

// put sets keys of the tables of m to a value. It reports whether no other value is in the way.
func put(m map[string]any, keys []string, value any) bool {
	for _, k := range keys[:len(keys)-1] {
		if _, there := m[k]; !there {
			m[k] = map[string]any{}
		}
		inner, isTable := m[k].(map[string]any)
		if !isTable {
			return false
		}
		m = inner
	}
	m[keys[len(keys)-1]] = value
	return true
}

// quoteTOML writes a basic string, whose escapes are those of JSON; the file is read again afterwards.
func quoteTOML(s string) string {
	text, _ := provider.Marshal(s) // a string cannot fail
	return string(text)
}
