package builtin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/webp"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/text"
)

// Limits of an image. The models' own limits are wider at first (5 MB in base64, 8,000 pixels), but get
// narrower the more images a conversation holds, and all scale down images larger than about this.
const (
	maxImageFile = 30 << 20   // bytes of the file
	maxPixels    = 40_000_000 // bounds the memory of decoding
	imageEdge    = 1568       // pixels of the longer side that models are shown
	imageBytes   = 3_500_000  // and bytes
)

// picture is an image as models are shown it.
type picture struct {
	tool.Image
	width, height int
	shownW        int
	shownH        int
}

// size gives the dimensions, and those that are shown if they are others.
func (p picture) size() string {
	text := fmt.Sprintf("%dx%d", p.width, p.height)
	if p.width != p.shownW || p.height != p.shownH {
		text += fmt.Sprintf(" shown at %dx%d", p.shownW, p.shownH)
	}
	return text
}

// shownImage is the result of reading the image of a file of this size, and of this kind and
// name. The error continues a sentence, too.
func shownImage(data []byte, kind string, size int64, name string) (tool.Result, error) {
	p, err := readImage(data, kind)
	if err != nil {
		return tool.Result{}, fmt.Errorf("an image (%s, %s) that cannot be shown: %w", kind, text.Bytes(size), err)
	}
	p.Name = strings.ToValidUTF8(name, "\uFFFD")
	return tool.Result{
		Text:    fmt.Sprintf("an image (%s, %s, %s)", kind, p.size(), text.Bytes(size)),
		Images:  []tool.Image{p.Image},
		Summary: fmt.Sprintf("image, %dx%d, %s", p.width, p.height, text.Bytes(size)),
	}, nil
}

// readImage makes an image for models of a PNG, JPEG, GIF or WebP: the first frame, upright, no larger than needed, and
// without the file's metadata, such as the place it was taken. An image that is small enough keeps its exact pixels,
// except WebP, which not every server reads. One that cannot be decoded is an error: a model's API would refuse the
// whole conversation.
func readImage(data []byte, kind string) (picture, error) {
	decode, config := png.Decode, png.DecodeConfig
	switch kind {
	case "image/jpeg":
		decode, config = jpeg.Decode, jpeg.DecodeConfig
	case "image/gif":
		decode, config = gif.Decode, gif.DecodeConfig // the first frame
	case "image/webp":
		decode, config = webp.Decode, webp.DecodeConfig
		data = firstFrame(data)
	}
	c, err := config(bytes.NewReader(data))
	if err != nil {
		return picture{}, err
	}
	most := maxPixels
	if deepColor(c.ColorModel) {
		most /= 2
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > most/c.Height {
		return picture{}, fmt.Errorf("%dx%d are more than %d million pixels; make a smaller copy first", c.Width,
			c.Height, most/1_000_000)
	}
	img, err := decode(bytes.NewReader(data))
	if err != nil {
		return picture{}, err
	}
	turn := 1
	if kind == "image/jpeg" {
		turn = orientation(data)
	}
	img = upright(img, turn)
	p := picture{width: img.Bounds().Dx(), height: img.Bounds().Dy()}
	p.shownW, p.shownH = p.width, p.height
	if kind == "image/jpeg" && turn == 1 && max(p.width, p.height) <= imageEdge {
		if bare := strippedJPEG(data); bare != nil && len(bare) <= imageBytes {
			p.Image = tool.Image{MediaType: kind, Data: bare}
			return p, nil
		}
	}
	_, lossy := img.(*image.YCbCr) // JPEGs are, and WebPs that are written like them.
	return p, p.encode(img, kind == "image/jpeg" || lossy)
}

// deepColor says that a pixel takes twice the memory of others: 16 bits a colour.
func deepColor(m color.Model) bool {
	return m == color.NRGBA64Model || m == color.RGBA64Model
}

// encode scales the image down and writes it, without loss where it is no photo and small enough.
func (p *picture) encode(img image.Image, photo bool) error {
	for edge := imageEdge; edge >= 64; edge /= 2 {
		small := scaled(img, edge)
		p.shownW, p.shownH = small.Bounds().Dx(), small.Bounds().Dy()
		var b bytes.Buffer
		if !photo {
			if err := png.Encode(&b, small); err != nil {
				return err
			}
			if p.Image = (tool.Image{MediaType: "image/png", Data: b.Bytes()}); b.Len() <= imageBytes {
				return nil
			}
		}
		for _, quality := range []int{85, 60} {
			b = bytes.Buffer{}
			if err := jpeg.Encode(&b, opaque(small), &jpeg.Options{Quality: quality}); err != nil {
				return err
			}
			if p.Image = (tool.Image{MediaType: "image/jpeg", Data: b.Bytes()}); b.Len() <= imageBytes {
				return nil
			}
		}
	}
	return errors.New("it cannot be made small enough")
}

// scaled brings the longer side down to edge, by halves: the mean of four pixels.
// BiLinear does it at one go, but with 32 bytes for each pixel of a column of the
// old and a row of the new size, 150 MB for a photograph of 12 million pixels.
func scaled(img image.Image, edge int) image.Image {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	long := max(w, h)
	if long <= edge {
		return img
	}
	toW, toH := max(1, (w*edge+long/2)/long), max(1, (h*edge+long/2)/long)
	for w > toW || h > toH {
		w, h = max(w/2, toW), max(h/2, toH)
		half := image.NewRGBA(image.Rect(0, 0, w, h))
		draw.ApproxBiLinear.Scale(half, half.Bounds(), img, img.Bounds(), draw.Src, nil)
		img = half
	}
	return img
}

// opaque puts white behind an image: transparent pixels have no colour of their own.
func opaque(img image.Image) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	to := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), img, img.Bounds().Min, draw.Over)
	return to
}

// upright turns a photograph by its EXIF orientation, 1 (upright) to 8.
func upright(img image.Image, turn int) image.Image {
	if turn <= 1 || turn > 8 {
		return img
	}
	w, h := float64(img.Bounds().Dx()), float64(img.Bounds().Dy())
	move := [...]f64.Aff3{
		2: {-1, 0, w, 0, 1, 0},
		3: {-1, 0, w, 0, -1, h},
		4: {1, 0, 0, 0, -1, h},
		5: {0, 1, 0, 1, 0, 0},
		6: {0, -1, h, 1, 0, 0},
		7: {0, -1, h, -1, 0, w},
		8: {0, 1, 0, -1, 0, w},
	}[turn]
	if turn >= 5 { // the sides change places
		w, h = h, w
	}
	to := image.NewRGBA(image.Rect(0, 0, int(w), int(h)))
	draw.NearestNeighbor.Transform(to, move, img, img.Bounds(), draw.Src, nil)
	return to
}

var errNoImage = errors.New("outside the project, only images can be attached (--add-dir opens more directories)")

// OwnImage shows the image at a full path that the user named, wherever it is; a denied path, a link that leads
// elsewhere or a file that is no image is an error. No tool of the model's may call this.
func OwnImage(ctx context.Context, f *files.Files, path string) (tool.Result, error) {
	beside, err := f.Beside(filepath.Dir(path))
	if err != nil {
		return tool.Result{}, err
	}
	defer beside.Close() // only read from
	result, err := runRead(ctx, &tool.Env{Files: beside}, readInput{Path: path, Limit: 1}, io.Discard)
	if err == nil && len(result.Images) == 0 {
		err = errNoImage
	}
	return result, err
}

const (
	jpegEnd        = 0xd9
	jpegScan       = 0xda
	jpegApp0       = 0xe0
	jpegApp15      = 0xef
	jpegComment    = 0xfe
	jpegProfile    = 0xe2
	jpegAdobe      = 0xee // names the colour space
	exifSegment    = 0xe1
	orientationTag = 0x0112
)

// strippedJPEG drops the data of applications, and bytes behind the image.
func strippedJPEG(data []byte) []byte {
	out := append(make([]byte, 0, len(data)), data[:2]...)
	for s := (jpegScanner{data: data, at: 2}); ; {
		marker, segment, ok := s.next()
		switch {
		case !ok:
			return nil
		case marker == jpegEnd:
			return append(out, 0xff, jpegEnd)
		case marker == jpegComment,
			marker == jpegProfile && !bytes.HasPrefix(segment[4:], []byte("ICC_PROFILE\x00")),
			marker > jpegApp0 && marker <= jpegApp15 && marker != jpegProfile && marker != jpegAdobe:
		default:
			out = append(out, segment...)
		}
	}
}

// jpegScanner goes through the segments of a JPEG.
type jpegScanner struct {
	data []byte
	at   int
}

// next is the next segment with its marker and length, a scan with its pixels; ok is false at the end.
func (s *jpegScanner) next() (marker byte, segment []byte, ok bool) {
	for s.at+1 < len(s.data) && s.data[s.at] == 0xff && s.data[s.at+1] == 0xff { // padding
		s.at++
	}
	if s.at+2 > len(s.data) || s.data[s.at] != 0xff {
		return 0, nil, false
	}
	if marker = s.data[s.at+1]; marker == jpegEnd {
		return marker, s.data[s.at : s.at+2], true
	}
	if s.at+4 > len(s.data) {
		return 0, nil, false
	}
	end := s.at + 2 + int(binary.BigEndian.Uint16(s.data[s.at+2:]))
	if end < s.at+4 || end > len(s.data) {
		return 0, nil, false
	}
	if marker == jpegScan {
		for ; ; end++ {
			if end+1 >= len(s.data) {
				return 0, nil, false
			}
			if next := s.data[end+1]; s.data[end] == 0xff && next != 0 && next != 0xff && (next < 0xd0 || next > 0xd7) {
				break // neither a byte of the pixels nor a restart mark
			}
		}
	}
	segment = s.data[s.at:end]
	s.at = end
	return marker, segment, true
}

// orientation is how EXIF says a photograph has to be turned, 1 for not at all.
func orientation(data []byte) int {
	for s := (jpegScanner{data: data, at: 2}); ; {
		marker, segment, ok := s.next()
		if !ok || marker == jpegScan || marker == jpegEnd {
			return 1
		}
		if marker != exifSegment {
			continue
		}
		if tiff, ok := bytes.CutPrefix(segment[4:], []byte("Exif\x00\x00")); ok {
			return tiffOrientation(tiff)
		}
	}
}

func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == orientationTag {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
			break
		}
		entries = entries[12:]
	}
	return 1
}

// webpChunks yields the chunks of a WebP with their heads and padding.
func webpChunks(data []byte, yield func(name string, chunk []byte) bool) {
	for len(data) >= 8 {
		n := uint64(binary.LittleEndian.Uint32(data[4:]))
		end := min(8+n+n%2, uint64(len(data)))
		if 8+n > uint64(len(data)) || !yield(string(data[:4]), data[:end]) {
			return
		}
		data = data[end:]
	}
}

func webpFile(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), bytes.Join(chunks, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// firstFrame makes a still image of an animated WebP.
func firstFrame(data []byte) []byte {
	if len(data) < 12 {
		return data
	}
	still := data
	webpChunks(data[12:], func(name string, chunk []byte) bool {
		const frameHead = 16 // where it stands, how long, how it is mixed
		if name != "ANMF" {
			return true
		}
		if len(chunk) < 8+frameHead {
			return false
		}
		head, frame := chunk[8:8+frameHead], chunk[8+frameHead:]
		// An image of several chunks begins with flags and its size.
		extended := append(binary.LittleEndian.AppendUint32([]byte("VP8X"), 10), 0, 0, 0, 0)
		extended = append(extended, head[6:12]...)
		var chunks [][]byte
		webpChunks(frame, func(name string, chunk []byte) bool {
			switch name {
			case "ALPH":
				extended[8] |= 0x10
				chunks = append(chunks, chunk)
			case "VP8 ", "VP8L":
				chunks = append(chunks, chunk)
				return false
			}
			return true
		})
		still = webpFile(append([][]byte{extended}, chunks...)...)
		return false
	})
	return still
}
