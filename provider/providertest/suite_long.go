package providertest

import (
	"bytes"
	"testing"
)

// testLong plays a task of 200 steps, of 100 with -short. Each request begins with the one
// before, grows by no more than the step, and costs in proportion to its size.
func testLong(t *testing.T, w Wire) {
	steps := 200
	if testing.Short() {
		steps = 100
	}
	s := Serve(t, ToolLoop(w.Build, steps, "read", `{"path":"go.mod"}`, "Done."))
	p := s.connect(w, Config{})
	req := question()
	cost := make([]uint64, steps+1)
	for i := range cost {
		before := allocated()
		r := Collect(p.Stream(t.Context(), req))
		cost[i] = allocated() - before
		if err := r.Check(); err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
		req.Messages = append(req.Messages, r.Done.Message)
		for _, c := range r.Done.Message.Calls() {
			req.Messages = append(req.Messages, result(c, "module artoo"))
		}
		if done := len(r.Done.Message.Calls()) == 0; done != (i == steps) {
			t.Fatalf("step %d: the end came: %v", i, done)
		}
	}
	var sizes []int
	var last []byte
	for i, seen := range s.Requests() {
		now := w.Unmark(seen.Body)
		if !bytes.HasPrefix(now, bytes.TrimRight(last, "]}")) {
			t.Fatalf("request %d is no prefix of the next", i-1)
		}
		last = now
		sizes = append(sizes, len(now))
	}
	if err := w.Validate(s.Requests()[steps].Body); err != nil {
		t.Error(err)
	}
	early, late := sizes[20]-sizes[10], sizes[steps]-sizes[steps-10]
	if late > early+early/4 {
		t.Errorf("ten steps add %d bytes at first and %d at last", early, late)
	}
	sum := func(from, to int) (n uint64) {
		for _, c := range cost[from:to] {
			n += c
		}
		return n
	}
	// Twice the history may cost twice, and the same again for what is noise.
	if half, all := sum(steps/2-10, steps/2), sum(steps-10, steps); all > 4*half {
		t.Errorf("ten requests allocate %d bytes after %d steps and %d after %d", half, steps/2, all, steps)
	}
}
