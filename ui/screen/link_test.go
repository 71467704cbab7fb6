package screen

import (
	"strings"
	"testing"
)

func TestOnlyAddressesOfTheWebAreLinked(t *testing.T) {
	t.Parallel()
	to := func(u, text string) string { return "\x1b]8;;" + u + "\x1b\\" + text + "\x1b]8;;\x1b\\" }
	link := func(u string) string { return to(u, u) }
	for src, want := range map[string]string{
		"[a b](http://x.org/p?q=1#f)":         to("http://x.org/p?q=1#f", "a b"),
		"<https://x.org>":                     link("https://x.org"),
		"**[a](https://x.org/_b_*c)**":        to("https://x.org/_b_*c", "\x1b[1ma") + "\x1b[0m",
		"![i](HTTPS://x.org/i.png)":           to("HTTPS://x.org/i.png", "i"),
		"[a](http://x.org)[b](http://y.org)":  to("http://x.org", "a") + to("http://y.org", "b"),
		"[http://good.org](http://evil.org)":  "http://good.org (" + link("http://evil.org") + ")",
		"[http://good.org](javascript:alert)": "http://good.org (javascript:alert)",
		"[a](javascript:alert)":               "a (javascript:alert)",
		"[a](data:text/html,x)":               "a (data:text/html,x)",
		"[a](file:///etc/passwd)":             "a (file:///etc/passwd)",
		"[a](ssh://x.org)":                    "a (ssh://x.org)",
		"[a](/local)":                         "a (/local)",
		"[a](http:///nohost)":                 "a (http:///nohost)",
		"[a](http://good.org@evil.org/)":      "a (http://good.org@evil.org/)",
		"[a](http://x\u202ey.org)":            "a (http://x<U+202E>y.org)",
		"[a](http://x\x1b]8;;http://y.org)":   "a (http://x^[]8;;http://y.org)",
		"[a](http://пример.рф)":               "a (http://пример.рф)",
		"<me@x.org> http://bare.org":          "me@x.org http://bare.org",
		"`[a](http://x.org)`":                 "\x1b[35m[a](http://x.org)\x1b[0m",
	} {
		got := strings.TrimSuffix(pieces(t, MarkdownOptions{Color: true, Links: true, Width: wide(1000)}, src), "\n")
		if got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
		bare := pieces(t, MarkdownOptions{Color: true, Width: wide(1000)}, src)
		if !strings.Contains(bare, "(") && strings.Contains(src, "](") {
			t.Errorf("%s: without links the address is not shown: %q", src, bare)
		}
	}
}

func TestAnOverlongAddressIsNotLinked(t *testing.T) {
	t.Parallel()
	address := "http://x.org/"
	if linkable(address+strings.Repeat("x", maxLink)) || !linkable(address+strings.Repeat("x", maxLink-len(address))) {
		t.Errorf("the limit of %d bytes does not hold", maxLink)
	}
}

// A link that is broken into rows leads to its address in each of them, and no row ends within it.
func TestLinksEndWithTheirRow(t *testing.T) {
	t.Parallel()
	src := readTour(t) + strings.Repeat("some words with [a link of words](https://example.org/path) in them. ", 20)
	for _, width := range []int{20, 47, 80} {
		linked := pieces(t, MarkdownOptions{Color: true, Links: true, Width: wide(width)}, src)
		checkRendered(t, linked)
		shown := osc8.ReplaceAllString(linked, "")
		if strings.Contains(shown, "example.org") || !strings.Contains(shown, "https://go.dev/doc") {
			t.Errorf("in %d columns: %q", width, shown)
		}
	}
	for name, want := range map[string]bool{"rich": true, "nocolor": true, "plain": false, "spoken": false, "tee": false} {
		r := newRig(func(o *Options) {
			if f := profiles()[name]; f != nil {
				f(o)
			}
			o.Links = true
		})
		r.OnText("[a](http://x.org)")
		r.Finish()
		if got := strings.Contains(r.out.String()+r.err.String(), "\x1b]8;"); got != want {
			t.Errorf("%s: a link: %v", name, got)
		}
	}
}
