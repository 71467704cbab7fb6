package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size in bytes.
type Bytes int64

// String is the size in the largest binary unit that loses nothing.
func (b Bytes) String() string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	n, i := int64(b), 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return strconv.FormatInt(n, 10) + units[i]
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is not one of 1, true, yes, on, 0, false, no, off", text)
}

func parseInt(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return n, nil
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return f, nil
}

// parseDuration takes Go's notation and bare numbers, which are seconds.
func parseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		d := seconds * float64(time.Second)
		if math.IsNaN(d) || math.Abs(d) >= math.MaxInt64 {
			return 0, fmt.Errorf("%q is too long a time", text)
		}
		return time.Duration(d), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time like 90s, 10m or 1h30m", text)
	}
	return d, nil
}

// parseBytes takes a number and a unit: B, K M G T and KiB MiB GiB TiB count
// in 1024s, KB MB GB TB in 1000s.
func parseBytes(text string) (Bytes, error) {
	at := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	number, unit := text, ""
	if at >= 0 {
		number, unit = text[:at], strings.ToLower(strings.TrimSpace(text[at:]))
	}
	bad := fmt.Errorf("%q is not a size like 512KiB or 1GiB", text)
	factor := 1.0
	if unit != "" && unit != "b" {
		power := strings.IndexByte("kmgt", unit[0]) + 1
		base, ok := map[string]float64{"": 1024, "ib": 1024, "b": 1000}[unit[1:]]
		if power == 0 || !ok {
			return 0, bad
		}
		factor = math.Pow(base, float64(power))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, bad
	}
	if f*factor >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return Bytes(f * factor), nil
}

func (o *Option) parseEnum(text string) (string, error) {
	word := strings.ToLower(text)
	if other, choice, ok := strings.Cut(o.synonym, "="); ok && word == other {
		word = choice
	}
	if slices.Contains(o.Choices, word) {
		return word, nil
	}
	return "", fmt.Errorf("%q is not one of %s", text, strings.Join(o.Choices, ", "))
}

// splitList takes a list apart at newlines, and at commas that stand outside
// parentheses, since a rule may hold a comma inside its own.
func splitList(text string) []string {
	var elems []string
	depth, start := 0, 0
	add := func(end int) {
		if e := strings.TrimSpace(text[start:end]); e != "" {
			elems = append(elems, e)
		}
		start = end + 1
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == '\n':
			depth = 0
			add(i)
		case c == ',' && depth == 0:
			add(i)
		}
	}
	add(len(text))
	return elems
}

// formatDuration leaves the zero parts of Go's notation out: 5m, not 5m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
