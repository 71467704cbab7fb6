package ui

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/ui/prompt"
)

// screenshot is a small image.
func screenshot(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 80, 60))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestImagesAreAttached(t *testing.T) {
	t.Parallel()
	shot := screenshot(t)
	// the third as macOS names them
	const one, two, three = "week.png", "a b/it's (2).PNG", "Screenshot at 3.45\u202fPM.png"
	a := reaching(t, map[string]string{one: shot, two: shot, three: shot, "notes.txt": "n\n"})
	odd := a.env.Dir + "/a b/it's (2).PNG"
	escaped := strings.NewReplacer(" ", `\ `, "'", `\'`, "(", `\(`, ")", `\)`).Replace(odd)
	for text, want := range map[string]struct {
		typed, pasted []string // the attachments, in order
	}{
		"what is in @week.png?":                      {typed: []string{one}},
		a.env.Dir + "/week.png":                      {typed: []string{one}, pasted: []string{one}},
		"  ~/week.png what is this?":                 {typed: []string{one}, pasted: []string{one}},
		"this: '" + a.env.Dir + "/week.png' or?":     {typed: []string{one}},
		escaped + " and":                             {typed: []string{two}, pasted: []string{two}},
		"file://" + a.env.Dir + "/week.png":          {typed: []string{one}, pasted: []string{one}},
		"file://elsewhere" + a.env.Dir + "/week.png": {},
		"\"" + odd + "\" " + a.env.Dir + "/week.png": {typed: []string{two, one},
			pasted: []string{two, one}},
		"@week.png " + a.env.Dir + "/week.png":     {typed: []string{one}},
		a.env.Dir + "/none.png":                    {},
		a.env.Dir + "/notes.txt":                   {},
		"week.png is small, don't open 'week.png'": {},
		"see log:\n" + a.env.Dir + "/week.png":     {typed: []string{one}},
		// GNOME's terminal
		"'" + strings.ReplaceAll(odd, "'", `'\''`) + "' and": {typed: []string{two}, pasted: []string{two}},
		// kitty
		"'" + strings.ReplaceAll(odd, "'", `'"'"'`) + "' and":          {typed: []string{two}, pasted: []string{two}},
		strings.ReplaceAll(a.env.Dir+"/"+three, " ", `\ `) + " shows?": {typed: []string{three}, pasted: []string{three}},
		"what is in " + a.env.Dir + "/week.png?":                       {typed: []string{one}},
		"(see " + a.env.Dir + "/week.png), please":                     {typed: []string{one}},
		a.env.Dir + "/week.png\u3000\u898b\u3066":                      {typed: []string{one}, pasted: []string{one}},
	} {
		for kind, got := range map[string]Expansion{"typed": a.expand(t.Context(), text, nil),
			"pasted": a.expand(t.Context(), text, []prompt.Span{{From: 0, To: len(text)}})} {
			names := want.typed
			if kind == "pasted" {
				names = want.pasted
			}
			var images []string
			for _, p := range got.Parts {
				if img, ok := p.(provider.Image); ok {
					if !bytes.Equal(img.Data, []byte(shot)) || img.MediaType != "image/png" {
						t.Errorf("%q: %s of %d bytes", text, img.MediaType, len(img.Data))
					}
					images = append(images, img.Name)
				}
			}
			if diff := cmp.Diff(names, images); diff != "" {
				t.Errorf("%s %q (-want +got)\n%s%q", kind, text, diff, got.Notes)
			}
			if len(got.Parts) != 2*len(names) || got.Text != text {
				t.Errorf("%s %q: text %q, %d parts", kind, text, got.Text, len(got.Parts))
			}
		}
	}
	e := a.expand(t.Context(), "@week.png", nil)
	if head := e.Parts[0].(provider.Text).Text; !strings.HasPrefix(head, "[@week.png: week.png, image, 80x60, ") ||
		!strings.HasSuffix(head, ", it follows]\n") ||
		!strings.HasPrefix(e.Notes[0], "attached: week.png, image, 80x60, ") {
		t.Errorf("%q %q", head, e.Notes)
	}
}

// TestAnImageThatTheUserNamesMayBeAnywhere: a screenshot is on the desktop.
// That holds for the full path the user gave, of an image, and for nothing a
// repository or a page could have put there.
func TestAnImageThatTheUserNamesMayBeAnywhere(t *testing.T) {
	t.Parallel()
	a := reaching(t, nil)
	out := reaching(t, map[string]string{"out.png": screenshot(t), "text.png": "secret text\n", "notes.txt": "n\n",
		".env.png": screenshot(t)}).env.Dir
	for link, to := range map[string]string{a.env.Dir + "/in.png": out + "/out.png", a.env.Dir + "/dir": out,
		out + "/link.png": out + "/out.png", out + "/env-link.png": out + "/.env.png"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	shot := out + "/out.png"
	for text, want := range map[string]struct{ typed, pasted string }{ // "" attaches it
		"@" + shot:                 {"", "-"}, // an @ that was pasted is text
		shot:                       {"", ""},
		shot + " what is this?":    {"", "outside the project"},
		out + "/link.png":          {"", ""},
		out + "/text.png":          {"only images can be attached", "only images can be attached"},
		out + "/.env.png":          {"hidden", "hidden"},
		out + "/env-link.png":      {"hidden", "hidden"},
		"@" + out + "/notes.txt":   {"outside the project", "-"},
		a.env.Dir + "/in.png":      {"outside the project", "outside the project"},
		a.env.Dir + "/dir/out.png": {"outside the project", "outside the project"},
		a.env.Dir + "/../" + filepath.Base(out) + "/out.png": {"outside the project", "outside the project"},
	} {
		for kind, words := range map[string]string{"typed": want.typed, "pasted": want.pasted} {
			var pasted []prompt.Span
			if kind == "pasted" {
				pasted = []prompt.Span{{From: 0, To: len(text)}}
			}
			e := a.expand(t.Context(), text, pasted)
			notes := strings.Join(e.Notes, "\n")
			var images int
			for _, p := range e.Parts {
				if img, ok := p.(provider.Image); ok && img.Name != "" {
					images++
				}
			}
			switch {
			case words == "-" && (len(e.Parts) != 0 || notes != ""),
				words == "" && (images != 1 || len(e.Parts) != 2 || !strings.HasPrefix(notes, "attached: ")),
				words != "" && words != "-" && (len(e.Parts) != 0 || !strings.Contains(notes, " is not attached: ") ||
					!strings.Contains(notes, words)):
				t.Errorf("%s %q, want %q: %d parts, %q", kind, text, words, len(e.Parts), e.Notes)
			}
		}
	}
	a.own = false
	for _, prompt := range []string{shot, "@" + shot} {
		if e := a.expand(t.Context(), prompt, nil); len(e.Parts) != 0 || !strings.Contains(strings.Join(e.Notes, "\n"), "outside the project") {
			t.Errorf("the prompt of a headless run, %q: %d parts, %q", prompt, len(e.Parts), e.Notes)
		}
	}
}

func FuzzDroppedImages(f *testing.F) {
	f.Add(`/a\ b.png "c d.jpg" file:///e%20f.gif 'x`)
	f.Fuzz(func(t *testing.T, text string) {
		if all, first := imagesOf(text, false), imagesOf(text, true); len(first) > len(all) {
			t.Errorf("%q: %q of %q", text, first, all)
		}
	})
}

func imagesOf(text string, leading bool) []string {
	paths, _ := droppedImages(text, leading)
	return paths
}
