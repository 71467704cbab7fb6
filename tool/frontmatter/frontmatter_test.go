package frontmatter_test

import (
	"strings"
	"testing"

	"artoo/tool/frontmatter"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	type head struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	for name, c := range map[string]struct {
		file, body string
		head       head
		err        string
	}{
		"none":           {file: "# Title\n---\ntext\n", body: "# Title\n---\ntext\n"},
		"plain":          {file: "---\nname: a\ndescription: b c\n---\nbody\n", body: "body\n", head: head{"a", "b c"}},
		"empty":          {file: "---\n---\nbody", body: "body"},
		"mark and CRLF":  {file: "\xef\xbb\xbf---\r\nname: a\r\n---\r\nbody\r\n", body: "body\n", head: head{Name: "a"}},
		"unquoted colon": {file: "---\nname: a\ndescription: Use when: it's late\n---\nx", body: "x", head: head{"a", "Use when: it's late"}},
		"two lists":      {file: "---\nname: a\ndescription: [b] [c]\n---\nx", body: "x", head: head{"a", "[b] [c]"}},
		"a star":         {file: "---\nname: a\ndescription: *b* c\n---\nx", body: "x", head: head{"a", "*b* c"}},
		"no end":         {file: "---\nname: a\n", body: "---\nname: a\n", err: "line 1: the front matter has no end, a line ---"},
		"broken":         {file: "---\nname: a\ndescription: [\n---\nx", body: "x", err: "line 3"},
		"a wrong type":   {file: "---\nname: a\ndescription: {b: c}\n---\nx", body: "x", head: head{Name: "a"}, err: "line 3: cannot unmarshal"},
		"dashes in text": {file: "---\nname: a\n---\n---- x\n---\n", body: "---- x\n---\n", head: head{Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got head
			body, err := frontmatter.Split([]byte(c.file), &got)
			if body != c.body {
				t.Errorf("body %q, want %q", body, c.body)
			}
			if c.err == "" && (err != nil || got != c.head) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %+v, %v; want %+v, %q", got, err, c.head, c.err)
			}
		})
	}
}
