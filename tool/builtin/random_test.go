package builtin

import (
	"strconv"
	"strings"
	"testing"

	"artoo/tool"
)

func TestRandom(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 400 {
		r := mustCall(t, Random(), nil, `{"min":-2,"max":3}`)
		n, err := strconv.Atoi(r.Text)
		if err != nil || n < -2 || n > 3 || r.Summary != r.Text {
			t.Fatalf("%+v", r)
		}
		seen[r.Text] = true
	}
	if len(seen) != 6 {
		t.Errorf("in 400 draws of 6 numbers only %v came", seen)
	}
	if r := mustCall(t, Random(), nil, `{"min":7,"max":7}`); r.Text != "7" {
		t.Errorf("%+v", r)
	}
	if _, err := strconv.ParseInt(mustCall(t, Random(), nil, `{"min":-9007199254740992,"max":9007199254740992}`).Text,
		10, 64); err != nil {
		t.Error(err)
	}
}

func TestRandomErrors(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"min":2,"max":1}`:     "swap them",
		`{"min":0,"max":1e300}`: "too large",
		`{"min":-1e17,"max":1}`: "too large",
		`{"min":0.5,"max":1}`:   "not a whole number",
	} {
		if _, _, err := call(t, Random(), nil, input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

func TestRandomAccess(t *testing.T) {
	t.Parallel()
	access, _, err := call(t, Random(), nil, `{"min":1,"max":6}`)
	if err != nil || access.Kind != tool.KindNone || access.Verb != "random" || access.Object != "1 to 6" {
		t.Errorf("%+v, %v", access, err)
	}
}
