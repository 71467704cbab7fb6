package wire

import (
	"context"
	"fmt"
	"io"

	"artoo/provider"
)

// maxDocument bounds a description or list of models, in bytes.
const maxDocument = 16 << 20

// Fetch sends one request and reads its JSON document. Its errors are *provider.Error.
func Fetch(ctx context.Context, s provider.Server, r Request) ([]byte, error) {
	c := newCall(ctx, Endpoint{Server: s})
	defer c.close()
	if err := c.post(r); err != nil {
		return nil, c.fail(err, provider.Usage{})
	}
	data, err := io.ReadAll(io.LimitReader(c.body, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = &provider.Error{Kind: provider.KindProvider, Retry: new(false),
			Message: fmt.Sprintf("the answer is larger than %d MiB", maxDocument>>20)}
	}
	if err != nil {
		return nil, c.fail(err, provider.Usage{})
	}
	return data, nil
}

// List fetches a list of models into v, within provider.ListTimeout.
func List(ctx context.Context, s provider.Server, r Request, v any) error {
	s.RequestTimeout = provider.ListTimeout
	data, err := Fetch(ctx, s, r)
	if err == nil {
		err = DecodeList(s, data, v)
	}
	return err
}

// DecodeList is Decode for a list of models; its error is a *provider.Error.
func DecodeList(s provider.Server, data []byte, v any) error {
	if err := Decode(data, v); err != nil {
		return named(Nonsense("the list of models", err), s)
	}
	return nil
}

// Pages fetches a paged list: request asks for the page behind a token, "" for the first;
// take returns the token of the next, "" after the last.
func Pages[Page any](ctx context.Context, s provider.Server, request func(token string) (Request, error),
	take func(Page) string,
) error {
	const most = 20 // ends a list that never does
	token := ""
	for range most {
		r, err := request(token)
		if err != nil {
			return err
		}
		var page Page
		if err := List(ctx, s, r, &page); err != nil {
			return err
		}
		next := take(page)
		if next == "" || next == token {
			break
		}
		token = next
	}
	return nil
}
