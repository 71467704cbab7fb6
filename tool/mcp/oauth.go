package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"artoo/tool/shell"
)

// Tokens keeps logins, by a key for each server's address. Its methods may be called
// on any goroutine.
type Tokens interface {
	// Load returns the kept data, nil for none.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save keeps data; nil forgets.
	Save(ctx context.Context, key string, data []byte) error
	// Lock keeps other processes and goroutines from renewing the same token until unlock is called.
	Lock(ctx context.Context, key string) (unlock func(), err error)
}

// login is a token, with the address and the client that renew it. It belongs to a resource and an issuer: a
// token is only ever sent to the server that it was made for, and renewed while that names the same issuer.
type login struct {
	Resource string           `json:"resource"`
	Issuer   string           `json:"issuer"`
	Metadata string           `json:"resource_metadata,omitempty"` // the address at which the server named the issuer; "" for the usual places
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Style    oauth2.AuthStyle `json:"style,omitempty"`
	TokenURL string           `json:"token_url"`
	Scopes   []string         `json:"scopes,omitempty"`
	Token    *oauth2.Token    `json:"token"`
}

// address is the URL with its variables replaced.
func (s *server) address() (string, error) { return s.expand(s.URL) }

// issuer is where the login came from that is in use, "" for none.
func (s *server) issuer() string {
	s.secret.Lock()
	defer s.secret.Unlock()
	if s.logged == nil {
		return ""
	}
	return s.logged.Issuer
}

// use makes a login, which may be nil, the one in use; secret is held. A list made with the
// login of another issuer is dropped. Its pins stay: they only restrict.
func (s *server) use(l *login) {
	s.logged = l
	if c := s.catalogue(); l != nil && c.Issuer != l.Issuer && !c.Listed.IsZero() {
		s.store(&catalogue{Issuer: l.Issuer, Pinned: c.Pinned, Shown: c.Shown})
	}
}

// resource is the address that a server's tokens are for.
func (s *server) resource() string {
	address, err := s.address()
	if err != nil {
		return s.URL // It is never asked: the error is that of its start.
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

func (s *server) needsLogin(why string) error {
	return &Error{Server: s.Name, Kind: KindAuth, Why: why, Hint: "artoo mcp login " + s.Name}
}

// bearer is the token for the next request, "" for none.
func (s *server) bearer(ctx context.Context) (string, error) {
	switch {
	case s.TokenEnv != "":
		token, _ := lookupIn(s.m.config.Environ)(s.TokenEnv)
		if token = strings.TrimSpace(token); token == "" {
			return "", &Error{Server: s.Name, Kind: KindAuth, Why: "its token is missing: " + s.TokenEnv + " is not set", Hint: "export " + s.TokenEnv + "=…"}
		}
		return token, nil
	case s.TokenCommand != "":
		return s.commanded(ctx, s.TokenCommand, "token")
	}
	l, err := s.login(ctx)
	if err != nil || l == nil {
		return "", err
	}
	if l.Token.Valid() || l.Token.RefreshToken == "" {
		return l.Token.AccessToken, nil
	}
	if l, err = s.refresh(ctx, l.Token.AccessToken, l.Metadata); err != nil {
		return "", err
	}
	return l.Token.AccessToken, nil
}

// commanded is the first line of a command's output, which is the server's token or another secret. It runs once in a run.
func (s *server) commanded(ctx context.Context, command, what string) (string, error) {
	s.secret.Lock()
	defer s.secret.Unlock()
	if known := s.outputs[command]; known != "" {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := s.m.config.Own.Command(ctx, "sh", "-c", command)
	shell.OwnGroup(cmd)
	cmd.Env = s.m.config.Environ
	out, err := cmd.Output()
	token, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || token == "" {
		return "", &Error{Server: s.Name, Kind: KindAuth, Why: "the command for its " + what + " printed none", Err: err, Hint: command}
	}
	if s.outputs == nil {
		s.outputs = map[string]string{}
	}
	s.outputs[command] = token
	return token, nil
}

// login is the kept login, nil for none.
func (s *server) login(ctx context.Context) (*login, error) {
	s.secret.Lock()
	defer s.secret.Unlock()
	if s.logged != nil {
		return s.logged, nil
	}
	l, err := s.load(ctx)
	s.use(l)
	return l, err
}

func (s *server) load(ctx context.Context) (*login, error) {
	if s.m.config.Tokens == nil || s.ignoreKept {
		return nil, nil
	}
	data, err := s.m.config.Tokens.Load(ctx, s.resource())
	if err != nil || data == nil {
		return nil, err
	}
	l := &login{}
	if json.Unmarshal(data, l) != nil || l.Token == nil || l.Resource != s.resource() {
		return nil, nil // another version wrote it; the user logs in again
	}
	return l, nil
}

func (s *server) save(ctx context.Context, l *login) error {
	s.use(l)
	s.ignoreKept = false
	if s.m.config.Tokens == nil {
		return nil
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return s.m.config.Tokens.Save(ctx, s.resource(), data)
}

// issuers are the issuers that a server names in its metadata, which may lie at the address metadata; nil where it has
// none.
func (s *server) issuers(ctx context.Context, metadata string) []string {
	u, err := url.Parse(s.resource())
	if err != nil {
		return nil
	}
	at := func(path string) string { return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}).String() }
	for _, place := range []struct{ metadata, resource string }{
		{metadata, s.resource()},
		{at("/.well-known/oauth-protected-resource/" + strings.TrimLeft(u.Path, "/")), s.resource()},
		{at("/.well-known/oauth-protected-resource"), at("")},
	} {
		if place.metadata == "" {
			continue
		}
		// The library, which reads metadata again at a login, also finds no issuer in unreadable metadata.
		if found, err := oauthex.GetProtectedResourceMetadata(ctx, place.metadata, place.resource, s.m.httpClient()); err == nil && found != nil {
			return found.AuthorizationServers
		}
	}
	return nil
}

// refresh renews a token that is not valid any more. One process renews it, the others read
// its result. A login of an issuer that the server, by its metadata, does not name any more is forgotten.
func (s *server) refresh(ctx context.Context, rejected, metadata string) (*login, error) {
	s.secret.Lock()
	defer s.secret.Unlock()
	if s.m.config.Tokens != nil {
		unlock, err := s.m.config.Tokens.Lock(ctx, s.resource())
		if err != nil {
			return nil, err
		}
		defer unlock()
		l, err := s.load(ctx)
		if err != nil {
			return nil, err
		}
		s.use(l) // Another process may have logged out.
	}
	l := s.logged
	if l == nil {
		return nil, s.needsLogin("the login has ended")
	}
	if l.Token.AccessToken != rejected && l.Token.Valid() {
		return l, nil
	}
	if named := s.issuers(ctx, metadata); named != nil && !slices.Contains(named, l.Issuer) {
		return nil, errors.Join(s.needsLogin("needs a new login: its login server has changed"), s.forget(ctx))
	}
	if l.Token.RefreshToken == "" {
		return nil, s.needsLogin("the login has ended")
	}
	token, err := l.renew(ctx, s.m.httpClient())
	if err != nil {
		if _, refused := errors.AsType[*refusal](err); refused {
			return nil, s.needsLogin("the login has ended")
		}
		return nil, err
	}
	renewed := *l
	renewed.Token = token
	return &renewed, s.save(ctx, &renewed)
}

// refusal is the answer of a token endpoint that gave no token.
type refusal struct{ code string }

// Error names the code alone: the rest is the server's own text.
func (r *refusal) Error() string { return "the token was not renewed: " + oneLine(r.code) }

// renew asks for a new token by the refresh token.
func (l *login) renew(ctx context.Context, client *http.Client) (*oauth2.Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Token.RefreshToken}, "resource": {l.Resource}}
	inHeader := l.Secret != "" && l.Style != oauth2.AuthStyleInParams
	if !inHeader {
		form.Set("client_id", l.ClientID)
		if l.Secret != "" {
			form.Set("client_secret", l.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if inHeader {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.Secret))
	}
	straight := *client // A redirect would take the secrets of the form elsewhere.
	straight.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := straight.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var got struct {
		AccessToken  string      `json:"access_token"`
		TokenType    string      `json:"token_type"`
		RefreshToken string      `json:"refresh_token"`
		ExpiresIn    json.Number `json:"expires_in"`
		Error        string      `json:"error"`
	}
	parsed := json.Unmarshal(body, &got) == nil
	switch { // some servers report errors with the status 200
	case parsed && got.Error != "", resp.StatusCode >= 400 && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
		return nil, &refusal{cmp.Or(got.Error, http.StatusText(resp.StatusCode))}
	case resp.StatusCode != http.StatusOK, !parsed, got.AccessToken == "":
		return nil, fmt.Errorf("the login server answers %d without a token", resp.StatusCode)
	}
	token := &oauth2.Token{AccessToken: got.AccessToken, TokenType: got.TokenType, RefreshToken: cmp.Or(got.RefreshToken, l.Token.RefreshToken)}
	if seconds, err := got.ExpiresIn.Int64(); err == nil && seconds > 0 {
		token.Expiry = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	return token, nil
}

// authorize makes a request that was refused with this token worth sending again: by renewing the
// token, or by a login of the user. again is false where it would be refused again.
func (s *server) authorize(req *http.Request, resp *http.Response, token string) (again bool, err error) {
	ctx := req.Context()
	stepUp := resp.StatusCode == http.StatusForbidden
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		challenges = nil // without them the usual places are tried
	}
	if stepUp && !slices.ContainsFunc(challenges, func(c oauthex.Challenge) bool { return c.Params["error"] == "insufficient_scope" }) {
		return false, nil
	}
	switch {
	case s.TokenEnv != "" || s.TokenCommand != "":
		return false, &Error{Server: s.Name, Kind: KindAuth, Why: "refuses the token", Hint: "renew " + cmp.Or(s.TokenEnv, s.TokenCommand)}
	case len(s.Headers) > 0 && slices.ContainsFunc(sortedKeys(s.Headers), func(name string) bool { return strings.EqualFold(name, "Authorization") }):
		return false, &Error{Server: s.Name, Kind: KindAuth, Why: "refuses the header Authorization", Hint: "renew the variable in it"}
	}
	metadata := ""
	for _, c := range challenges {
		metadata = cmp.Or(metadata, c.Params["resource_metadata"])
	}
	if token != "" && !stepUp {
		if _, err := s.refresh(ctx, token, metadata); err == nil {
			return true, nil
		} else if s.m.config.Login == nil || !isAuth(err) {
			return false, err
		}
	}
	if s.m.config.Login == nil {
		if stepUp {
			return false, s.needsLogin("needs a login with more rights")
		}
		return false, s.needsLogin("needs a login")
	}
	s.signing.Lock() // one login at a time
	defer s.signing.Unlock()
	if now, err := s.login(ctx); err == nil && now != nil && token != now.Token.AccessToken {
		return true, nil // another request was faster
	}
	h, err := s.handler(ctx, s.issuerNow(ctx, metadata), metadata)
	if err != nil {
		return false, err
	}
	if err := h.Authorize(ctx, req, resp); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, &Error{Server: s.Name, Kind: KindAuth, Why: "the login failed", Err: err, Hint: "artoo mcp login " + s.Name}
	}
	return true, nil
}

// issuerNow is the issuer at which the library logs in: the first that the server names, else the server itself.
func (s *server) issuerNow(ctx context.Context, metadata string) string {
	if named := s.issuers(ctx, metadata); len(named) > 0 {
		return named[0]
	}
	u, err := url.Parse(s.resource())
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// handler is the library's, which finds the server of the login and asks for the token. issuer and metadata are those of
// the login that it makes.
func (s *server) handler(ctx context.Context, issuer, metadata string) (*auth.AuthorizationCodeHandler, error) {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:           s.m.config.Redirect,
		RequestRefreshToken:   true,
		AcceptUnadvertisedIss: true, // a right issuer is one, whether or not it was announced
		Client:                s.m.httpClient(),
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return s.fetch(ctx, args.URL)
		},
		ScopeFilter: func(wanted []string) []string {
			s.secret.Lock()
			defer s.secret.Unlock()
			if s.logged == nil || s.logged.Issuer != issuer {
				return wanted
			}
			all := slices.Clone(s.logged.Scopes)
			for _, scope := range wanted {
				if !slices.Contains(all, scope) {
					all = append(all, scope)
				}
			}
			return all
		},
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			s.secret.Lock()
			defer s.secret.Unlock()
			l := &login{Resource: s.resource(), Issuer: issuer, Metadata: metadata, ClientID: c.ClientID, Secret: c.ClientSecret, Style: c.Endpoint.AuthStyle,
				TokenURL: c.Endpoint.TokenURL, Scopes: c.Scopes, Token: token}
			return oauth2.StaticTokenSource(token), s.save(ctx, l)
		},
	}
	switch {
	case s.ClientID != "":
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.ClientID}
		secret, err := s.clientSecret(ctx)
		if err != nil {
			return nil, err
		}
		if secret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
	default:
		if s.m.config.Metadata != "" {
			c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: s.m.config.Metadata}
		}
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "artoo", ApplicationType: "native", RedirectURIs: []string{s.m.config.Redirect},
			GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none"}}
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// clientSecret is the secret of the server's client, "" for none.
func (s *server) clientSecret(ctx context.Context) (string, error) {
	switch {
	case s.ClientSecretCommand != "":
		return s.commanded(ctx, s.ClientSecretCommand, "client secret")
	case s.ClientSecretEnv == "":
		return "", nil
	}
	secret, _ := lookupIn(s.m.config.Environ)(s.ClientSecretEnv)
	if secret == "" {
		return "", &Error{Server: s.Name, Kind: KindAuth, Why: s.ClientSecretEnv + " is not set", Hint: "export " + s.ClientSecretEnv + "=…"}
	}
	return secret, nil
}

// fetch has the user log in, and reads the address that the browser was sent to in the end.
func (s *server) fetch(ctx context.Context, address string) (*auth.AuthorizationResult, error) {
	s.asking.Store(true)
	redirected, err := s.m.config.Login(ctx, s.Name, address)
	s.asking.Store(false)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.TrimSpace(redirected))
	if err != nil {
		return nil, errors.New("the address after the login is invalid")
	}
	q := u.Query()
	r := &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}
	switch { // the fields beside an error may come from another server than the one asked
	case q.Get("error") != "":
		return nil, errors.New("the login server refused it")
	case r.Code == "":
		return nil, errors.New("the address after the login has no code")
	}
	return r, nil
}

// Login has the user log in to a server anew. An earlier login is not used; it is kept until the new one replaces it.
func (m *Manager) Login(ctx context.Context, server string) error {
	s, err := m.find(server)
	if err != nil {
		return err
	}
	if s.URL == "" || s.TokenEnv != "" || s.TokenCommand != "" {
		return &Error{Server: s.Name, Kind: KindUsage, Why: "has no login", Hint: "artoo mcp list"}
	}
	s.setIgnoreKept(true)
	defer s.setIgnoreKept(false)
	if _, err := s.ready(ctx); err != nil {
		return err
	}
	if l, err := s.login(ctx); err != nil {
		return err
	} else if l == nil {
		return &Error{Server: s.Name, Kind: KindUsage, Why: "did not ask for a login", Hint: "artoo mcp tools " + s.Name}
	}
	return nil
}

// setIgnoreKept leaves the kept login unread, or lets it be read again.
func (s *server) setIgnoreKept(ignore bool) {
	s.secret.Lock()
	defer s.secret.Unlock()
	if s.ignoreKept = ignore; ignore {
		s.logged = nil
	}
}

// Logout forgets the login to a server, and reports whether there was one.
func (m *Manager) Logout(ctx context.Context, server string) (was bool, err error) {
	s, err := m.find(server)
	if err != nil {
		return false, err
	}
	s.secret.Lock()
	defer s.secret.Unlock()
	l, err := s.load(ctx)
	s.logged = nil
	if err != nil || l == nil {
		return false, err
	}
	return true, s.forget(ctx)
}

// forget leaves nothing of the login; secret is held.
func (s *server) forget(ctx context.Context) error {
	s.logged = nil
	if s.m.config.Tokens == nil {
		return nil
	}
	return s.m.config.Tokens.Save(ctx, s.resource(), nil)
}
