package text

import "testing"

func TestAListSaysHowMuchIsLeftOut(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for n, want := range []string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := UpTo(n, names); n > 0 && got != want {
			t.Errorf("up to %d: %q", n, got)
		}
	}
	if got := UpTo(3, nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
