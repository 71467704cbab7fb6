package listing

import (
	"context"
	"net/url"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// Vertex lists the models that Google Cloud's Vertex has of the vendor of a wire, in its own order and without those
// that talks excludes by their IDs.
func Vertex(ctx context.Context, s provider.Server, w provider.Wire, talks func(id string) bool) (list []provider.ModelInfo, err error) {
	type page struct {
		Models []struct {
			Name string `json:"name"` // publishers/google/models/x
		} `json:"publisherModels"`
		Next string `json:"nextPageToken"`
	}
	request := func(token string) (wire.Request, error) {
		r, err := wire.Ask(ctx, s, s.Base(), s.Auth)
		if err != nil {
			return r, err
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			return r, err
		}
		query := url.Values{"pageSize": {"100"}}
		if token != "" {
			query.Set("pageToken", token)
		}
		u.Path, u.RawPath, u.RawQuery = "/"+provider.VertexModels(w), "", query.Encode()
		r.URL = u.String()
		return r, nil
	}
	err = wire.Pages(ctx, s, request, func(p page) string {
		for _, m := range p.Models {
			id := m.Name[strings.LastIndexByte(m.Name, '/')+1:]
			if talks(id) {
				list = append(list, Model{ID: id}.Info(s))
			}
		}
		return p.Next
	})
	return list, err
}
