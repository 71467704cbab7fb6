package wire

import (
	"encoding/json"
	"fmt"
	"testing"
)

func chunkOf(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return fmt.Sprintf(`{"model":"m","n":0,"content":%s,"end":null}`, quoted)
}

func TestRefrain(t *testing.T) {
	t.Parallel()
	var r Repeated
	for i, text := range []string{"The", " quick"} {
		if got, _, ok := r.Text(chunkOf(text)); ok {
			t.Errorf("event %d was read as %q before anything was sure", i, got)
		}
		r.Learn(chunkOf(text), text, 7)
	}
	for _, c := range []struct {
		data, want string
		ok         bool
	}{
		{chunkOf(" fox"), " fox", true},
		{chunkOf("größer 狐 🦊"), "größer 狐 🦊", true},
		{chunkOf("a\nb"), "", false},
		{chunkOf(`say "hi"`), "", false},
		{chunkOf(""), "", false},
		{`{"model":"m","n":0,"content":"x","error":{"a":"b","end":null}`, "", false},
		{`{"model":"m","n":0,"content":"a","content":"b","end":null}`, "", false},
		{`{"model":"m","n":0,"content":"x","end":1}`, "", false},
		{`{"model":"m","n":1,"content":"x","end":null}`, "", false},
		{"{\"model\":\"m\",\"n\":0,\"content\":\"\xff\",\"end\":null}", "", false},
		{`{"model":"m","n":0,"content":`, "", false},
		{"", "", false},
		{chunkOf(" jumps"), " jumps", true},
	} {
		got, block, ok := r.Text(c.data)
		if ok != c.ok || ok && (got != c.want || block != 7) {
			t.Errorf("Text(%q) = %q, %d, %v; want %q, %v", c.data, got, block, ok, c.want, c.ok)
		}
	}
}

func TestRefrainUnsure(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][][2]string{ // data and text
		"one event":         {{chunkOf("a"), "a"}},
		"the text is twice": {{`{"a":"x","b":"x"}`, "x"}, {`{"a":"y","b":"y"}`, "y"}},
		"not where it was": {{`{"kind":"text","content":"\u0074ext"}`, "text"},
			{`{"kind":"more","content":"\u0074ext"}`, "text"}},
		"another around it": {{`{"n":1,"content":"a"}`, "a"}, {`{"n":2,"content":"b"}`, "b"}},
		"escaped":           {{chunkOf("a\"b"), "a\"b"}, {chunkOf("c\"d"), "c\"d"}},
	} {
		var r Repeated
		for _, e := range events {
			r.Learn(e[0], e[1], 0)
		}
		last := events[len(events)-1][0]
		if got, _, ok := r.Text(last); ok {
			t.Errorf("%s: %s was read as %q", name, last, got)
		}
	}
}

func TestRefrainGivesUp(t *testing.T) {
	t.Parallel()
	var r Repeated
	for i := range maxMisses + 1 {
		r.Learn(fmt.Sprintf(`{"pad":%d,"content":"a"}`, i), "a", 0)
	}
	for range 2 {
		r.Learn(chunkOf("a"), "a", 0)
	}
	if _, _, ok := r.Text(chunkOf("b")); ok {
		t.Error("it still tries")
	}
}
