package openai

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// TestManyFragmentsCostInProportion: servers that repeat the name in each
// fragment, or give each call an id of its own at one index, must not make the
// reader look through all it has for each of them.
func TestManyFragmentsCostInProportion(t *testing.T) {
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
			start := time.Now()
			var c calls
			for i := range 300_000 {
				add(&c, i)
			}
			if took := time.Since(start); took > 20*time.Second { // quadratic, it takes minutes
				t.Errorf("took %s", took)
			}
		})
	}
}
