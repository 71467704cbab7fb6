package openai

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestManyFragmentsCostInProportion: servers that repeat the name in each
// fragment, or give each call an id of its own at one index, or begin items without
// end, must not make the reader look through all it has for each of them.
func TestManyFragmentsCostInProportion(t *testing.T) {
	index := 0
	item := func(d *responsesDecoder, event, id string) {
		if _, err := d.Feed(`{"type":"response.` + event + `","item_id":"` + id + `","item":{"type":"function_call","id":"` +
			id + `","call_id":"` + id + `","name":"read"},"delta":"{"}`); err != nil {
			t.Fatal(err)
		}
		d.Events()
	}
	cases := map[string]func(c *calls, d *responsesDecoder, i int){
		"a name in each fragment": func(c *calls, _ *responsesDecoder, i int) {
			f := fragment{Index: &index, ID: "a"}
			f.Function.Name, f.Function.Arguments = "write", json.RawMessage(`"{}},"`)
			if i == 0 {
				f.Function.Arguments = json.RawMessage(`"{\"list\":["`)
			}
			c.add(&f)
		},
		"an id in each": func(c *calls, _ *responsesDecoder, i int) {
			f := fragment{ID: fmt.Sprintf("id-%07d", i)}
			f.Function.Name, f.Function.Arguments = "read", json.RawMessage(`"{}"`)
			c.add(&f)
		},
		"an item in each": func(_ *calls, d *responsesDecoder, i int) {
			id := fmt.Sprintf("fc_%07d", i)
			item(d, "output_item.added", id)
			item(d, "function_call_arguments.delta", id)
			if i == 299_999 {
				d.stop = stopCompleted
				if done, err := d.Done(); err != nil || len(done.Message.Calls()) != i+1 {
					t.Errorf("%d calls, %v", len(done.Message.Calls()), err)
				}
			}
		},
	}
	for name, add := range cases {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var c calls
			var d responsesDecoder
			for i := range 300_000 {
				add(&c, &d, i)
			}
			if took := time.Since(start); took > 20*time.Second { // quadratic, it takes minutes
				t.Errorf("took %s", took)
			}
		})
	}
}
