package redact

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
)

// Any part of a known key is found, joined or cut, and nothing else is.
func TestPartsOfAKnownKeyAreMasked(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	der = append(der, der...) // several lines
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	lines := strings.Split(strings.TrimSpace(key), "\n")
	var p Parts
	mark := func(string) string { return "M" }
	if got := p.Mask(lines[1], mark); got != lines[1] {
		t.Errorf("unknown: %s", got)
	}
	p.Learn("a text\n" + key)
	for text, want := range map[string]string{
		lines[1]: "M", lines[1][5:40] + "\n": "M\n", "2:" + lines[1] + "\n3:" + lines[2]: "2:M\n3:M", strings.Join(lines[1:3], "") + " x": "M x",
		"x" + lines[1][3:30]: "xM", lines[len(lines)-2]: "M", "sha512-" + strings.Repeat("aB3/", 22): "sha512-" + strings.Repeat("aB3/", 22), "plain": "plain", "": "",
	} {
		if got := p.Mask(text, mark); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzPartsLeaveOtherTextsAlone(f *testing.F) {
	f.Add("some text ‹secret:1› 0123456789abcdefABCDEF+/==")
	var p Parts
	p.Learn("-----BEGIN PRIVATE KEY-----\nMIIBVAIBADANBgkqhkiG9w0BAQEFAASCAT4wggE6AgEAAkEAq7BFUpkGp3+LQmlQ\n-----END PRIVATE KEY-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := p.Mask(text, func(string) string { return "M" }); !strings.Contains(got, "M") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
