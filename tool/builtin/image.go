package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/webp"

	"artoo/tool"
	"artoo/tool/files"
)

// What an image may be at most. The models' own limits are wider at first (5 MB
// in base64, 8,000 pixels), but get narrower the more images a conversation
// holds, and all scale down what is larger than about this.
const (
	maxImageFile = 30 << 20   // bytes of the file
	maxPixels    = 40_000_000 // bounds the memory of decoding
	imageEdge    = 1568       // pixels of the longer side that models are shown
	imageBytes   = 3_500_000  // and bytes
)

// shownImage is an image as models are shown it.
type shownImage struct {
	tool.Image
	width, height int
	shownW        int
	shownH        int
}

// size tells the dimensions, and those that are shown if they are others.
func (p shownImage) size() string {
	text := fmt.Sprintf("%dx%d", p.width, p.height)
	if p.width != p.shownW || p.height != p.shownH {
		text += fmt.Sprintf(" shown at %dx%d", p.shownW, p.shownH)
	}
	return text
}

// readImage makes of a PNG, JPEG, GIF or WebP what models can be shown: the
// first frame, upright, no larger than need be, and without what the file says
// beside the image, such as where it was taken. An image that is small enough
// keeps its very pixels, but for WebP, which not every server reads; one that
// cannot be decoded is an error, because a model's API would refuse the whole
// conversation for it.
func readImage(data []byte, kind string) (shownImage, error) {
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
		return shownImage{}, err
	}
	most := maxPixels
	if deepColor(c.ColorModel) {
		most /= 2
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > most/c.Height {
		return shownImage{}, fmt.Errorf("%dx%d are more than %d million pixels; make a smaller copy first", c.Width,
			c.Height, most/1_000_000)
	}
	img, err := decode(bytes.NewReader(data))
	if err != nil {
		return shownImage{}, err
	}
	turn := 1
	if kind == "image/jpeg" {
		turn = orientation(data)
	}
	img = upright(img, turn)
	p := shownImage{width: img.Bounds().Dx(), height: img.Bounds().Dy()}
	p.shownW, p.shownH = p.width, p.height
	if max(p.width, p.height) <= imageEdge && turn == 1 {
		if bare := stripped(data, kind); bare != nil && len(bare) <= imageBytes {
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

// encode scales the image down as far as it must be and writes it: what was a
// photograph as one, everything else without loss as long as that is small
// enough.
func (p *shownImage) encode(img image.Image, photo bool) error {
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

// opaque puts white behind an image: what is transparent has no colour of its own.
func opaque(img image.Image) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	to := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), img, img.Bounds().Min, draw.Over)
	return to
}

// upright turns a photograph as the camera says it was held: 1 is upright, 2 to
// 8 are the orientations of EXIF.
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

var errNoImage = errors.New("outside the project only images are attached (--add-dir opens further directories)")

// OwnImage shows the image at a full path that the user named, wherever it
// is; what is on the deny list, leads elsewhere by a link or is no image is an
// error. No tool of the model's may come to this.
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
