package wire

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"artoo/provider"
)

// Key asks key, or nil for none, for the provider's key. Its errors are mostly of kind auth.
func Key(ctx context.Context, key func(context.Context) (string, error)) (string, error) {
	if key == nil {
		return "", nil
	}
	k, err := key(ctx)
	if err != nil {
		var known kinded
		switch {
		case provider.AsError(err) != nil || ctx.Err() != nil:
			return "", err
		case errors.As(err, &known):
			return "", &provider.Error{Kind: provider.ErrorKind(known.ErrorKind()), Message: err.Error(),
				Hint: known.ErrorHint(), Retry: new(false), Err: err}
		}
		return "", &provider.Error{Kind: provider.KindAuth, Message: err.Error(), Err: err}
	}
	k = strings.TrimSpace(k)
	for _, r := range k {
		if r < ' ' || r > '~' {
			return "", &provider.Error{Kind: provider.KindAuth,
				Message: "the key holds a line break or another character no key has",
				Hint:    "store the key again, without quotes and line breaks"}
		}
	}
	return k, nil
}

// Join puts an API path behind a base URL, without doubling a part that the base ends in. The
// base's query stays.
func Join(base string, path ...string) (string, error) {
	u, err := parseBase(base)
	switch {
	case err != nil:
		return "", err
	case u.Scheme != "http" && u.Scheme != "https":
		return "", badBase("it must begin with http:// or https://")
	case u.Host == "":
		return "", badBase("it names no host")
	}
	have := strings.Split(strings.Trim(u.Path, "/"), "/")
	for n := len(path); n > 0; n-- {
		if len(have) >= n && strings.Join(have[len(have)-n:], "/") == strings.Join(path[:n], "/") {
			path = path[n:]
			break
		}
	}
	return u.JoinPath(path...).String(), nil
}

func parseBase(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, badBase(urlProblem(address, err))
	}
	return u, nil
}

func badBase(why string) error {
	return &provider.Error{Kind: provider.KindConfig, Message: "bad base URL: " + why,
		Hint: "ARTOO_BASE_URL is an address such as https://host/v1"}
}

// Query adds to the query of an address.
func Query(address string, more url.Values) (string, error) {
	u, err := parseBase(address)
	if err != nil {
		return "", err
	}
	query := u.Query()
	for k, v := range more {
		query[k] = v
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// named puts the provider's name into the error of a request that was never sent.
func named(err error, s provider.Server) error {
	if known := provider.AsError(err); known != nil && known.Provider == "" {
		named := *known
		named.Provider, named.Local = s.Name, s.Local
		return &named
	}
	return err
}

// Ask is a request without a body to a path below an address, with the key and the user's headers.
func Ask(ctx context.Context, s provider.Server, base string, own provider.Auth, path ...string) (Request, error) {
	if base == "" {
		return Request{}, named(provider.NoAddress(s.Name, s.Form), s)
	}
	address, err := Join(base, path...)
	if err != nil {
		return Request{}, named(err, s)
	}
	key, err := Key(ctx, s.Key)
	if err != nil {
		return Request{}, named(err, s)
	}
	h := http.Header{}
	s.Sign(h, key, own)
	for k, v := range s.Headers {
		h.Set(k, v)
	}
	return Request{URL: address, Header: h, Secret: key}, nil
}

// elsewhere is the address of a request at another path, with the queries of both.
func elsewhere(address, base, path string) (string, error) {
	to, err := url.Parse(path)
	if err != nil {
		return "", &provider.Error{Kind: provider.KindConfig, Message: "bad path: " + err.Error(), Hint: "check path in config.toml"}
	}
	was, err := parseBase(address)
	if err != nil {
		return "", err
	}
	u, err := parseBase(base)
	if err != nil {
		return "", err
	}
	query := was.Query()
	maps.Copy(query, to.Query())
	u = u.JoinPath(to.EscapedPath())
	u.RawQuery = query.Encode()
	return u.String(), nil
}
