package text_test

import (
	"strings"
	"testing"

	"artoo/tool/text"
)

func TestAListIsSplitOutsideParentheses(t *testing.T) {
	for in, want := range map[string]string{
		"a, b(c, d) e": "a/b(c, d)/e", "b(c,\nd": "b(c,/d", "a) b": "a)/b", " , ": "",
		"{a,b}/*.go, c": "{a,b}/*.go/c", "a{,\nb,c": "a{,/b/c", "a({), b}, c": "a({)/b}/c",
	} {
		if got := strings.Join(text.Outside(in, ", "), "/"); got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}
}
