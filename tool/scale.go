package tool

import (
	"image"
	"image/draw"
	"math"
)

// shrink scales a picture down to w by h pixels, which are no more than it has:
// each new pixel is the mean of the area that it covers, with what is transparent
// counted as having no colour. golang.org/x/image/draw does the same and more,
// but brings 150 KB of code for pictures that are turned and enlarged.
func shrink(img image.Image, w, h int) *image.RGBA {
	from := img.Bounds()
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	row := image.NewRGBA(image.Rect(0, 0, from.Dx(), 1))
	cols := shares(from.Dx(), w)
	sums := make([]float32, 4*w) // of the new row that is under way
	for y, s := range shares(from.Dy(), h) {
		draw.Draw(row, row.Rect, img, image.Pt(from.Min.X, from.Min.Y+y), draw.Src)
		addRow(sums, row.Pix, cols, s.first)
		if s.rest > 0 || s.ends {
			finishRow(to.Pix[s.at*to.Stride:], sums)
			addRow(sums, row.Pix, cols, s.rest)
		}
	}
	return to
}

// share is how an old row or column goes into the new ones: first of it into the
// one at, rest into the one behind. Each new one gets 1 in all.
type share struct {
	at          int
	first, rest float32
	ends        bool // the new one at is complete
}

// shares spreads n old rows or columns over m ≤ n new ones.
func shares(n, m int) []share {
	out := make([]share, n)
	part := float64(m) / float64(n) // of a new one that an old one covers
	for i := range out {
		begin := i * m / n
		end := ((i+1)*m - 1) / n // both in whole numbers, so that nothing falls between
		s := share{at: begin, first: float32(part), ends: (i+1)*m%n == 0}
		if end > begin {
			into := float64((i+1)*m-end*n) / float64(n)
			s.first, s.rest = float32(part-into), float32(into)
		}
		out[i] = s
	}
	return out
}

// addRow adds a share of an old row, made narrower, to the sums.
func addRow(sums []float32, pix []uint8, cols []share, weight float32) {
	if weight == 0 {
		return
	}
	for x, c := range cols {
		old, to := pix[4*x:4*x+4], sums[4*c.at:]
		for i, v := range old {
			to[i] += float32(v) * c.first * weight
			if c.rest > 0 {
				to[4+i] += float32(v) * c.rest * weight
			}
		}
	}
}

// finishRow writes the sums and begins anew.
func finishRow(pix []uint8, sums []float32) {
	for i, v := range sums {
		pix[i] = uint8(math.Round(float64(min(v, 255))))
	}
	clear(sums)
}
