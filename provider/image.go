package provider

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // the kinds of images whose heads are read
	_ "image/jpeg"
	_ "image/png"
	"slices"
	"strconv"
	"strings"

	_ "golang.org/x/image/webp"
)

// Image is an image for models that see. Data is raw, not base64. Name is its file's, may
// be "". Session files hold Bytes and SHA256 (hexadecimal) in place of Data, which is a
// file beside the session.
type Image struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data,omitempty"`
	Name      string `json:"name,omitempty"`
	Bytes     int    `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
}

// Len is the number of bytes of the image, whether they are here or in a file.
func (i Image) Len() int { return max(len(i.Data), i.Bytes) }

// usable reports whether an image can be sent at all.
func usable(img Image) bool { return len(img.Data) > 0 && img.MediaType != "" }

// Size is the image's width and height in pixels, 0 and 0 if its head does not say.
func (i Image) Size() (width, height int) {
	config, _, err := image.DecodeConfig(bytes.NewReader(i.Data))
	if err != nil {
		return 0, 0
	}
	return config.Width, config.Height
}

// Tokens estimates the cost of an image in tokens as the Messages API counts it: width × height / 750, and no more than
// for the size to which servers scale images down. What other APIs count is close to that.
func (i Image) Tokens() int {
	const most, least = 1600, 85
	w, h := i.Size()
	if w == 0 || h == 0 {
		return most
	}
	return int(min(max(int64(w)*int64(h)/750, least), most))
}

// Instead is the sentence that stands for an image, with why it is not here.
func (i Image) Instead(why string) string {
	name := strings.ToValidUTF8(i.Name, "\uFFFD")
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	words := "image"
	if name != "" {
		words += " " + name
	}
	if w, h := i.Size(); w > 0 && h > 0 {
		words += fmt.Sprintf(", %dx%d", w, h)
	}
	return "[" + words + ": " + why + "]"
}

// imageLimits are the images that one request may hold.
type imageLimits struct {
	count int // images
	bytes int // limit for one image
	total int // bytes of all
	edge  int // pixels of the longer side
	crowd int // more images than this
	small int // may have no longer side than this
}

// limitsOf is the narrower gateways' limits, or those of an API that takes more.
func limitsOf(provider string) imageLimits {
	l := imageLimits{count: 50, bytes: 3_900_000, total: 14 << 20, edge: 8000, crowd: 20, small: 2000}
	if facts, _ := FactsOf(provider); facts.ManyImages {
		l.count, l.total = 100, 20<<20
	}
	return l
}

func takenTypes() []string { return []string{"image/jpeg", "image/png", "image/gif", "image/webp"} }

// FitImages replaces the images that the model must not be sent by a sentence: all for a
// model that does not see, else unusable ones and the oldest beyond the limit, a quarter of
// it at a time, so that a request stays a prefix of the next. told names the omitted images.
// Messages stay as they are, and are returned if nothing is left out.
func FitImages(messages []Message, info ModelInfo) (fit []Message, told string) {
	all := Images(messages)
	if len(all) == 0 {
		return messages, ""
	}
	f := imageFitter{limits: limitsOf(info.Provider), why: make([]string, len(all))}
	switch {
	case !info.Images:
		told = fmt.Sprintf("%s cannot see images: it gets only the name and size of %s", info.ID, counted(len(all)))
		if info.Guess {
			told += fmt.Sprintf(" (if it can: set images = true under [provider.%s.models.%q] in config.toml)",
				info.Provider,
				info.ID)
		}
		for i := range f.why {
			f.why[i] = "this model cannot see images"
		}
	default:
		if n := f.choose(all); n > 0 {
			told = fmt.Sprintf("%s left out of the request: too old, too large or of a kind that the model does not take",
				counted(n))
		}
	}
	if told == "" {
		return messages, ""
	}
	fit = slices.Clone(messages)
	for i := range fit {
		f.message(&fit[i])
	}
	return fit, told
}

// LeaveOut replaces each image that refused selects by a sentence, in a copy.
func LeaveOut(messages []Message, refused func(Image) bool) []Message {
	var f imageFitter
	for _, img := range Images(messages) {
		why := ""
		if refused(img) {
			why = "left out, the server refused it; a smaller copy may do"
		}
		f.why = append(f.why, why)
	}
	out := slices.Clone(messages)
	for i := range out {
		f.message(&out[i])
	}
	return out
}

func counted(n int) string {
	if n == 1 {
		return "1 image"
	}
	return fmt.Sprintf("%d images", n)
}

// Images are the images of a history in their order.
func Images(messages []Message) []Image {
	var all []Image
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case Image:
				all = append(all, p)
			case ToolResult:
				all = append(all, p.Images...)
			}
		}
	}
	return all
}

type imageFitter struct {
	limits imageLimits
	why    []string // one an image; "" means that it is sent
	next   int      // the image that comes next
}

func (f *imageFitter) choose(all []Image) (left int) {
	l := f.limits
	count, total := 0, 0
	for i, img := range all {
		w, h := img.Size()
		switch {
		case !slices.Contains(takenTypes(), img.MediaType):
			f.why[i] = "left out, models take JPEG, PNG, GIF and WebP"
		case len(img.Data) > l.bytes || max(w, h) > l.edge || len(all) > l.crowd && max(w, h) > l.small:
			f.why[i] = "left out, it is too large; a smaller copy can be read"
		default:
			count++
			total += len(img.Data)
		}
	}
	oldest, bytes := steps(count, l.count), steps(total, l.total)
	for i, img := range all {
		if f.why[i] == "" && (oldest > 0 || bytes > 0) {
			f.why[i] = "left out to make room; read it again if it is needed"
			oldest--
			bytes -= len(img.Data)
		}
		if f.why[i] != "" {
			left++
		}
	}
	return left
}

// steps is how much of n goes where only limit fits, in whole quarters of the limit.
func steps(n, limit int) int {
	if n <= limit {
		return 0
	}
	quarter := max(1, limit/4)
	return (n - limit + quarter - 1) / quarter * quarter
}

func (f *imageFitter) message(m *Message) {
	changed := false
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		switch p := p.(type) {
		case Image:
			if why := f.of(); why != "" {
				parts[i], changed = Text{Text: p.Instead(why)}, true
			}
		case ToolResult:
			images, text := p.Images, p.Text
			p.Images = nil
			for _, img := range images {
				why := f.of()
				if why == "" {
					p.Images = append(p.Images, img)
					continue
				}
				if text != "" {
					text += "\n"
				}
				text += img.Instead(why)
			}
			if len(p.Images) != len(images) {
				p.Text = text
				parts[i], changed = p, true
			}
		}
	}
	if changed {
		m.Parts = parts
	}
}

func (f *imageFitter) of() string {
	f.next++
	return f.why[f.next-1]
}
