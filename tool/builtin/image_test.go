package builtin

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// One red and one transparent pixel, as WebP.
const (
	webpLossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	webpLossless = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

func unbase64(t testing.TB, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// halves is red on the left and blue on the right.
func halves(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.NRGBA{R: 255, A: 255}), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(w/2, 0, w, h), image.NewUniform(color.NRGBA{B: 255, A: 255}), image.Point{}, draw.Src)
	return img
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withChunk puts a chunk behind the head of a PNG.
func withChunk(data []byte, name, content string) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	chunk = append(append(chunk, name...), content...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	at := len("\x89PNG\r\n\x1a\n") + 25
	return bytes.Join([][]byte{data[:at], chunk, data[at:]}, nil)
}

// withEXIF puts the segment of a camera into a JPEG, in either byte order.
func withEXIF(data []byte, turn uint16, order binary.AppendByteOrder) []byte {
	tiff := []byte("II*\x00\x08\x00\x00\x00")
	if order.String() == "BigEndian" {
		tiff = []byte("MM\x00*\x00\x00\x00\x08")
	}
	tiff = order.AppendUint16(tiff, 2)
	for tag, value := range map[uint16]uint16{0x0100: 77, orientationTag: turn} {
		tiff = order.AppendUint16(tiff, tag)
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, value)
		tiff = append(tiff, 0, 0)
	}
	tiff = append(tiff, "GPS 52.5N 13.4E"...)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	head := binary.BigEndian.AppendUint16([]byte{0xff, exifSegment}, uint16(len(segment)+2))
	return bytes.Join([][]byte{data[:2], head, segment, data[2:], []byte("a film that follows, GPS 52.5N")}, nil)
}

func mustRead(t testing.TB, data []byte, kind string) (picture, image.Image) {
	t.Helper()
	p, err := readImage(data, kind)
	if err != nil {
		t.Fatal(err)
	}
	decode := map[string]func([]byte) (image.Image, error){
		"image/png":  func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) },
		"image/jpeg": func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) },
		"image/webp": func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) },
	}[p.MediaType]
	if decode == nil {
		t.Fatalf("media type %q", p.MediaType)
	}
	img, err := decode(p.Data)
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != p.shownW || b.Dy() != p.shownH || len(p.Data) > imageBytes ||
		max(b.Dx(), b.Dy()) > imageEdge {
		t.Errorf("%d bytes, %v, said to be %dx%d", len(p.Data), b, p.shownW, p.shownH)
	}
	return p, img
}

func TestSmallImagesKeepTheirPixels(t *testing.T) {
	t.Parallel()
	plain := asPNG(t, halves(40, 20))
	p, img := mustRead(t, plain, "image/png")
	if p.size() != "40x20" || !bytes.Equal(asPNG(t, img), plain) {
		t.Errorf("%s, other pixels", p.size())
	}
	for name, text := range map[string]string{"tEXt": "Author\x00me at home", "eXIf": "GPS 52.5N",
		"acTL": "\x00\x00\x00\x01\x00\x00\x00\x00"} {
		if stripped, _ := mustRead(t, withChunk(plain, name, text), "image/png"); !bytes.Equal(stripped.Data, p.Data) {
			t.Errorf("%s is left", name)
		}
	}
	photo := asJPEG(t, halves(40, 20))
	if p, _ := mustRead(t, withEXIF(photo, 1, binary.LittleEndian), "image/jpeg"); !bytes.Equal(p.Data, photo) {
		t.Errorf("the photograph is not what it was without EXIF: %q", p.Data[:40])
	}
}

// TestAWebPIsWrittenAsEveryServerReads: llama.cpp cannot decode it, and refuses
// the whole conversation from then on.
func TestAWebPIsWrittenAsEveryServerReads(t *testing.T) {
	t.Parallel()
	for data, kind := range map[string]string{webpLossy: "image/jpeg", webpLossless: "image/png"} {
		was, err := webp.Decode(bytes.NewReader(unbase64(t, data)))
		if err != nil {
			t.Fatal(err)
		}
		p, img := mustRead(t, append(unbase64(t, data), "EXIF trailer"...), "image/webp")
		if p.MediaType != kind || p.size() != "1x1" || bytes.Contains(p.Data, []byte("EXIF")) {
			t.Errorf("%s, want %s: %q", p.MediaType, kind, p.Data)
		}
		want, got := color.NRGBAModel.Convert(was.At(0, 0)), color.NRGBAModel.Convert(img.At(0, 0))
		if kind == "image/png" && got != want {
			t.Errorf("a pixel of %v became %v", want, got)
		}
	}
}

func TestLargeImagesAreScaledDown(t *testing.T) {
	t.Parallel()
	p, img := mustRead(t, asPNG(t, halves(2000, 100)), "image/png")
	if p.size() != "2000x100 shown at 1568x78" || p.MediaType != "image/png" {
		t.Errorf("%s %s", p.size(), p.MediaType)
	}
	if r, _, b, _ := img.At(100, 40).RGBA(); r < 0xf000 || b > 0x0fff {
		t.Error("the left is not red any more")
	}
	if p, _ := mustRead(t, asJPEG(t, halves(10, 3000)), "image/jpeg"); p.shownH != 1568 || p.MediaType != "image/jpeg" {
		t.Errorf("%s %s", p.size(), p.MediaType)
	}
	noise := image.NewNRGBA(image.Rect(0, 0, 1000, 900))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.Uint32())
	}
	if p, _ := mustRead(t, asPNG(t, noise), "image/png"); p.MediaType != "image/jpeg" {
		t.Errorf("noise of %d bytes is %s", len(p.Data), p.MediaType)
	}
}

func TestPhotographsAreTurnedUpright(t *testing.T) {
	t.Parallel()
	photo := asJPEG(t, halves(64, 32))
	red := map[uint16]image.Point{1: {2, 16}, 2: {61, 16}, 3: {61, 16}, 4: {2, 16}, 5: {16, 2}, 6: {16, 2},
		7: {16, 61}, 8: {16, 61}}
	for turn, at := range red {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			p, img := mustRead(t, withEXIF(photo, turn, order), "image/jpeg")
			if turn >= 5 && p.size() != "32x64" || turn < 5 && p.size() != "64x32" {
				t.Errorf("%d: %s", turn, p.size())
			}
			if r, _, b, _ := img.At(at.X, at.Y).RGBA(); r < 0xc000 || b > 0x4000 {
				t.Errorf("%d: the red half is not at %v", turn, at)
			}
			if bytes.Contains(p.Data, []byte("GPS")) || bytes.Contains(p.Data, []byte("Exif")) {
				t.Errorf("%d: EXIF is left", turn)
			}
		}
	}
}

// The first frame of an animation is shown.
func TestFirstFrames(t *testing.T) {
	t.Parallel()
	frames := &gif.GIF{}
	for _, c := range []color.Color{color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}} {
		frame := image.NewPaletted(image.Rect(0, 0, 8, 4), color.Palette{c})
		frames.Image, frames.Delay = append(frames.Image, frame), append(frames.Delay, 1)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, frames); err != nil {
		t.Fatal(err)
	}
	p, img := mustRead(t, b.Bytes(), "image/gif")
	if r, _, _, _ := img.At(1, 1).RGBA(); r != 0xffff || p.MediaType != "image/png" || p.size() != "8x4" {
		t.Errorf("%s %s, red %x", p.MediaType, p.size(), r)
	}
	chunk := func(name string, content []byte) []byte {
		c := append(binary.LittleEndian.AppendUint32([]byte(name), uint32(len(content))), content...)
		return append(c, make([]byte, len(content)%2)...)
	}
	extended := chunk("VP8X", append([]byte{0x02 | 0x08, 0, 0, 0}, make([]byte, 6)...))
	for _, still := range []string{webpLossy, webpLossless} {
		frame := chunk("ANMF", append(make([]byte, 16), unbase64(t, still)[12:]...))
		moving := webpFile(extended, chunk("ANIM", make([]byte, 6)), frame, frame, chunk("EXIF", []byte("GPS")))
		if p, _ := mustRead(t, moving, "image/webp"); p.size() != "1x1" || bytes.Contains(p.Data, []byte("GPS")) {
			t.Errorf("%s %s", p.MediaType, p.size())
		}
	}
}

// Images that would exhaust the memory, or break the conversation, are refused with words.
func TestImagesThatCannotBeShown(t *testing.T) {
	t.Parallel()
	bomb := asPNG(t, halves(1, 1))
	binary.BigEndian.PutUint32(bomb[16:], 1<<17)
	binary.BigEndian.PutUint32(bomb[20:], 1<<17)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	deep := asPNG(t, image.NewNRGBA64(image.Rect(0, 0, 1, 1)))
	binary.BigEndian.PutUint32(deep[16:], 6000)
	binary.BigEndian.PutUint32(deep[20:], 5000)
	binary.BigEndian.PutUint32(deep[29:], crc32.ChecksumIEEE(deep[12:29]))
	whole := asPNG(t, halves(40, 20))
	for name, test := range map[string]struct {
		data []byte
		kind string
		want string
	}{
		"too many pixels":  {bomb, "image/png", "more than 40 million pixels"},
		"16 bits a colour": {deep, "image/png", "more than 20 million pixels"},
		"cut off":          {whole[:len(whole)-30], "image/png", "not enough pixel data"},
		"only a head":      {[]byte("GIF89a\x01\x00\x01\x00\x80\x00"), "image/gif", "EOF"},
		"no JPEG":          {[]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00"), "image/jpeg", ""},
		"no WebP":          {[]byte("RIFF\x24\x00\x00\x00WEBPVP8 "), "image/webp", ""},
		"short WebP":       {[]byte("RIFF"), "image/webp", ""},
	} {
		if _, err := readImage(test.data, test.kind); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a file holds, the resulting image can be sent.
func FuzzImage(f *testing.F) {
	for _, data := range [][]byte{asPNG(f, halves(9, 3)), asJPEG(f, halves(9, 3)),
		withEXIF(asJPEG(f, halves(9, 3)), 6, binary.BigEndian), unbase64(f, webpLossy), unbase64(f, webpLossless)} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
			if len(data) > 1<<16 {
				return
			}
			if p, err := readImage(data, kind); err == nil {
				mustRead(t, data, kind)
				if again, err := readImage(p.Data, p.MediaType); err != nil || again.width != p.shownW ||
					again.height != p.shownH {
					t.Errorf("read again: %v, %d wide of %d", err, again.width, p.shownW)
				}
			}
		}
	})
}

// The least image tells how colours and transparency mix.
func TestShrinkIsTheMeanOfAnArea(t *testing.T) {
	t.Parallel()
	img := image.NewNRGBA(image.Rect(5, 7, 7, 9))
	img.Set(5, 7, color.NRGBA{200, 0, 0, 255})
	img.Set(6, 7, color.NRGBA{100, 40, 0, 255})
	img.Set(5, 8, color.NRGBA{0, 0, 255, 0}) // no colour at all
	img.Set(6, 8, color.NRGBA{0, 255, 0, 0})
	got, want := scaled(img, 1).(*image.RGBA).RGBAAt(0, 0), color.RGBA{75, 10, 0, 128}
	for i, v := range []uint8{got.R, got.G, got.B, got.A} {
		if math.Abs(float64(v)-float64([]uint8{want.R, want.G, want.B, want.A}[i])) > 1 {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// Whatever the sizes: one colour stays as it is to the edges, and the image as
// a whole gets neither brighter nor darker.
func TestShrinkKeepsTheWhole(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		w, h := 1+r.IntN(90), 1+r.IntN(90)
		edge := 1 + r.IntN(max(w, h))
		plain, noise := image.NewRGBA(image.Rect(0, 0, w, h)), image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range noise.Pix {
			plain.Pix[i], noise.Pix[i] = uint8(255-60*(i%4)), uint8(r.IntN(256))
			if i%4 == 3 { // opaque: others mix by their share of it
				plain.Pix[i], noise.Pix[i] = 255, 255
			}
		}
		for i, v := range scaled(plain, edge).(*image.RGBA).Pix {
			if want := plain.Pix[i%4]; math.Abs(float64(v)-float64(want)) > 1 {
				t.Fatalf("%dx%d to %d: byte %d is %d, want %d", w, h, edge, i, v, want)
			}
		}
		// The library rounds down, so each halving takes up to one of 255 away.
		small := scaled(noise, edge).(*image.RGBA)
		if d := math.Abs(mean(noise.Pix) - mean(small.Pix)); len(small.Pix) >= 400 && d > 3 {
			t.Errorf("%dx%d to %d: the mean moved by %.2f", w, h, edge, d)
		}
	}
}

func mean(pix []uint8) float64 {
	sum := 0.0
	for _, v := range pix {
		sum += float64(v)
	}
	return sum / float64(len(pix))
}

// An image that keeps its size keeps its pixels, and an edge between two areas
// stays where it is.
func TestShrinkKeepsPlaces(t *testing.T) {
	t.Parallel()
	img := image.NewRGBA(image.Rect(0, 0, 300, 100))
	for i := range img.Pix {
		if x := i / 4 % 300; x >= 100 || i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	if scaled(img, 300) != image.Image(img) {
		t.Error("the pixels changed with the size kept")
	}
	small := scaled(img, 90).(*image.RGBA)
	for x := range 90 {
		if v := small.RGBAAt(x, 15).R; x < 29 && v != 0 || x > 30 && v != 255 {
			t.Errorf("column %d is %d", x, v)
		}
	}
}

// Turning moves pixels and changes none: the inverse of a turn gives back the image.
func TestUprightKeepsEveryPixel(t *testing.T) {
	t.Parallel()
	img := image.NewRGBA(image.Rect(0, 0, 3, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(i*7) | uint8(i%4/3*255)
	}
	for turn, back := range map[int]int{2: 2, 3: 3, 4: 4, 5: 5, 6: 8, 7: 7, 8: 6} {
		turned := upright(img, turn).(*image.RGBA)
		if again := upright(turned, back).(*image.RGBA); string(again.Pix) != string(img.Pix) ||
			string(turned.Pix) == string(img.Pix) {
			t.Errorf("turn %d, then %d: %v, want %v", turn, back, again.Pix, img.Pix)
		}
	}
}
