package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
	texts "artoo/tool/text"
)

// askLimit is the longest one question to a server may take.
const askLimit = 15 * time.Second

// maxSkew is how far the clock may be off for certificates and tokens to hold.
const maxSkew = 2 * time.Minute

// Server is a provider to be asked something cheap, by its Name, Form, Headers and Base.
type Server struct {
	provider.Server
	Model string
	// Key is the key and the place it came from, both "" when it works without.
	Key     func(context.Context) (key, source string, err error)
	Offline bool // ARTOO_OFFLINE: a name that leads far away may not even be found
}

// Verdict is a server's verdict on a key.
type Verdict int

// The verdicts.
const (
	Unknown  Verdict = iota // it could not be asked, or did not say
	Accepted                // it answered as those with a key are answered
	Refused
)

// Answer is a server's answer.
type Answer struct {
	Verdict Verdict
	Finding Finding
	Host    string
	Date    time.Time // the server's clock; zero when it did not say
}

// Ask sends the one cheap request that needs a key, and costs nothing: a list of
// models, or the facts of the key. client is not nil.
func Ask(ctx context.Context, client *http.Client, s Server) Answer {
	const topic = "provider"
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if s.Base() == "" {
		return Answer{Finding: failure(topic, provider.NoAddress(s.Name, s.Form))}
	}
	key, source, err := s.Key(ctx)
	if e := provider.AsError(err); e != nil && e.Provider == "" {
		of := *e
		of.Provider, err = s.Name, &of
	}
	if err != nil {
		return Answer{Finding: failure(topic, err)}
	}
	r, err := s.request(ctx, key)
	if err != nil {
		return Answer{Finding: fail(topic, "an address such as https://host/v1", "%s: the base URL is not an address",
			s.Name)}
	}
	a := Answer{Host: r.URL.Host}
	// A redirect could take the key to a server that the user did not name.
	asking := *cmp.Or(s.HTTP, client) // which may sign its requests
	asking.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	began := time.Now()
	reply, err := asking.Do(r)
	if err != nil {
		a.Finding = s.unreachable(a.Host, err)
		return a
	}
	defer reply.Body.Close()
	// Its content is of no interest, but the connection should come to an end.
	_, _ = io.CopyN(io.Discard, reply.Body, 1<<20)
	took := time.Since(began)
	if date, err := http.ParseTime(reply.Header.Get("Date")); err == nil {
		a.Date = date
	}
	a.Verdict, a.Finding = s.judge(reply, source, a.Host, took)
	return a
}

// request is the cheap question.
func (s Server) request(ctx context.Context, key string) (*http.Request, error) {
	check := s.Check(s.Name)
	path := cmp.Or(check.Path, "models")
	base, err := url.Parse(strings.TrimSpace(s.Base()))
	if err != nil {
		return nil, err
	}
	if base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("no address")
	}
	if check.FromRoot {
		base.Path, base.RawPath = "", ""
	}
	if check.Control {
		base.Host = provider.BedrockControl(base.Host)
	}
	for _, end := range []string{"/chat/completions", "/responses", "/messages"} {
		base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), end)
	}
	if first, rest, more := strings.Cut(path, "/"); more && strings.HasSuffix(base.Path, "/"+first) {
		path = rest // the version is part of the address already
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "artoo")
	for name, text := range check.Headers {
		r.Header.Set(name, text)
	}
	s.Sign(r.Header, key, cmp.Or(check.Auth, provider.AuthBearer))
	for name, text := range s.Headers {
		r.Header.Set(name, text)
	}
	return r, nil
}

// judge sorts the answer.
func (s Server) judge(reply *http.Response, source, host string, took time.Duration) (Verdict, Finding) {
	const topic = "provider"
	status := reply.StatusCode
	page := strings.HasPrefix(reply.Header.Get("Content-Type"), "text/html")
	from := ""
	if source != "" {
		from = " from " + source
	}
	refused := status == 401 || status == 403 || status == 400 && s.Check(s.Name).BadRequest
	switch {
	case page && status != 404:
		return Unknown, fail(topic, "check "+s.setting()+" and HTTPS_PROXY; a network with a login page needs that first",
			"%s: %s sent a web page instead of an answer (%d)", s.Name, host, status)
	case status/100 == 2:
		with := ""
		if s.Keyless() {
			with = ", with the credentials" + from
		}
		return Accepted, ok(topic, "%s answers at %s in %d ms%s%s", s.Name, host, took.Milliseconds(), secured(reply.TLS), with)
	case refused && s.Keyless():
		return Refused, fail(topic, "allow this account to use the models, or use other credentials than those"+from,
			"%s refuses the credentials%s (%d)", s.Name, from, status)
	case refused && source == "":
		return Refused, fail(topic, "artoo login "+s.Name, "%s wants a key (%d)", s.Name, status)
	case refused:
		return Refused, fail(topic, "artoo login "+s.Name+", or fix the key"+from, "%s refuses the key%s (%d)",
			s.Name, from, status)
	case status == 402:
		return Accepted, fail(topic, "add credit with the provider, or choose another with --provider",
			"%s: no credit (%d)", s.Name, status)
	case status == 429:
		return Unknown, warn(topic, "again in a few minutes", "%s: a limit is reached (%d)", s.Name, status)
	case status == 404 || status == 405 || status == 501:
		return Unknown, warn(topic, "check the address if requests fail: many servers want it to end in /v1",
			"%s answers at %s, but lists no models there (%d)%s", s.Name, host, status, secured(reply.TLS))
	case status/100 == 3:
		return Unknown, fail(topic, "set "+s.setting()+" to the address itself", "%s: %s redirects elsewhere (%d)",
			s.Name, host, status)
	case status >= 500:
		return Unknown, warn(topic, "again later", "%s: %s fails (%d)", s.Name, host, status)
	}
	return Unknown, warn(topic, "check "+s.setting(), "%s: %s answers with status %d", s.Name, host, status)
}

// setting is the place of the address.
func (s Server) setting() string { return cmp.Or(s.Setting, "ARTOO_BASE_URL") }

// secured names the issuer that vouches for a connection, as a proxy that looks into it.
func secured(state *tls.ConnectionState) string {
	if state == nil {
		return ", not encrypted"
	}
	text := ", " + tls.VersionName(state.Version)
	if len(state.PeerCertificates) > 0 {
		text += ", certificate from " + issuer(state.PeerCertificates[0])
	}
	return text
}

func issuer(c *x509.Certificate) string {
	name := c.Issuer
	switch {
	case len(name.Organization) > 0 && name.CommonName != "":
		return name.Organization[0] + " (" + name.CommonName + ")"
	case len(name.Organization) > 0:
		return name.Organization[0]
	case name.CommonName != "":
		return name.CommonName
	}
	return "an unnamed issuer"
}

// unreachable says why there is no answer. The words of the error are those
// below the address, which may hold a password.
func (s Server) unreachable(host string, err error) Finding {
	const topic = "provider"
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	var verify *tls.CertificateVerificationError
	var dns *net.DNSError
	var op *net.OpError
	var worded interface{ ErrorHint() string }
	switch {
	case errors.As(err, &worded):
		return fail(topic, worded.ErrorHint(), "%s: %v", s.Name, err)
	case errors.As(err, &verify):
		by := "an unnamed issuer"
		if n := len(verify.UnverifiedCertificates); n > 0 {
			by = issuer(verify.UnverifiedCertificates[n-1])
		}
		fix := "if that is your company's or your own authority, set ARTOO_CA_FILE to its certificate (PEM)"
		var invalid x509.CertificateInvalidError
		if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			fix = "check this computer's clock, then the server"
		}
		return fail(topic, fix, "%s: the certificate of %s is not trusted, its issuer is %s: %v", s.Name, host, by,
			verify.Err)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fail(topic, "check HTTPS_PROXY and NO_PROXY", "%s: the proxy does not answer: %v", s.Name, err)
	case errors.As(err, &dns):
		fix := "check the network, HTTPS_PROXY and " + s.setting()
		if s.Offline {
			fix = unsetOffline
		}
		return fail(topic, fix, "%s: %s cannot be looked up", s.Name, dns.Name)
	case errors.Is(err, context.DeadlineExceeded):
		return fail(topic, "check the network and HTTPS_PROXY", "%s: %s did not answer within %s", s.Name,
			host, askLimit)
	}
	f := failure(topic, fmt.Errorf("%s: %s cannot be reached: %w", s.Name, host, err))
	if f.Fix == "" {
		f.Fix = "check the network, HTTPS_PROXY and " + s.setting()
		if s.BaseURL != "" {
			f.Fix = "is the server running? Or check the address"
		}
	}
	return f
}

// CheckServer asks the chosen server. err says why there is none, and no client means that
// nothing may be asked.
func CheckServer(s *Server, err error, client *http.Client) Check {
	const topic = "provider"
	if err != nil {
		f := failure(topic, err)
		f.Text = strings.TrimPrefix(f.Text, topic+": ")
		return found(f)
	}
	chosen := ok(topic, "%s, model %s", s.Name, s.Model)
	if client == nil {
		return found(chosen, ok(topic, "%s was not contacted", s.Name))
	}
	return func(ctx context.Context) []Finding {
		a := Ask(ctx, client, *s)
		return append([]Finding{chosen, a.Finding}, clock(time.Now(), a)...)
	}
}

// unsetOffline is the advice where ARTOO_OFFLINE stands in the way.
const unsetOffline = "unset ARTOO_OFFLINE, or use a server on this machine or network"

func clock(now time.Time, a Answer) []Finding {
	if a.Date.IsZero() {
		return nil
	}
	off := now.Sub(a.Date).Round(time.Second)
	which := "ahead of"
	if off < 0 {
		off, which = -off, "behind"
	}
	if off <= maxSkew {
		return []Finding{ok("clock", "agrees with that of %s", a.Host)}
	}
	return []Finding{warn("clock", "set the clock by the network, such as with timedatectl set-ntp true",
		"this computer's clock is %s %s that of %s", off, which, a.Host)}
}

// localLimit is the longest that all questions to a local server may take.
const localLimit = 5 * time.Second

// smallWindow is the size of an agent's prompt, tools and a few files, in tokens.
const smallWindow = 16 << 10

// LocalServer is one of the user's own models to be asked about its windows.
type LocalServer struct {
	Provider provider.Facts // its Local is not nil
	Host     provider.LocalHost
	Address  string // http://host:port
	Named    bool   // the user named its address: it should be there
	Model    string // the chosen one; "" when another provider is chosen
	Window   int    // the settings ask for it; 0 when they do not
}

// Check asks the server for its version and its models.
func (o *LocalServer) Check(ctx context.Context) []Finding {
	topic := o.Provider.Name
	ctx, cancel := context.WithTimeout(ctx, localLimit)
	defer cancel()
	version, err := o.Host.Version(ctx)
	if err != nil {
		fix := o.Provider.Local.Start + ", or " + o.Provider.URLVar + " if it is elsewhere"
		switch {
		case o.Model != "":
			return []Finding{fail(topic, fix, "no server answers at %s: %s", o.Address, o.why(err))}
		case o.Named:
			return []Finding{warn(topic, fix, "no server answers at %s: %s", o.Address, o.why(err))}
		}
		return []Finding{ok(topic, "no server answers at %s", o.Address)}
	}
	found := []Finding{ok(topic, "version %s at %s", version, o.Address)}
	if o.Model != "" {
		found = append(found, o.window(ctx))
	}
	return append(found, o.running(ctx)...)
}

// window compares the window of requests with the model's limit.
func (o *LocalServer) window(ctx context.Context) Finding {
	topic := o.Provider.Name
	limit, own, err := o.Host.Windows(ctx, o.Model)
	if err != nil {
		return fail(topic, o.Provider.Local.Fetch+" "+o.Model, "%s: %s", o.Model, o.why(err))
	}
	set, by := o.Window, "your settings"
	if set == 0 {
		set, by = own, "its Modelfile"
	}
	if limit > 0 {
		set = min(set, limit)
	}
	table := fmt.Sprintf("context = %d in [provider.%s.models.%q] of config.toml", min(32<<10, max(limit, smallWindow)),
		topic, o.Model)
	switch {
	case limit > 0 && limit < smallWindow:
		return warn(topic, "a model with a larger window",
			"%s takes at most %d tokens, too few for a long task",
			o.Model, limit)
	case set > 0 && set < smallWindow:
		return warn(topic, table, "%s has a window of %d tokens (from %s), at most %s",
			o.Model, set, by, orUnknown(limit))
	case set > 0:
		return ok(topic, "%s has a window of %d tokens (from %s), at most %s", o.Model, set, by, orUnknown(limit))
	}
	if limit == 0 {
		return ok(topic, "%s does not report its largest window; artoo asks for the size it needs", o.Model)
	}
	return ok(topic, "%s takes %d tokens; artoo asks for the size it needs", o.Model, limit)
}

func orUnknown(n int) string {
	if n == 0 {
		return "an unknown number"
	}
	return strconv.Itoa(n)
}

// running looks at the loaded model: one beyond the graphics card is many times slower.
func (o *LocalServer) running(ctx context.Context) []Finding {
	topic := o.Provider.Name
	models, err := o.Host.Loaded(ctx)
	if err != nil {
		return []Finding{warn(topic, "update "+o.Provider.Local.Title, "the loaded models are unknown: %s", o.why(err))}
	}
	var found []Finding
	for _, m := range models {
		text := fmt.Sprintf("%s is loaded, %s", m.Name, texts.Bytes(m.Size))
		if m.Context > 0 {
			text += fmt.Sprintf(", with a window of %d tokens", m.Context)
		}
		if m.Graphics > 0 && m.Graphics < m.Size {
			found = append(found, warn(topic, "a smaller model or window",
				"%s, %d%% of it outside the graphics card, which is slow", text, 100-m.Graphics*100/m.Size))
			continue
		}
		found = append(found, ok(topic, "%s", text))
	}
	return found
}

// why is the text of a server's error, without the topic of the line.
func (o *LocalServer) why(err error) string {
	return strings.TrimPrefix(err.Error(), o.Provider.Name+": ")
}

// Fallback is a model of a setting that others take the place of where it cannot be asked.
type Fallback struct {
	Topic, Name string // The user wrote the name so.
	// Check returns the model with its provider, and why it would be skipped. It asks no server.
	Check func(ctx context.Context) (model string, err error)
}

// CheckFallbacks looks whether such models can be asked.
func CheckFallbacks(list []Fallback) Check {
	return func(ctx context.Context) (findings []Finding) {
		for _, f := range list {
			model, err := f.Check(ctx)
			if err == nil {
				findings = append(findings, ok(f.Topic, "%s", model))
				continue
			}
			skipped := failure(f.Topic, fmt.Errorf("%s would be skipped: %w", f.Name, err))
			skipped.Level = Warn
			findings = append(findings, skipped)
		}
		return findings
	}
}
