package provider

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Size is the image's width and height in pixels as its head tells them, 0
// and 0 when it does not.
func (i Image) Size() (width, height int) {
	d := i.Data
	switch {
	case len(d) >= 24 && bytes.HasPrefix(d, []byte("\x89PNG\r\n\x1a\n")):
		return side(binary.BigEndian.Uint32(d[16:])), side(binary.BigEndian.Uint32(d[20:]))
	case len(d) >= 10 && bytes.HasPrefix(d, []byte("GIF8")):
		return int(binary.LittleEndian.Uint16(d[6:])), int(binary.LittleEndian.Uint16(d[8:]))
	case bytes.HasPrefix(d, []byte{0xff, 0xd8}):
		return jpegSize(d)
	case len(d) >= 30 && bytes.HasPrefix(d, []byte("RIFF")) && string(d[8:12]) == "WEBP":
		return webpSize(d[12:])
	}
	return 0, 0
}

// side keeps a broken head from giving a negative or absurd number.
func side(n uint32) int { return int(min(n, 1<<24)) }

// jpegSize looks for the frame's head, which follows the other segments.
func jpegSize(d []byte) (width, height int) {
	for at := 2; at+9 <= len(d) && d[at] == 0xff; {
		marker := d[at+1]
		switch {
		case marker == 0xff: // padding
			at++
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return int(binary.BigEndian.Uint16(d[at+7:])), int(binary.BigEndian.Uint16(d[at+5:]))
		}
		at += 2 + int(binary.BigEndian.Uint16(d[at+2:]))
	}
	return 0, 0
}

// webpSize reads the first chunk, which has at least 18 bytes.
func webpSize(chunk []byte) (width, height int) {
	switch string(chunk[:4]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(chunk[14:]) & 0x3fff), int(binary.LittleEndian.Uint16(chunk[16:]) & 0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(chunk[9:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(chunk[12:]) + 1, three(chunk[15:]) + 1
	}
	return 0, 0
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

// instead is the sentence that stands for an image.
func (i Image) instead(why string) string {
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
