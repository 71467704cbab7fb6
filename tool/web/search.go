package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// Limits of a search.
const (
	searchTime = 20 * time.Second
	maxAnswer  = 2 << 20 // bytes of an answer
)

// Engine is a search engine as the user set it up, safe for concurrent use.
type Engine struct {
	Name    string        // searxng, brave or tavily
	Address string        // "" selects the engine's own server; searxng has none
	Key     func() string // a func, so that the key is not printed; nil for none
	HTTP    *http.Client
	// UserAgent names the program, such as "artoo/1.2".
	UserAgent string
}

// Found is a page that a search engine found. All of it is the engine's.
type Found struct{ Title, URL, Snippet string }

// answer is an engine's answer: Brave has its results in web.
type answer struct {
	Results []foundPage `json:"results"`
	Web     struct {
		Results []foundPage `json:"results"`
	} `json:"web"`
}

type foundPage struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Content     string `json:"content"`     // SearXNG, Tavily
	Description string `json:"description"` // Brave
}

// request asks the engine as its own documentation says: docs.searxng.org/dev/search_api,
// api-dashboard.search.brave.com, docs.tavily.com/api-reference.
func (e *Engine) request(ctx context.Context, query string, limit int) (*http.Request, error) {
	key := ""
	if e.Key != nil {
		key = e.Key()
	}
	address, method, body := strings.TrimRight(e.Address, "/"), http.MethodGet, []byte(nil)
	header := http.Header{"Accept": {"application/json"}, "User-Agent": {e.UserAgent}}
	switch e.Name {
	case "searxng":
		address += "/search?" + url.Values{"q": {query}, "format": {"json"}}.Encode()
	case "brave":
		header.Set("X-Subscription-Token", key)
		values := url.Values{"q": {query}, "count": {strconv.Itoa(limit)}, "text_decorations": {"false"}}
		address = cmp.Or(address, "https://api.search.brave.com") + "/res/v1/web/search?" + values.Encode()
	case "tavily":
		header.Set("Content-Type", "application/json")
		header.Set("Authorization", "Bearer "+key)
		address, method = cmp.Or(address, "https://api.tavily.com")+"/search", http.MethodPost
		var err error
		if body, err = json.Marshal(map[string]any{"query": query, "max_results": limit}); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("no such search engine")
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err == nil {
		r.Header = header
	}
	return r, err
}

// Search asks the engine for pages, limit at most. No redirect is followed: the key
// stays with the server that the user named. It returns soon after ctx is done.
func (e *Engine) Search(ctx context.Context, query string, limit int) ([]Found, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, fmt.Errorf("%s did not answer in %s", e.Name, searchTime))
	defer cancel()
	request, err := e.request(ctx, query, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	data, err := e.ask(request)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%s sent an unreadable answer: %w", e.Name, err)
	}
	var found []Found
	for _, p := range append(a.Results, a.Web.Results...) {
		u, err := Parse(p.URL)
		if err != nil || len(found) == limit {
			continue
		}
		found = append(found, Found{plain(p.Title), u.String(), plain(cmp.Or(p.Content, p.Description))})
	}
	return found, nil
}

func (e *Engine) ask(request *http.Request) ([]byte, error) {
	client := *e.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s could not be searched: %w", e.Name, err)
	}
	defer answer.Body.Close()
	switch status := answer.StatusCode; {
	case status == http.StatusForbidden && e.Name == "searxng":
		return nil, fmt.Errorf("%s refuses to answer programs: search.formats in its settings.yml needs json", e.Name)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%s refused the key", e.Name)
	case status == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%s is limiting requests, or the plan is used up: try later", e.Name)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%s answered %s", e.Name, answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s could not be read: %w", e.Name, err)
	}
	return data, nil
}

// plain is a text of an engine on one line, without its marks.
func plain(text string) string {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(clean(out.String())), " ")
		case html.TextToken:
			out.Write(z.Text())
		}
	}
}
