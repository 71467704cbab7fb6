package openai

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestManyFragmentsCostInProportion: servers that repeat the name in each
// fragment, or give each call an id of its own at one index, must not make the
// reader look through all it has for each of them.
func TestManyFragmentsCostInProportion(t *testing.T) {
	t.Parallel()
	index := 0
	cases := map[string]func(c *calls, i int){
		"a name in each fragment": func(c *calls, i int) {
			f := fragment{Index: &index, ID: "a"}
			f.Function.Name, f.Function.Arguments = "write", json.RawMessage(`"{}},"`)
			if i == 0 {
				f.Function.Arguments = json.RawMessage(`"{\"list\":["`)
			}
			c.add(&f)
		},
		"an id in each": func(c *calls, i int) {
			f := fragment{ID: fmt.Sprintf("id-%07d", i)}
			f.Function.Name, f.Function.Arguments = "read", json.RawMessage(`"{}"`)
			c.add(&f)
		},
	}
	for name, add := range cases {
		t.Run(name, func(t *testing.T) {
			start := cpuTime(t)
			var c calls
			for i := range 100_000 {
				add(&c, i)
			}
			if took := cpuTime(t) - start; took > 7*time.Second { // quadratic, it takes far longer
				t.Errorf("took %s of a processor", took)
			}
		})
	}
}

// cpuTime is the time that processors have worked for these tests: other programs do not count.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestAnEventSpeaksOfTheNewestItems: a reply that begins items without end is not
// searched whole for each of its events.
func TestAnEventSpeaksOfTheNewestItems(t *testing.T) {
	t.Parallel()
	var d responsesDecoder
	feed := func(event, id string) (items int) {
		if _, err := d.Feed(`{"type":"response.` + event + `","item_id":"` + id + `","item":{"type":"function_call","id":"` +
			id + `","call_id":"` + id + `","name":"read"},"delta":"{"}`); err != nil {
			t.Fatal(err)
		}
		return len(d.items)
	}
	id := func(i int) string { return fmt.Sprintf("fc_%d", i) }
	for i := range maxOpen + 1 {
		feed("output_item.added", id(i))
	}
	if n := feed("function_call_arguments.delta", id(1)); n != maxOpen+1 {
		t.Errorf("an event about one of the newest items makes %d items of %d", n, maxOpen+1)
	}
	if n := feed("function_call_arguments.delta", id(0)); n != maxOpen+2 {
		t.Errorf("an event about an older item leaves %d items of %d", n, maxOpen+1)
	}
}
