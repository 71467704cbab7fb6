package provider

import (
	"context"
	"net/http"
	"time"
)

// Server is the way to a provider's server, the same for every wire. The zero
// value of every field but Name has a meaning.
type Server struct {
	Form
	Name    string // the configured name; reasoning goes back only to messages of the same name and model
	BaseURL string // may end in a version; "" means the provider's own, see Base
	// Key is asked before each request, inside its time limits; nil, or an
	// empty key, sends none. It goes into a header, never into the address.
	Key  func(context.Context) (string, error)
	HTTP *http.Client // nil means http.DefaultClient; redirects are never followed
	// Headers are sent with each request and win over the wire's own.
	Headers map[string]string
	// Idle is the longest silence between two bytes of a reply; before the first
	// byte twice as much is allowed. 0 means 5 minutes, or no limit for a Local
	// server, which may have to load its model first; negative, none.
	Idle           time.Duration
	RequestTimeout time.Duration // the whole of one request; 0 means no limit
	Local          bool          // the server is on a loopback or private address
	// Setting is what names BaseURL, for hints: a variable, or a place in a file;
	// "" where nothing does.
	Setting string
	Catalog *Catalog // facts of its models; nil means the built-in catalog
}

// Base is BaseURL, or the provider's own address; "" where none is known. Nothing
// is guessed: a key must not reach another vendor's server.
func (s Server) Base() string {
	if s.BaseURL != "" {
		return s.BaseURL
	}
	f, _ := FactsOf(s.Name)
	return f.BaseURL
}
