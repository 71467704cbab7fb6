package config

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// table reads the keys of one TOML table, and knows afterwards which were not read.
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

// fill reads the keys that the tags of a struct's fields name into these fields.
func (t *table) fill(into any) {
	fields := reflect.ValueOf(into).Elem()
	for i := range fields.NumField() {
		if key := fields.Type().Field(i).Tag.Get("toml"); key != "" {
			t.store(key, fields.Field(i).Addr().Interface())
		}
	}
}

// store reads a key into the target of a pointer, and reports whether it is there. A value of
// another type, or out of range, is noted; it is not shown, since it may be a key.
func (t *table) store(key string, into any) bool {
	v, there := t.get(key)
	if !there {
		return false
	}
	ok, expected, less := false, "a string", ""
	switch p := into.(type) {
	case *string:
		*p, ok = v.(string)
	case *Secret:
		text, isText := v.(string)
		*p, ok = NewSecret(strings.TrimSpace(text)), isText
	case *[]string:
		*p, ok = stringList(v, false)
		expected = "an array of strings"
	case **bool:
		truth, isTruth := v.(bool)
		*p, ok, expected = &truth, isTruth, "true or false"
	case *int:
		n, isWhole := v.(int64)
		*p, ok, expected = int(n), isWhole, "a whole number"
		if n <= 0 {
			less = " must be more than 0"
		}
	case **float64:
		if n, isWhole := v.(int64); isWhole {
			v = float64(n)
		}
		f, isNumber := v.(float64)
		*p, ok, expected = &f, isNumber, "a number"
		if !(f >= 0) {
			less = " must be 0 or more"
		}
	case **Price:
		if sub := t.sub(key); sub != nil {
			*p = &Price{}
			sub.fill(*p)
			sub.leftover(false)
		}
		return *p != nil
	}
	switch {
	case !ok:
		t.mismatch(key, expected, v)
	case less != "":
		t.doc.wrong(t.at(key), t.name(key)+less, "")
	}
	return ok
}

// mismatch notes a value of the wrong type.
func (t *table) mismatch(key, expected string, v any) {
	t.doc.wrong(t.at(key), t.name(key)+" must be "+expected+", not "+typeName(v), "")
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

// stringList is v as strings, if it is an array of nothing else, or of whole numbers too.
func stringList(v any, orNumbers bool) ([]string, bool) {
	array, ok := v.([]any)
	if !ok {
		return nil, false
	}
	list := make([]string, 0, len(array))
	for _, e := range array {
		s, ok := e.(string)
		if n, whole := e.(int64); whole && orNumbers {
			s, ok = strconv.FormatInt(n, 10), true
		}
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// keys are the table's keys in the order of their lines.
func (t *table) keys() []string {
	line := func(key string) int { return t.doc.index.find(t.at(key)...) }
	return slices.SortedFunc(maps.Keys(t.m), func(a, b string) int {
		return cmp.Or(line(a)-line(b), strings.Compare(a, b))
	})
}

// leftover warns of the keys that were not read, or refuses them when strict.
func (t *table) leftover(strict bool) {
	known := slices.Sorted(maps.Keys(t.asked))
	for _, k := range t.keys() {
		if !t.asked[k] {
			t.unknown(k, known, strict)
		}
	}
}

// unknown notes a key that is none of the known ones: an error when strict, or for a setting of another
// section, which would be set nowhere.
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

// stray notes a setting outside its section, and reports whether there was one.
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
