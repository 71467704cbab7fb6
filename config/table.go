package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
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
func (t *table) at(key string) []string { return slices.Concat(t.path, []string{key}) }

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
func (t *table) mismatch(key, expected string, v any) {
	t.doc.wrong(t.at(key), t.name(key)+" must be "+expected+", not "+typeName(v), "")
}

// read is the value of a key as a T; one that is there and is none is noted.
func read[T any](t *table, key, expected string) (value T, ok bool) {
	v, there := t.get(key)
	if value, ok = v.(T); there && !ok {
		t.mismatch(key, expected, v)
	}
	return value, ok
}

// text stores a string in p and reports whether it was there.
func (t *table) text(key string, p *string) bool {
	s, ok := read[string](t, key, "a string")
	if ok {
		*p = s
	}
	return ok
}

// number is an integer or a float that is not negative, nil where there is none.
func (t *table) number(key string) *float64 {
	v, there := t.get(key)
	if n, ok := v.(int64); ok {
		v = float64(n)
	}
	f, ok := v.(float64)
	switch {
	case !there:
		return nil
	case !ok:
		t.mismatch(key, "a number", v)
		return nil
	case !(f >= 0):
		t.doc.wrong(t.at(key), t.name(key)+" must be 0 or more", "")
		return nil
	}
	return &f
}

// count is a positive whole number, 0 where there is none.
func (t *table) count(key string) int {
	n, ok := read[int64](t, key, "a whole number")
	if ok && n <= 0 {
		t.doc.wrong(t.at(key), t.name(key)+" must be more than 0", "")
	}
	return int(n)
}

// truth is true or false, nil where there is neither.
func (t *table) truth(key string) *bool {
	if b, ok := read[bool](t, key, "true or false"); ok {
		return &b
	}
	return nil
}

// texts is an array of strings, nil where there is none.
func (t *table) texts(key string) []string {
	v, there := t.get(key)
	list, ok := stringList(v)
	if there && !ok {
		t.mismatch(key, "an array of strings", v)
	}
	return list
}

// sub is the table at a key; nil where there is none.
func (t *table) sub(key string) *table {
	if v, ok := t.get(key); ok {
		if sub, ok := t.doc.table(v, t.at(key)...); ok {
			return sub
		}
	}
	return nil
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

// numbersAsText is an array with its whole numbers as strings.
func numbersAsText(v any) any {
	array, _ := v.([]any)
	list := make([]any, 0, len(array))
	for _, e := range array {
		if n, ok := e.(int64); ok {
			e = strconv.FormatInt(n, 10)
		}
		list = append(list, e)
	}
	return list
}

// keys are the table's keys in the order of their lines.
func (t *table) keys() []string {
	line := func(key string) int { return t.doc.index.find(t.at(key)...) }
	return slices.SortedFunc(maps.Keys(t.m), func(a, b string) int {
		return cmp.Or(line(a)-line(b), strings.Compare(a, b))
	})
}

// leftover warns of the keys nobody asked for, or refuses them when strict.
func (t *table) leftover(strict bool) {
	known := slices.Sorted(maps.Keys(t.asked))
	for _, k := range t.keys() {
		if !t.asked[k] {
			t.unknown(k, known, strict)
		}
	}
}

// unknown notes a key that is none of the known ones: as an error when strict, or when
// it is a setting of another section, since that would be set nowhere.
func (t *table) unknown(key string, known []string, strict bool) {
	why := "no such key: " + t.name(key)
	switch {
	case t.stray(key):
	case strict:
		t.doc.wrong(t.at(key), why+didYouMean(key, known), "fix or remove the line: a rule that is not understood protects nothing")
	case slices.ContainsFunc(Options(), func(o Option) bool { return o.NoFile && o.Key == key }):
		t.doc.warn(t.at(key), why+", it is a flag or a variable only")
	default:
		t.doc.warn(t.at(key), why+didYouMean(key, known))
	}
}

// stray notes a setting that stands outside its section, as the key or in a table of
// that name, and reports whether there was one.
func (t *table) stray(key string) (found bool) {
	if m, ok := t.m[key].(map[string]any); ok {
		sub := &table{doc: t.doc, path: t.at(key), m: m}
		for _, k := range sub.keys() {
			found = sub.stray(k) || found
		}
		return found
	}
	o := fileOption(key)
	if o != nil {
		t.doc.wrong(t.at(key), key+" belongs in ["+o.Section+"]", "move the line below ["+o.Section+"]")
	}
	return o != nil
}
