package gemini

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
)

type piece struct {
	Path   string          `json:"jsonPath"` // $.a.b[0]['c d']
	Text   *string         `json:"stringValue"`
	Number json.RawMessage `json:"numberValue"`
	Bool   *bool           `json:"boolValue"`
	Null   json.RawMessage `json:"nullValue"`
}

type object struct {
	root any // map[string]any, []any, *strings.Builder or a plain value
	bad  string
	size int // total bytes of all pieces
}

func (o *object) addAll(pieces []piece) {
	for i := range pieces {
		o.size += len(pieces[i].Path) + len(pieces[i].Number)
		if text := pieces[i].Text; text != nil {
			o.size += len(*text)
		}
		steps, ok := steps(pieces[i].Path)
		if !ok {
			o.bad = pieces[i].Path
			continue
		}
		o.root, ok = put(o.root, steps, &pieces[i])
		if !ok {
			o.bad = pieces[i].Path
		}
	}
}

// json is the whole, or the path that could not be followed, which is no JSON.
func (o *object) json() string {
	if o.bad != "" {
		return "a piece of the arguments does not fit: " + o.bad
	}
	if o.root == nil {
		return ""
	}
	raw, err := provider.Marshal(plain(o.root))
	if err != nil {
		return "the arguments do not fit together: " + err.Error()
	}
	return string(raw)
}

// put sets the value at steps below at. Lists grow by one at most.
func put(at any, steps []any, p *piece) (any, bool) {
	if len(steps) == 0 {
		return p.value(at), true
	}
	switch step := steps[0].(type) {
	case string:
		m, ok := at.(map[string]any)
		if at != nil && !ok {
			return at, false
		}
		if m == nil {
			m = map[string]any{}
		}
		m[step], ok = put(m[step], steps[1:], p)
		return m, ok
	case int:
		list, ok := at.([]any)
		if at != nil && !ok || step > len(list) {
			return at, false
		}
		if step == len(list) {
			list = append(list, nil)
		}
		list[step], ok = put(list[step], steps[1:], p)
		return list, ok
	}
	return at, false
}

func (p *piece) value(have any) any {
	switch {
	case p.Text != nil:
		b, ok := have.(*strings.Builder)
		if !ok {
			b = &strings.Builder{}
		}
		b.WriteString(*p.Text)
		return b
	case len(p.Number) > 0:
		return p.Number
	case p.Bool != nil:
		return *p.Bool
	case len(p.Null) > 0:
		return nil
	}
	return have // only says that more comes
}

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = plain(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = plain(inner)
		}
	case *strings.Builder:
		return v.String()
	}
	return v
}

var step = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[\'(.*?)\'\]|\[(\d+)\]|\.([^.[]*)`) })

// steps takes a path apart; ok is false for one that is bad or too deep.
func steps(path string) (list []any, ok bool) {
	rest, found := strings.CutPrefix(path, "$")
	for found && rest != "" && len(list) < 64 {
		m := step().FindStringSubmatch(rest)
		if m == nil || !strings.HasPrefix(rest, m[0]) {
			return nil, false
		}
		rest = rest[len(m[0]):]
		if n, err := strconv.Atoi(m[2]); err == nil {
			list = append(list, n)
		} else {
			list = append(list, m[1]+m[3])
		}
	}
	return list, found && rest == ""
}
