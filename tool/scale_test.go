package tool

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"
)

// The least picture tells how colours and transparency mix.
func TestShrinkIsTheMeanOfAnArea(t *testing.T) {
	img := image.NewNRGBA(image.Rect(5, 7, 7, 9))
	img.Set(5, 7, color.NRGBA{200, 0, 0, 255})
	img.Set(6, 7, color.NRGBA{100, 40, 0, 255})
	img.Set(5, 8, color.NRGBA{0, 0, 255, 0}) // no colour at all
	img.Set(6, 8, color.NRGBA{0, 255, 0, 0})
	if got, want := shrink(img, 1, 1).RGBAAt(0, 0), (color.RGBA{75, 10, 0, 128}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Whatever the sizes: one colour stays as it is to the edges, and the picture as
// a whole gets neither brighter nor darker.
func TestShrinkKeepsTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		w, h := 1+r.IntN(90), 1+r.IntN(90)
		nw, nh := 1+r.IntN(w), 1+r.IntN(h)
		plain, noise := image.NewRGBA(image.Rect(0, 0, w, h)), image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range noise.Pix {
			plain.Pix[i], noise.Pix[i] = uint8(255-60*(i%4)), uint8(r.IntN(256))
		}
		for i, v := range shrink(plain, nw, nh).Pix {
			if want := uint8(255 - 60*(i%4)); v != want {
				t.Fatalf("%dx%d to %dx%d: byte %d is %d, want %d", w, h, nw, nh, i, v, want)
			}
		}
		if d := math.Abs(mean(noise.Pix) - mean(shrink(noise, nw, nh).Pix)); d > 0.5 {
			t.Errorf("%dx%d to %dx%d: the mean moved by %.2f", w, h, nw, nh, d)
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

// A picture that keeps its size keeps its pixels, and an edge between two areas
// stays where it is.
func TestShrinkKeepsPlaces(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 300, 100))
	for i := range img.Pix {
		if x := i / 4 % 300; x >= 100 || i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	if same := shrink(img, 300, 100); string(same.Pix) != string(img.Pix) {
		t.Error("the pixels changed with the size kept")
	}
	small := shrink(img, 90, 30)
	for x := range 90 {
		if v := small.RGBAAt(x, 15).R; x < 30 && v != 0 || x >= 30 && v != 255 {
			t.Errorf("column %d is %d", x, v)
		}
	}
}
