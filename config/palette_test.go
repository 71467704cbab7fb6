package config

import (
	"math"
	"strconv"
	"testing"
)

// xterm are the colours 31 to 36 and 91 to 96 of xterm as it comes.
var xterm = map[int][3]float64{
	31: {205, 0, 0}, 32: {0, 205, 0}, 33: {205, 205, 0}, 34: {0, 0, 238}, 35: {205, 0, 205}, 36: {0, 205, 205},
	91: {255, 0, 0}, 92: {0, 255, 0}, 93: {255, 255, 0}, 94: {92, 92, 255}, 95: {255, 0, 255}, 96: {0, 255, 255},
}

// sights are how eyes without red, green or blue cones see linear colours, by Machado, Oliveira and Fernandes (2009).
var sights = map[string][3][3]float64{
	"all":     {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"no red":  {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"no blue": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	"no green": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881}},
}

// seen is a colour of xterm, linear, as a sight has it.
func seen(code int, sight [3][3]float64) (rgb [3]float64) {
	for to := range rgb {
		for from, v := range xterm[code] {
			v /= 255
			if v > 0.04045 {
				v = math.Pow((v+0.055)/1.055, 2.4)
			} else {
				v /= 12.92
			}
			rgb[to] += sight[to][from] * v
		}
		rgb[to] = min(1, max(0, rgb[to]))
	}
	return rgb
}

// light is the luminance of a linear colour.
func light(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// apart is how far two linear colours lie from each other in the CIE's Lab, where 2 is hardly to be seen.
func apart(a, b [3]float64) float64 {
	lab := func(c [3]float64) [3]float64 {
		f := func(t float64) float64 {
			if t > 0.008856 {
				return math.Cbrt(t)
			}
			return 7.787*t + 16.0/116
		}
		x, y, z := 0.4124*c[0]+0.3576*c[1]+0.1805*c[2], light(c), 0.0193*c[0]+0.1192*c[1]+0.9505*c[2]
		x, y, z = f(x/0.9505), f(y), f(z/1.089)
		return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
	}
	p, q := lab(a), lab(b)
	return math.Sqrt(math.Pow(p[0]-q[0], 2) + math.Pow(p[1]-q[1], 2) + math.Pow(p[2]-q[2], 2))
}

// stylesOf are the SGR numbers of a palette over the defaults of the screen.
func stylesOf(t *testing.T, palette string) map[string]int {
	t.Helper()
	styles, err := parseColors("you=36:ask=33:path=36:done=32:error=31:add=32:remove=31:code=35:" + palette)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for name, style := range styles {
		if codes[name], err = strconv.Atoi(style); err != nil {
			t.Fatal(err)
		}
	}
	return codes
}

// Each colour of the palette for light backgrounds has the contrast with white that WCAG asks of text.
func TestThePaletteLightReadsOnWhite(t *testing.T) {
	for name, code := range stylesOf(t, "light") {
		if ratio := 1.05 / (light(seen(code, sights["all"])) + 0.05); ratio < 4.5 {
			t.Errorf("%s, %d, has a contrast of %.1f on white", name, code, ratio)
		}
	}
}

// Good and bad stay apart for each kind of colour blindness, on black and on white; those of the default do not.
func TestThePaletteColorblindKeepsGoodAndBadApart(t *testing.T) {
	least := func(palette string) (least float64) {
		least = 1000
		styles := stylesOf(t, palette)
		for _, pair := range [][2]string{{"add", "remove"}, {"done", "error"}} {
			for _, sight := range sights {
				least = min(least, apart(seen(styles[pair[0]], sight), seen(styles[pair[1]], sight)))
			}
		}
		return least
	}
	if got := least("colorblind"); got < 100 {
		t.Errorf("colorblind has colours only %.0f apart", got)
	}
	if got := least("default"); got > 30 {
		t.Errorf("the default has %.0f: is colorblind needed?", got)
	}
	styles := stylesOf(t, "colorblind")
	for _, name := range []string{"add", "remove", "done", "error"} {
		for sight, matrix := range sights {
			l := light(seen(styles[name], matrix))
			if ratio := min((l+0.05)/0.05, 1.05/(l+0.05)); ratio < 3 {
				t.Errorf("%s has a contrast of %.1f with %s", name, ratio, sight)
			}
		}
	}
}
