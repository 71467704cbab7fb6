package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// takenOutKey is the key of the place for a result that is taken out.
type takenOutKey struct{}

// takenOut is the result of a request for a list or a resource. The library keeps results as long as the
// connection lives, by any key that the server gives: so it never sees their contents.
func takenOut[R any](ctx context.Context, do func(ctx context.Context) (*R, error)) (*R, error) {
	var place any
	r, err := do(context.WithValue(ctx, takenOutKey{}, &place))
	if whole, ok := place.(*R); ok {
		r = whole
	}
	return r, err
}

// takeOut is the middleware of takenOut.
func takeOut(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		r, err := next(ctx, method, req)
		place, ok := ctx.Value(takenOutKey{}).(*any)
		if err != nil || !ok {
			return r, err
		}
		*place = r
		switch r := r.(type) {
		case *sdk.ListToolsResult:
			// By these the library adds headers to calls.
			kept := &sdk.ListToolsResult{}
			for _, t := range r.Tools {
				if t != nil && hasHeaders(t) {
					kept.Tools = append(kept.Tools, t)
				}
			}
			return kept, nil
		case *sdk.ListResourcesResult:
			return &sdk.ListResourcesResult{}, nil
		case *sdk.ListResourceTemplatesResult:
			return &sdk.ListResourceTemplatesResult{}, nil
		case *sdk.ListPromptsResult:
			return &sdk.ListPromptsResult{}, nil
		case *sdk.ReadResourceResult:
			return &sdk.ReadResourceResult{}, nil
		}
		return r, nil
	}
}

// hasHeaders reports whether a tool wants arguments in headers. One that is too large is not offered.
func hasHeaders(t *sdk.Tool) bool {
	raw, err := json.Marshal(t.InputSchema)
	return err == nil && len(raw) <= maxSchema && bytes.Contains(raw, []byte(`"x-mcp-header"`))
}
