// Package cloud proves the sender of a request to a cloud, by the credentials that its other tools use: Google's
// Application Default Credentials, and AWS's keys, profiles and roles.
package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"artoo/provider"
	"artoo/tool/environ"
)

// Options are the means to get credentials. Every field must be set.
type Options struct {
	Auth provider.Auth
	// Environ are artoo's own variables. The library for Google Cloud reads those of the process.
	Environ environ.Vars
	// HTTP asks the servers that give credentials. It must record nothing: their answers are secrets.
	HTTP *http.Client
	// Beside asks those beside this machine, without a proxy, and records nothing either.
	Beside *http.Client
	// Run runs a command of the user's by the shell and returns its output.
	Run func(ctx context.Context, command string) (string, error)
	// Secret is called with each secret before it is used, from any goroutine.
	Secret func(text string)
}

// Transport signs requests with a cloud's credentials, which it keeps until they expire, and fetches again where
// the server says that they have. Safe for concurrent use.
type Transport struct {
	next http.RoundTripper
	Options
	way way

	mu   sync.Mutex
	held *credentials
}

// way is how one of the clouds is spoken to.
type way interface {
	fetch(ctx context.Context) (*credentials, error)
	// sign adds headers to a request that has this body.
	sign(r *http.Request, body []byte, c *credentials, now time.Time) error
	// refused reports whether the answer is that the credentials are not, or no longer, known.
	refused(answer *http.Response) bool
}

// credentials prove the sender of requests. They are not changed once they are fetched.
type credentials struct {
	id, secret, token string
	account           string    // It is charged; may be "".
	region            string    // It is asked where the address names none; may be "".
	until             time.Time // zero: they do not expire
	source            string    // where they are from
}

// margin is how long before their end credentials are fetched again.
const margin = time.Minute

// New signs all that passes next.
func New(next http.RoundTripper, o Options) *Transport {
	t := &Transport{next: next, Options: o, way: google{o.Environ, o.HTTP}}
	if o.Auth == provider.AuthSigV4 {
		t.way = newAmazon(o)
	}
	return t
}

// Source says in a few words where the credentials are from, and fetches them if that was not done. Its errors
// are *provider.Error.
func (t *Transport) Source(ctx context.Context) (string, error) {
	c, err := t.credentials(ctx, nil)
	if err != nil {
		return "", err
	}
	return c.source, nil
}

// credentials are those in hand, unless they expire or are the ones that were refused.
func (t *Transport) credentials(ctx context.Context, refused *credentials) (*credentials, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.held; c != nil && c != refused && (c.until.IsZero() || time.Until(c.until) > margin) {
		return c, nil
	}
	c, err := t.way.fetch(ctx)
	if err != nil {
		return nil, err
	}
	t.Secret(c.secret)
	t.Secret(c.token)
	t.held = c
	return c, nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if closed := r.Body.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := t.credentials(r.Context(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := t.send(r, body, c)
	if err != nil || !t.way.refused(answer) {
		return answer, err
	}
	fresh, err := t.credentials(r.Context(), c)
	if err != nil || fresh.token == c.token && fresh.secret == c.secret {
		return answer, nil // the refusal itself says more
	}
	answer.Body.Close()
	return t.send(r, body, fresh)
}

func (t *Transport) send(r *http.Request, body []byte, c *credentials) (*http.Response, error) {
	signed := r.Clone(r.Context())
	if r.Body != nil {
		signed.Body, signed.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	if err := t.way.sign(signed, body, c, time.Now()); err != nil {
		return nil, err
	}
	return t.next.RoundTrip(signed)
}

// CloseIdleConnections passes the call on.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Files are the files with credentials that variables name: tools must not read them. Those at their usual places are
// secrets by their names.
func Files(vars environ.Vars) (paths []string) {
	for _, name := range []string{googleVariable, configVariable, credentialsVariable, tokenFile} {
		if path := vars.Get(name); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// none is the error where credentials are missing or of no use.
func none(why, hint string, err error) error {
	return &provider.Error{Kind: provider.KindAuth, Message: why, Hint: hint, Retry: new(false), Err: err}
}

// unreachable is the error of a server that should give credentials and fails, or refuses.
func unreachable(why, hint string, err error) error {
	said := err.Error()
	var status statusError
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if said = failed.Err.Error(); failed.Timeout() {
			said = "no answer in time"
		}
	}
	if errors.As(err, &status) && status < http.StatusInternalServerError {
		return none(why+": "+said, hint, err)
	}
	return &provider.Error{Kind: provider.KindNetwork, Message: why + ": " + said, Hint: hint, Err: err}
}
