package config

import (
	"sort"
	"strings"
)

// table reads the keys of one TOML table into typed destinations and knows
// afterwards which keys nobody asked for.
type table struct {
	doc   *document
	path  []string
	m     map[string]any
	asked map[string]bool
}

// table opens v, the value at path, noting an error when it is no table.
func (d *document) table(v any, path ...string) (*table, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		d.wrong(path, dotted(path)+" must be a table, not "+typeName(v), "")
		return nil, false
	}
	return &table{doc: d, path: path, m: m, asked: map[string]bool{}}, true
}

// at is the path of a key of the table.
func (t *table) at(key string) []string { return append(append([]string(nil), t.path...), key) }

// name is the dotted name of a key, for messages.
func (t *table) name(key string) string { return dotted(t.at(key)) }

// dotted is a path as people write it.
func dotted(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}

func (t *table) get(key string) (any, bool) {
	t.asked[key] = true
	v, ok := t.m[key]
	return v, ok
}

// mismatch notes a value of the wrong type. The value itself is not shown: it
// may be a key.
func (t *table) mismatch(key, want string, v any) {
	t.doc.wrong(t.at(key), t.name(key)+" must be "+want+", not "+typeName(v), "")
}

// text stores a string in p and reports whether it was there.
func (t *table) text(key string, p *string) bool {
	v, ok := t.get(key)
	if !ok {
		return false
	}
	s, ok := v.(string)
	if !ok {
		t.mismatch(key, "a string", v)
		return false
	}
	*p = s
	return true
}

// number stores an integer or a float in p.
func (t *table) number(key string, p **float64) {
	v, ok := t.get(key)
	if !ok {
		return
	}
	var f float64
	switch n := v.(type) {
	case int64:
		f = float64(n)
	case float64:
		f = n
	default:
		t.mismatch(key, "a number", v)
		return
	}
	if !(f >= 0) {
		t.doc.wrong(t.at(key), t.name(key)+" must be 0 or more", "")
		return
	}
	*p = &f
}

// count stores a positive whole number in p.
func (t *table) count(key string, p *int) {
	v, ok := t.get(key)
	if !ok {
		return
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		t.mismatch(key, "a whole number", v)
	case n <= 0:
		t.doc.wrong(t.at(key), t.name(key)+" must be more than 0", "")
	default:
		*p = int(n)
	}
}

// truth stores true or false in p.
func (t *table) truth(key string, p **bool) {
	v, ok := t.get(key)
	if !ok {
		return
	}
	b, ok := v.(bool)
	if !ok {
		t.mismatch(key, "true or false", v)
		return
	}
	*p = &b
}

// texts stores an array of strings in p.
func (t *table) texts(key string, p *[]string) bool {
	v, ok := t.get(key)
	if !ok {
		return false
	}
	list, ok := stringList(v)
	if !ok {
		t.mismatch(key, "an array of strings", v)
		return false
	}
	*p = list
	return true
}

// stringList is v as strings, if it is an array of nothing else.
func stringList(v any) ([]string, bool) {
	array, ok := v.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, 0, len(array))
	for _, e := range array {
		s, ok := e.(string)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// keys are the table's keys in the order of their lines.
func (t *table) keys() []string {
	keys := make([]string, 0, len(t.m))
	for k := range t.m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := t.doc.index.find(t.at(keys[i])...), t.doc.index.find(t.at(keys[j])...)
		if a != b {
			return a < b
		}
		return keys[i] < keys[j]
	})
	return keys
}

// leftover warns of the keys nobody asked for, or refuses them when strict.
func (t *table) leftover(strict bool) {
	known := make([]string, 0, len(t.asked))
	for k := range t.asked {
		known = append(known, k)
	}
	sort.Strings(known)
	for _, k := range t.keys() {
		if t.asked[k] {
			continue
		}
		t.unknown(k, didYouMean(k, known), strict)
	}
}

// unknown notes one unknown key; tail is what follows the message.
func (t *table) unknown(key, tail string, strict bool) {
	why := "no such key: " + t.name(key) + tail
	if strict {
		t.doc.wrong(t.at(key), why, "mend or remove the line: a rule that is not understood protects nothing")
		return
	}
	t.doc.warn(t.at(key), why)
}
