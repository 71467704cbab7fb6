package config

import (
	"strings"
	"testing"
)

func TestLineIndex(t *testing.T) {
	t.Parallel()
	src := "\ufeffa = 1\n" + // 1
		"'lit.eral' = 2 # [x]\n" +
		"[b.\"c d\"] # =\n" +
		"e.f = [\n  1, # ]\n  2,\n]\n" + // 4-7
		"s = '''\n[no]\nx = 1\n'''\n" + // 8-11
		"t = \"a \\\" # \\n\"\r\n" + // 12
		"[[g]]\n[[g.h]]\nv = 1\n[[g.h]]\nv = 2\n[[g]]\n[g.k]\nv = 3" // 13-20
	for _, test := range []struct {
		path string
		line int
	}{
		{"a", 1}, {"lit.eral", 2}, {"b", 3}, {"b/c d", 3}, {"b/c d/e", 4}, {"b/c d/e/f", 4}, {"b/c d/s", 8},
		{"b/c d/t", 12}, {"g/[0]", 13}, {"g/[0]/h/[0]", 14}, {"g/[0]/h/[0]/v", 15}, {"g/[0]/h/[1]", 16},
		{"g/[0]/h/[1]/v", 17}, {"g/[1]", 18}, {"g/[1]/k", 19}, {"g/[1]/k/v", 20},
		{"b/c d/e/nowhere", 4}, {"nowhere", 1},
	} {
		if got := indexLines(src).find(strings.Split(test.path, "/")...); got != test.line {
			t.Errorf("%s is in line %d, want %d", test.path, got, test.line)
		}
	}
}

// FuzzLineIndex holds the scanner against the decoder: whatever that accepts,
// each key it reports outside arrays and inline tables has a line, and that
// line holds the key.
func FuzzLineIndex(f *testing.F) {
	for _, s := range []string{
		"", "a=1", "a.b.c=1\nd='x'", "[a]\nb=\"\"\"x\n\"\"\"\"\n[c]", "[[a]]\n[[a]]\nb=1\n[a.c]", "x=[[1],[{a=1}]]\ny=2",
		"a=1 #x\r\n\r\n[ b . \"c\" ]\n'd'=1979-05-27", "a=\"\\\\\"\nb=''\nc=''''''\nd=1", "a = \"\"\"\\\n  x\"\"\"\nb = 1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		var root map[string]any
		if err := decode(src, &root); err != nil {
			return
		}
		x := indexLines(src)
		total := strings.Count(src, "\n") + 1
		for key, at := range x.at {
			line := x.line(at)
			if line < 1 || line > total {
				t.Errorf("%q: line %d of %d", key, line, total)
			}
		}
		for key := range root {
			if strings.ContainsAny(key, "\\\"'\x00") ||
				strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
				continue
			}
			if _, there := x.at[key]; !there {
				t.Errorf("no line for %q in %q", key, src)
			}
		}
	})
}
