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

// AddRule writes a rule for the project at root, an absolute path, into the
// user's config file at path: list is allow, ask or deny. A file that does not
// exist is made, mode 0600; everything else in it stays byte for byte. A rule
// that is there already changes nothing. Errors are *Error.
func AddRule(path, root, list, rule string) error {
	root = filepath.Clean(root)
	if !slices.Contains([]string{"allow", "ask", "deny"}, list) || !filepath.IsAbs(root) || strings.TrimSpace(rule) == "" {
		return wrong(kindConfig, "rule", "cannot keep "+list+" "+strconv.Quote(rule)+" for "+root, "")
	}
	return editFile(path, func(src string, d *document) (string, error) {
		keys := []string{"project", root, list}
		old, isList := []string(nil), true
		if v, ok := lookUp(d.root, keys); ok {
			old, isList = stringList(v)
		}
		if !isList {
			return "", byHand(path, d, keys)
		}
		if slices.Contains(old, rule) {
			return src, nil
		}
		if at, ok := d.index.values[pathKey(keys)]; ok && src[at] == '[' {
			// At the front of the array no comma or comment can be in the way.
			return src[:at+1] + quoteTOML(rule) + ", " + src[at+1:], nil
		}
		return insertKey(src, d, keys, "["+quoteTOML(rule)+"]", path)
	}, []string{"project", root, list}, func(v any) bool {
		rules, ok := stringList(v)
		return ok && slices.Contains(rules, rule)
	})
}

// SetProvider writes the provider to take when nothing else names one into
// the config file at path, under the rules of AddRule. A file that names one
// already is left alone.
func SetProvider(path, name string) error {
	return setOnce(path, "provider", "provider", name, "default")
}

// SetNotify writes how to notify the user into the config file at path, under the
// rules of AddRule. A file that says so already is left alone.
func SetNotify(path, how string) error { return setOnce(path, "ui", "notify", how) }

// setOnce writes a key, unless the section has it or one of its aliases.
func setOnce(path, section, key, value string, aliases ...string) error {
	keys := []string{section, key}
	return editFile(path, func(src string, d *document) (string, error) {
		for _, name := range append([]string{key}, aliases...) {
			place := []string{section, name}
			if _, ok := lookUp(d.root, place); ok {
				return "", byHand(path, d, place)
			}
		}
		return insertKey(src, d, keys, quoteTOML(value), path)
	}, keys, func(v any) bool { return v == value })
}

// editFile applies change to the file's text and writes the result in one
// step, after it has proved that the result says what holds wants at keys
// and that nothing else has changed.
func editFile(path string, change func(string, *document) (string, error), keys []string, holds func(any) bool) error {
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
	text, err := change(string(data), d)
	if err != nil || text == string(data) {
		return err
	}
	changed := map[string]any{}
	if err := decode(text, &changed); err != nil {
		return byHand(path, d, keys)
	}
	if v, ok := lookUp(changed, keys); !ok || !holds(v) ||
		!reflect.DeepEqual(without(changed, keys), without(d.root, keys)) {
		return byHand(path, d, keys)
	}
	if err := atomicfile.Write(path, []byte(text), mode); err != nil {
		return because(kindConfig, path, err.Error(), err, "check the owner and mode of the directory")
	}
	return nil
}

// insertKey puts a key into its table: behind the table's header, or in a new
// table at the end of the file.
func insertKey(src string, d *document, keys []string, value, path string) (string, error) {
	table, key := keys[:len(keys)-1], keys[len(keys)-1]
	line := key + " = " + value + "\n"
	if at, ok := d.index.headers[pathKey(table)]; ok {
		if end := strings.IndexByte(src[at:], '\n'); end >= 0 {
			at += end + 1
			return src[:at] + line + src[at:], nil
		}
		return src + "\n" + line, nil
	}
	if v, ok := lookUp(d.root, table); ok && hasOwnKeys(v) {
		return "", byHand(path, d, keys)
	}
	header := table[0]
	for _, part := range table[1:] {
		header += "." + quoteTOML(part)
	}
	if src != "" && !strings.HasSuffix(src, "\n") {
		src += "\n"
	}
	if src != "" {
		src += "\n"
	}
	return src + "[" + header + "]\n" + line, nil
}

// hasOwnKeys reports whether a table without header holds more than tables:
// then it was written in a form that cannot be added to from elsewhere.
func hasOwnKeys(v any) bool {
	m, ok := v.(map[string]any)
	for _, inner := range m {
		_, isTable := inner.(map[string]any)
		_, areTables := tables(inner)
		ok = ok && (isTable || areTables)
	}
	return !ok
}

// byHand is the error for a file that is written in a way that is not edited.
func byHand(path string, d *document, keys []string) error {
	return wrong(kindConfig, path+" line "+strconv.Itoa(d.index.find(keys...)), "this place is left to you",
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

// without is m less the value at keys, and less the tables that leaves empty.
func without(m map[string]any, keys []string) map[string]any {
	rest := map[string]any{}
	for k, v := range m {
		if k != keys[0] {
			rest[k] = v
			continue
		}
		inner, ok := v.(map[string]any)
		if len(keys) == 1 || !ok {
			continue
		}
		if kept := without(inner, keys[1:]); len(kept) > 0 {
			rest[k] = kept
		}
	}
	return rest
}

// quoteTOML writes s as a basic string, whose escapes are those of JSON. What JSON
// leaves as it is and TOML does not is found when the file is read again.
func quoteTOML(s string) string {
	text, _ := provider.Marshal(s) // a string cannot fail
	return string(text)
}
