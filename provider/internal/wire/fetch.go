package wire

import (
	"context"
	"fmt"
	"io"

	"artoo/provider"
)

// maxDocument is how large a document may be that is no reply of a model, in
// bytes: descriptions and lists of models.
const maxDocument = 16 << 20

// Fetch sends one request and reads the whole of its answer, a JSON document.
// Its errors are *provider.Error, as those of Stream.
func Fetch(ctx context.Context, e Endpoint, r Request) ([]byte, error) {
	c := newCall(ctx, e)
	defer c.close()
	if err := c.post(r); err != nil {
		return nil, c.fail(err, provider.Usage{})
	}
	data, err := io.ReadAll(io.LimitReader(c.body, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		no := false
		err = &provider.Error{Kind: provider.KindProvider, Retry: &no, Message: fmt.Sprintf("the answer is larger than %d MiB", maxDocument>>20)}
	}
	if err != nil {
		return nil, c.fail(err, provider.Usage{})
	}
	return data, nil
}

// DecodeList is Decode for a list of models; its error is a *provider.Error.
func DecodeList(e Endpoint, data []byte, v any) error {
	if err := Decode(data, v); err != nil {
		return &provider.Error{Kind: provider.KindProvider, Provider: e.Name, Local: e.Local, Message: "the list of models makes no sense: " + err.Error(), Err: err}
	}
	return nil
}
