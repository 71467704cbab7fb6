package provider

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func encoded(t testing.TB, w, h int, encode func(b *bytes.Buffer, img image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewNRGBA(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, w, h int) Image {
	data := encoded(t, w, h, func(b *bytes.Buffer, img image.Image) error { return png.Encode(b, img) })
	return Image{MediaType: "image/png", Data: data, Name: fmt.Sprintf("%d.png", w)}
}

func TestImageSize(t *testing.T) {
	t.Parallel()
	webp := func(text string) []byte {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	photo := encoded(t, 300, 200, func(b *bytes.Buffer, img image.Image) error { return jpeg.Encode(b, img, nil) })
	extended := append([]byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00"), 0x1f, 3, 0, 0x57, 2, 0)
	for name, test := range map[string]struct {
		data []byte
		w, h int
	}{
		"png":  {pngOf(t, 800, 600).Data, 800, 600},
		"jpeg": {photo, 300, 200},
		"jpeg, EXIF": {bytes.Join([][]byte{photo[:2], []byte("\xff\xe1\x00\x08Exif\x00\x00\xff"), photo[2:]},
			nil), 300, 200},
		"gif": {encoded(t, 30, 20,
			func(b *bytes.Buffer, img image.Image) error { return gif.Encode(b, img, nil) }), 30, 20},
		"webp":       {webp("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"), 1, 1},
		"webp, VP8L": {webp("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="), 1, 1},
		"webp, VP8X": {extended, 800, 600},
		"nothing":    {nil, 0, 0},
		"cut jpeg":   {photo[:30], 0, 0},
		"no image":   {[]byte("%PDF-1.7 and so on and so on and so on"), 0, 0},
	} {
		if w, h := (Image{Data: test.data}).Size(); w != test.w || h != test.h {
			t.Errorf("%s: %dx%d, want %dx%d", name, w, h, test.w, test.h)
		}
	}
	for want, img := range map[int]Image{640: pngOf(t, 800, 600), 85: pngOf(t, 2, 2), 1600: pngOf(t, 1568, 1500)} {
		if got := img.Tokens(); got != want {
			t.Errorf("%d tokens, want %d", got, want)
		}
	}
	if got := (Image{}).Tokens(); got != 1600 {
		t.Errorf("%d tokens of what nobody knows", got)
	}
}

func FuzzImageSize(f *testing.F) {
	f.Add(pngOf(f, 3, 4).Data)
	f.Add([]byte("\xff\xd8\xff\xff\xff\xe0\x00\x02\xff\xc0\x00\x11\x08\x00\x10\x00\x10"))
	f.Fuzz(func(t *testing.T, data []byte) {
		img := Image{Data: data}
		if w, h := img.Size(); w < 0 || h < 0 || img.Tokens() < 85 || img.Tokens() > 1600 {
			t.Errorf("%dx%d, %d tokens", w, h, img.Tokens())
		}
	})
}

func seen(images ...Image) Message {
	return Message{Role: RoleTool,
		Parts: []Part{ToolResult{CallID: "1", Name: "read", Text: "two images", Images: images}}}
}

func TestImagesForModelsThatDoNotSee(t *testing.T) {
	t.Parallel()
	week, bell := pngOf(t, 800, 600), Image{MediaType: "image/png", Data: []byte("?"), Name: "ring\x07.png"}
	history := []Message{UserText("look", week), seen(week, bell), UserText("so?")}
	before := fmt.Sprintf("%+v", history)
	got, told := FitImages(history, ModelInfo{ID: "m", Provider: "p"})
	const why = ": this model cannot see images]"
	want := []Message{
		UserText("look", Text{Text: "[image 800.png, 800x600" + why}),
		{Role: RoleTool, Parts: []Part{ToolResult{CallID: "1", Name: "read",
			Text: "two images\n[image 800.png, 800x600" + why + "\n[image \"ring\\a.png\"" + why}}},
		UserText("so?"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if told != "m cannot see images: it gets only the name and size of 3 images" {
		t.Errorf("told %q", told)
	}
	if fmt.Sprintf("%+v", history) != before {
		t.Error("the history was changed")
	}
	if same, told := FitImages(history, ModelInfo{Images: true}); told != "" || &same[0] != &history[0] {
		t.Errorf("for one that sees: told %q", told)
	}
	if _, told := FitImages(history[:1], ModelInfo{ID: "m", Provider: "p", Guess: true}); !strings.Contains(told,
		`1 image (if it can: set images = true under [provider.p.models."m"]`) {
		t.Errorf("told %q", told)
	}
}

func TestImagesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	tall := pngOf(t, 1, 10_000)
	wide := pngOf(t, 2400, 1)
	heavy := Image{MediaType: "image/jpeg", Data: make([]byte, 4_000_000)}
	for name, test := range map[string]struct {
		images []Image
		left   int
	}{
		"another kind":             {[]Image{{MediaType: "image/tiff", Data: []byte("II*")}, wide}, 1},
		"too tall":                 {[]Image{tall, wide}, 1},
		"too many bytes":           {[]Image{heavy}, 1},
		"large among few":          {[]Image{wide}, 0},
		"large among many":         {append(slicesOf(pngOf(t, 9, 9), 20), wide), 1},
		"a hundred":                {slicesOf(pngOf(t, 9, 9), 100), 0},
		"a hundred and one":        {slicesOf(pngOf(t, 9, 9), 101), 25},
		"a hundred and twenty-six": {slicesOf(pngOf(t, 9, 9), 126), 50},
	} {
		got, told := FitImages([]Message{UserText("look"), seen(test.images...)},
			ModelInfo{Provider: "anthropic", Images: true})
		if n := len(Images(got)); n != len(test.images)-test.left || (told == "") != (test.left == 0) {
			t.Errorf("%s: %d of %d images left, told %q", name, n, len(test.images), told)
		}
	}
}

func slicesOf(img Image, n int) []Image {
	list := make([]Image, n)
	for i := range list {
		list[i] = img
	}
	return list
}

// A long session with images: no request ever holds more than fits, the latest is always in it, and the images sent
// before rarely change.
func TestImagesOfALongSession(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"anthropic", "compatible"} {
		limits := limitsOf(provider)
		for name, bytes := range map[string]int{"many": 100, "heavy": 1_500_000} {
			count, quarter := 3*limits.count, limits.count/4
			if name == "heavy" {
				count, quarter = 40, limits.total/4/bytes
			}
			var history, before []Message
			breaks := 0
			for i := range count {
				img := pngOf(t, 100+i, 20)
				img.Data = append(img.Data, make([]byte, bytes)...)
				history = append(history, seen(img))
				got, _ := FitImages(history, ModelInfo{Provider: provider, Images: true})
				sent := Images(got)
				total := 0
				for _, s := range sent {
					total += len(s.Data)
				}
				if w, _ := sent[len(sent)-1].Size(); len(sent) > limits.count || total > limits.total || w != 100+i {
					t.Fatalf("%s, %s: %d images, %d bytes, the latest %d", provider, name, len(sent), total, w)
				}
				if !slices.Equal(sizesOf(before), sizesOf(got[:len(before)])) {
					breaks++
				}
				before = got
			}
			if most := count/quarter + 1; breaks == 0 || breaks > most {
				t.Errorf("%s, %s: what was sent before changed %d times, at most %d are due", provider, name, breaks, most)
			}
		}
	}
}

// sizesOf are the widths of the images that each message still holds.
func sizesOf(messages []Message) (sizes []int) {
	for _, m := range messages {
		for _, img := range Images([]Message{m}) {
			w, _ := img.Size()
			sizes = append(sizes, w)
		}
	}
	return sizes
}
