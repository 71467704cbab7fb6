package anthropic

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// TestRefrain feeds events of which most are read without decoding, of two
// blocks in turn, between others that are not.
func TestRefrain(t *testing.T) {
	t.Parallel()
	d := &decoder{}
	feed := func(format string, args ...any) {
		t.Helper()
		if _, err := d.Feed(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
		d.Events()
	}
	const delta = `{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"%s"}}`
	open := func(index int) {
		feed(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, index)
	}
	text := func(index int, pieces ...string) {
		t.Helper()
		for _, p := range pieces {
			feed(delta, index, p)
		}
	}
	feed(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1}}}`)
	open(0)
	text(0, "The", " quick", " brown")
	if _, index, ok := d.repeated.Text(fmt.Sprintf(delta, 0, " fox")); !ok || index != 0 {
		t.Errorf("events that are alike are still decoded; block %d", index)
	}
	text(0, " fox", `\n`, "")
	open(1)
	text(1, "jumps", `\u00e9`, " over", " it")
	text(0, ".")
	text(1, "!")
	feed(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`)
	feed(`{"type":"message_stop"}`)
	got, err := d.Done()
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Part{provider.Text{Text: "The quick brown fox\n."}, provider.Text{Text: "jumpsé over it!"}}
	if diff := cmp.Diff(want, got.Message.Parts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
