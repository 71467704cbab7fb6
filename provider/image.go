package provider

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // the kinds of images whose heads are read
	_ "image/jpeg"
	_ "image/png"
	"strconv"
	"strings"

	_ "golang.org/x/image/webp"
)

// Size is the image's width and height in pixels as its head tells them, 0
// and 0 when it does not.
func (i Image) Size() (width, height int) {
	config, _, err := image.DecodeConfig(bytes.NewReader(i.Data))
	if err != nil {
		return 0, 0
	}
	return config.Width, config.Height
}

// Tokens is about what an image costs: the Messages API's width × height / 750,
// which the others are near, and at most what they scale images down to.
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
