package openai

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// TestRefrain feeds chunks of which most are read without decoding, between
// others that are not.
func TestRefrain(t *testing.T) {
	t.Parallel()
	d := &decoder{fields: []string{"reasoning_content"}}
	feed := func(delta, rest string) {
		t.Helper()
		data := fmt.Sprintf(`{"id":"1","model":"m","choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`, delta, rest)
		if _, err := d.Feed(data); err != nil {
			t.Fatal(err)
		}
		d.Events()
	}
	text := func(pieces ...string) {
		t.Helper()
		for _, p := range pieces {
			feed(`"content":"`+p+`"`, "null")
		}
	}
	text("The", " quick", " brown")
	if _, _, ok := d.repeated.Text(
		`{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":" fox"},"finish_reason":null}]}`); !ok {
		t.Error("chunks that are alike are still decoded")
	}
	text(" fox", `\n`, "", `\u00e9`, "jumps")
	feed(`"reasoning_content":"Over what?"`, "null")
	text("over", " it")
	feed(`"content":"!"`, `"stop"`)
	got, err := d.Done()
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Part{
		provider.Text{Text: "The quick brown fox\néjumps"},
		provider.Reasoning{Text: "Over what?", Form: "reasoning_content"},
		provider.Text{Text: "over it!"},
	}
	if diff := cmp.Diff(want, got.Message.Parts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRefrainNot are chunks that hold more than text, twice over: their other parts must not be lost.
func TestRefrainNot(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"usage":     `,"finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		"timings":   `,"finish_reason":null}],"timings":{"prompt_n":3,"predicted_n":4}}`,
		"finish":    `,"finish_reason":"stop"}]}`,
		"a message": `,"message":{"content":"x"},"finish_reason":null}]}`,
		"a second":  `,"finish_reason":null},{"index":1,"delta":{"content":"other"}}]}`,
	} {
		d := &decoder{}
		for range 3 {
			if _, err := d.Feed(`{"model":"m","choices":[{"index":0,"delta":{"content":"hello"}` + rest); err != nil {
				t.Fatal(err)
			}
			d.Events()
		}
		if _, _, ok := d.repeated.Text(`{"model":"m","choices":[{"index":0,"delta":{"content":"again"}` + rest); ok {
			t.Errorf("%s: such chunks are no longer decoded", name)
		}
	}
}
