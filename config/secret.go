package config

import (
	"fmt"
	"io"
	"strings"
)

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
