package builtin

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"
)

// The least image tells how colours and transparency mix.
func TestShrinkIsTheMeanOfAnArea(t *testing.T) {
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

// Turning moves pixels and changes none: what undoes a turn gives back the image.
func TestUprightKeepsEveryPixel(t *testing.T) {
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
