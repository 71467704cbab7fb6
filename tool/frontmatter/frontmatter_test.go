package frontmatter_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/frontmatter"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	type head = frontmatter.Head
	for name, c := range map[string]struct {
		file, body string
		head       head
		err        string
	}{
		"none":              {file: "# Title\n---\ntext\n", body: "# Title\n---\ntext\n"},
		"plain":             {file: "---\nname: a\ndescription: b c\n---\nbody\n", body: "body\n", head: head{"name": "a", "description": "b c"}},
		"empty":             {file: "---\n---\nbody", body: "body"},
		"only a fence":      {file: "---", body: "---"},
		"mark and CRLF":     {file: "\xef\xbb\xbf---\r\nname: a\r\n---\r\nbody\r\n", body: "body\n", head: head{"name": "a"}},
		"blank after fence": {file: "--- \t\nname: a\n---\nx", body: "x", head: head{"name": "a"}},
		"unquoted colon": {file: "---\nname: a\ndescription: Use when: it's late\n---\nx", body: "x",
			head: head{"name": "a", "description": "Use when: it's late"}},
		"on two lines": {file: "---\ndescription: Use when: it's late\n  or: early\nname: a\n---\nx", body: "x",
			head: head{"name": "a", "description": "Use when: it's late or: early"}},
		"two lists":       {file: "---\nname: a\ndescription: [b] [c]\n---\nx", body: "x", head: head{"name": "a", "description": "[b] [c]"}},
		"a star":          {file: "---\nname: a\ndescription: *b* c\n---\nx", body: "x", head: head{"name": "a", "description": "*b* c"}},
		"a list":          {file: "---\nname: [a, 1]\n---\nx", body: "x", head: head{"name": []string{"a", "1"}}},
		"other scalars":   {file: "---\nname: 2026-11-28\ndescription: 1.0\n---\nx", body: "x", head: head{"name": "2026-11-28", "description": "1.0"}},
		"no value":        {file: "---\nname:\ndescription: ~\n---\nx", body: "x"},
		"a key twice":     {file: "---\nname: a\nname: b\n---\nx", body: "x", head: head{"name": "b"}},
		"a tab elsewhere": {file: "---\nname: a\nmetadata:\n\tversion: 1\n---\nx", body: "x", head: head{"name": "a"}},
		"error elsewhere": {file: "---\nmetadata: [\nname: a\n---\nx", body: "x", head: head{"name": "a"}},
		"no UTF-8":        {file: "---\nname: a\xff\n---\nx\xff", body: "x\uFFFD", head: head{"name": "a\uFFFD"}},
		"no end":          {file: "---\nname: a\n", body: "---\nname: a\n", err: "line 1: the front matter has no end, a line ---"},
		"broken": {file: "---\nname: a\ndescription: [\n---\nx", body: "x", head: head{"name": "a"},
			err: "line 3: the value of description is not valid YAML"},
		"a control character": {file: "---\ndescription: \"\x01\"\nname: a\n---\nx", body: "x", err: "line 2: the value of description is not valid YAML"},
		"a table":             {file: "---\nname: a\ndescription: {b: c}\n---\nx", body: "x", head: head{"name": "a", "description": frontmatter.Table{}}},
		"an alias":            {file: "---\nx: &b [1]\nname: a\ndescription: *b\n---\nx", body: "x", head: head{"name": "a"}},
		"no table":            {file: "---\n- name: a\n---\nx", body: "x"},
		"dashes in text":      {file: "---\nname: a\n---\n---- x\n---\n", body: "---- x\n---\n", head: head{"name": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, body, err := frontmatter.Split([]byte(c.file), "name", "description")
			if c.head == nil {
				c.head = head{}
			}
			if body != c.body {
				t.Errorf("body %q, want %q", body, c.body)
			}
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(c.head, got); diff != "" || said != c.err {
				t.Errorf("%s%q, want %q", diff, said, c.err)
			}
		})
	}
}

// Files of 256 KB that expand, or that a parser takes long for, cost little memory and so little time.
func TestHostileFrontMatterIsCheap(t *testing.T) { // not parallel: memory is counted for all goroutines
	const size, most = 256 << 10, 200 << 20
	var merged strings.Builder
	merged.WriteString("x: &x\n")
	for i := range 8000 {
		fmt.Fprintf(&merged, "  k%d: 1\n", i)
	}
	for i := range 5000 {
		fmt.Fprintf(&merged, "y%d:\n  <<: *x\n", i)
	}
	for name, head := range map[string]string{
		"merges":   merged.String(),
		"keys":     strings.Repeat("description: [\nname: a\n", size/24),
		"nested":   "name: " + strings.Repeat("[", size-100),
		"indented": "name: " + strings.Repeat("- ", size/2-100),
		"comments": strings.Repeat("# c\n\n", size/6) + "name: a",
		"colons":   "x: [\n" + strings.Repeat("name: b: c\n", size/12),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _ = frontmatter.Split([]byte("---\n"+head+"\n---\nx"), "name", "description")
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc); used > most {
			t.Errorf("%s took %d MB", name, used>>20)
		}
	}
}
