package anthropic

import (
	"context"
	"net/url"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

var _ provider.Lister = (*Provider)(nil)

// maxPages ends a list that never does.
const maxPages = 20

// modelPage is a page of GET /v1/models. A field that a server leaves out says
// nothing.
type modelPage struct {
	Data []struct {
		ID           string `json:"id"`
		Name         string `json:"display_name"`
		Input        int    `json:"max_input_tokens"`
		Output       int    `json:"max_tokens"`
		Capabilities struct {
			Images   *capability `json:"image_input"`
			Thinking *capability `json:"thinking"`
			Effort   *struct {
				capability
				Low, Medium, High, XHigh, Max capability
			} `json:"effort"`
		} `json:"capabilities"`
	} `json:"data"`
	HasMore bool   `json:"has_more"`
	LastID  string `json:"last_id"`
}

type capability struct {
	Supported bool `json:"supported"`
}

// Models implements provider.Lister.
func (p *Provider) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	var list []provider.ModelInfo
	after := ""
	for range maxPages {
		page, err := p.modelPage(ctx, after)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			if m.ID == "" {
				continue
			}
			info, _ := provider.Lookup(p.Name, m.ID)
			if m.Name != "" {
				info.Name = m.Name
			}
			if n := wire.Count(m.Input); n > 0 {
				info.Context = n
			}
			if n := wire.Count(m.Output); n > 0 {
				info.MaxOutput = n
			}
			if m.Input > 0 && m.Output > 0 {
				info.Guess = false
			}
			if c := m.Capabilities.Images; c != nil {
				info.Images = c.Supported
			}
			if c := m.Capabilities.Thinking; c != nil {
				info.Reasoning = c.Supported
			}
			if e := m.Capabilities.Effort; e != nil {
				info.Efforts = nil
				for _, level := range []struct {
					word string
					capability
				}{{"low", e.Low}, {"medium", e.Medium}, {"high", e.High}, {"xhigh", e.XHigh}, {"max", e.Max}} {
					if level.Supported {
						info.Efforts = append(info.Efforts, level.word)
					}
				}
			}
			list = append(list, info)
		}
		if !page.HasMore || page.LastID == "" || page.LastID == after {
			break
		}
		after = page.LastID
	}
	return list, nil
}

func (p *Provider) modelPage(ctx context.Context, after string) (page modelPage, err error) {
	r, err := p.request(ctx, "v1", "models")
	if err != nil {
		return page, wire.Named(err, p.endpoint())
	}
	query := url.Values{"limit": {"1000"}}
	if after != "" {
		query.Set("after_id", after)
	}
	if r.URL, err = wire.Query(r.URL, query); err != nil {
		return page, err
	}
	e := p.endpoint()
	e.RequestTimeout = provider.ListTimeout
	data, err := wire.Fetch(ctx, e, r)
	if err != nil {
		return page, err
	}
	return page, wire.DecodeList(e, data, &page)
}
