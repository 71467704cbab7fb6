package config

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/tool/text"
)

// The types of settings. Decode reads a text as people write it, for variables too; String is for
// /config.
type (
	// Switch is on or off.
	Switch bool
	// Whole is a whole number.
	Whole int
	// Number may have a fraction.
	Number float64
	// Time is a duration.
	Time time.Duration
	// Bytes is a size in bytes.
	Bytes int64
	// List adds up over the places that set it.
	List []string
	// Order is a list that replaces an earlier one.
	Order []string
	// Tools is a list that replaces an earlier one, unless it is relative to it.
	Tools []string
)

// decoder is envconfig's.
type decoder interface{ Decode(text string) error }

// Decode implements envconfig.Decoder.
func (s *Switch) Decode(text string) error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true", "yes", "on":
		*s = true
	case "0", "false", "no", "off":
		*s = false
	default:
		return fmt.Errorf("%s is not one of 1, true, yes, on, 0, false, no, off", asWritten(text))
	}
	return nil
}

// Decode implements envconfig.Decoder.
func (w *Whole) Decode(text string) error {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is too large", asWritten(text))
	}
	if err != nil {
		return fmt.Errorf("%s is not a whole number", asWritten(text))
	}
	*w = Whole(n)
	return nil
}

// Decode implements envconfig.Decoder.
func (n *Number) Decode(text string) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%s is not a number", asWritten(text))
	}
	*n = Number(f)
	return nil
}

// String has no exponent.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'f', -1, 64) }

// Decode takes Go's notation and bare numbers, which are seconds.
func (t *Time) Decode(text string) error {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		d := seconds * float64(time.Second)
		if math.IsNaN(d) || math.Abs(d) >= math.MaxInt64 {
			return fmt.Errorf("%s is too long a time", asWritten(text))
		}
		*t = Time(d)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%s is not a time like 90s, 10m or 1h30m", asWritten(text))
	}
	*t = Time(d)
	return nil
}

// String leaves the zero parts of Go's notation out: 5m, not 5m0s.
func (t Time) String() string {
	s := time.Duration(t).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Decode takes a number and a unit: B, K M G T and KiB MiB GiB TiB in 1024s, KB MB GB TB in 1000s.
func (b *Bytes) Decode(text string) error {
	text = strings.TrimSpace(text)
	at := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	number, unit := text, ""
	if at >= 0 {
		number, unit = text[:at], strings.ToLower(strings.TrimSpace(text[at:]))
	}
	bad := fmt.Errorf("%s is not a size like 512KiB or 1GiB", asWritten(text))
	factor := 1.0
	if unit != "" && unit != "b" {
		power := strings.IndexByte("kmgt", unit[0]) + 1
		base, ok := map[string]float64{"": 1024, "ib": 1024, "b": 1000}[unit[1:]]
		if power == 0 || !ok {
			return bad
		}
		factor = math.Pow(base, float64(power))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return bad
	}
	if f*factor >= math.MaxInt64 {
		return fmt.Errorf("%s is too large", asWritten(text))
	}
	*b = Bytes(f * factor)
	return nil
}

// String is the size in the largest binary unit that loses nothing.
func (b Bytes) String() string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	n, i := int64(b), 0
	for n != 0 && n%1024 == 0 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return strconv.FormatInt(n, 10) + units[i]
}

// adder is a setting of several elements.
type adder interface{ add(elements []string) }

// Decode implements envconfig.Decoder.
func (l *List) Decode(text string) error { l.add(splitList(text)); return nil }

func (l *List) add(elements []string) { *l = append(*l, elements...) }

// String is all elements in one line.
func (l List) String() string { return strings.Join(l, ", ") }

// Decode implements envconfig.Decoder.
func (o *Order) Decode(text string) error { o.add(splitList(text)); return nil }

func (o *Order) add(elements []string) { *o = elements }

// String is all elements in one line.
func (o Order) String() string { return strings.Join(o, ", ") }

// Decode implements envconfig.Decoder.
func (t *Tools) Decode(text string) error { t.add(splitList(text)); return nil }

func (t *Tools) add(elements []string) {
	if !relative(elements) {
		*t = nil
	}
	*t = append(*t, elements...)
}

// String is all elements in one line.
func (t Tools) String() string { return strings.Join(t, ", ") }

// relative reports whether every element adds or takes away.
func relative(elements []string) bool {
	absolute := func(e string) bool { return !strings.HasPrefix(e, "+") && !strings.HasPrefix(e, "-") }
	return len(elements) > 0 && !slices.ContainsFunc(elements, absolute)
}

// splitList splits a list at newlines, and at commas outside the parentheses of rules.
func splitList(list string) []string { return text.Outside(list, ",") }

// asWritten quotes a wrong value for an error, unless it may be a key that was put into the wrong setting.
func asWritten(text string) string {
	const digits, longestWord = "0123456789", 20
	mixed := strings.ContainsAny(text, digits) && strings.Trim(text, digits+".- ") != ""
	if len(text) > longestWord || mixed && len(text) >= 8 {
		return "the value"
	}
	return strconv.Quote(text)
}

// hidden stands wherever a secret would be printed.
const hidden = "[hidden]"

// Secret is a key or a header value. It shows as a mask however it is
// printed; only Reveal gives it away. The text is behind a pointer, so that a
// struct that hides a Secret in an unexported field prints an address at most.
type Secret struct{ text *string }

// NewSecret wraps text; the empty text gives the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Decode takes a key over, without the space around it.
func (s *Secret) Decode(text string) error { *s = NewSecret(strings.TrimSpace(text)); return nil }

// Reveal returns the secret itself, "" when there is none.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether both hold the same text.
func (s Secret) Equal(t Secret) bool { return s.Reveal() == t.Reveal() }

// String is the mask, "" when there is no secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return hidden
}

// Format prints the mask for every verb, also for those that do not ask String.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, s.String()) // a State has nowhere to report an error to
}

// MarshalText is the mask; encoders of JSON, TOML and logs use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
