// Package converse speaks the ConverseStream API of Amazon Bedrock.
package converse

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// Provider asks models through ConverseStream. Its fields must not change once it is in use; several goroutines may
// use it. A field that a model refuses is left out from then on and the request sent again, with a Notice where
// something is lost.
type Provider struct {
	provider.Server // BaseURL is that of a region's bedrock-runtime

	learned wire.Memory
}

var _ provider.Structurer = (*Provider)(nil)

// Structures implements provider.Structurer.
func (p *Provider) Structures(req provider.Request) bool {
	return format(req, p.learned.Of(req.Model)) != nil
}

// Stream implements provider.Provider.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return wire.RetryAdapted(ctx, wire.Exchange{
		Endpoint: wire.Endpoint{Server: p.Server, Frames: true}, API: wire.Converse, Request: req, Memory: &p.learned,
		Prepare: func(ctx context.Context) (wire.Request, error) {
			// The signature is made of the colon's escape, which AWS's own clients send too.
			model := strings.ReplaceAll(url.PathEscape(req.Model), ":", "%3A")
			return wire.Ask(ctx, p.Server, p.Base(), provider.AuthBearer, "model", model, "converse-stream")
		},
		Encode:  func(l wire.Learned, _ http.Header) ([]byte, error) { return encode(p.Name, req, l) },
		Decoder: func() wire.Decoder { return &decoder{Reply: wire.ReplyTo(p.Name, req), model: req.Model} },
	})
}

var _ provider.Lister = (*Provider)(nil)

// Models implements provider.Lister: the models that can be called by their name, then the region's profiles.
func (p *Provider) Models(ctx context.Context) (list []provider.ModelInfo, err error) {
	var models struct {
		List []struct {
			ID      string   `json:"modelId"`
			Title   string   `json:"modelName"`
			Input   []string `json:"inputModalities"`
			Output  []string `json:"outputModalities"`
			Streams bool     `json:"responseStreamingSupported"`
			Called  []string `json:"inferenceTypesSupported"`
		} `json:"modelSummaries"`
	}
	type page struct {
		List []struct {
			ID    string `json:"inferenceProfileId"`
			Title string `json:"inferenceProfileName"`
		} `json:"inferenceProfileSummaries"`
		Next string `json:"nextToken"`
	}
	r, err := p.control(ctx, "foundation-models", url.Values{"byOutputModality": {"TEXT"}})
	if err == nil {
		err = wire.List(ctx, p.Server, r, &models)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range models.List {
		if !m.Streams || !strings.Contains(strings.Join(m.Called, " "), "ON_DEMAND") {
			continue
		}
		info := listing.Model{ID: m.ID, Title: m.Title}.Info(p.Server)
		info.Images = strings.Contains(strings.Join(m.Input, " "), "IMAGE")
		list = append(list, info)
	}
	err = wire.Pages(ctx, p.Server, func(token string) (wire.Request, error) {
		query := url.Values{"maxResults": {"1000"}}
		if token != "" {
			query.Set("nextToken", token)
		}
		return p.control(ctx, "inference-profiles", query)
	}, func(profiles page) string {
		for _, m := range profiles.List {
			list = append(list, listing.Model{ID: m.ID, Title: m.Title}.Info(p.Server))
		}
		return profiles.Next
	})
	return list, err
}

// control is a question to the part of Bedrock that knows about models.
func (p *Provider) control(ctx context.Context, path string, query url.Values) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, p.Base(), provider.AuthBearer)
	if err != nil {
		return r, err
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return r, err
	}
	u.Host, u.Path, u.RawPath, u.RawQuery = provider.BedrockControl(u.Host), "/"+path, "", query.Encode()
	r.URL = u.String()
	return r, nil
}
