package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// What a search may cost.
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

// dialect is how an engine is asked, and what its answer holds.
type dialect struct {
	address string
	request func(ctx context.Context, address, key, query string, limit int) (*http.Request, error)
	found   func(answer answer) []foundPage
}

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

// dialects are the engines by name. The facts are those of their own documentation:
// docs.searxng.org/dev/search_api, api-dashboard.search.brave.com,
// docs.tavily.com/api-reference.
var dialects = map[string]dialect{
	"searxng": {"", searxngRequest, func(a answer) []foundPage { return a.Results }},
	"brave":   {"https://api.search.brave.com", braveRequest, func(a answer) []foundPage { return a.Web.Results }},
	"tavily":  {"https://api.tavily.com", tavilyRequest, func(a answer) []foundPage { return a.Results }},
}

func searxngRequest(ctx context.Context, address, _, query string, _ int) (*http.Request, error) {
	values := url.Values{"q": {query}, "format": {"json"}}
	return http.NewRequestWithContext(ctx, http.MethodGet, address+"/search?"+values.Encode(), nil)
}

func braveRequest(ctx context.Context, address, key, query string, limit int) (*http.Request, error) {
	values := url.Values{"q": {query}, "count": {strconv.Itoa(limit)}, "text_decorations": {"false"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/res/v1/web/search?"+values.Encode(), nil)
	if err == nil {
		r.Header.Set("X-Subscription-Token", key)
	}
	return r, err
}

func tavilyRequest(ctx context.Context, address, key, query string, limit int) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": limit})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/search", bytes.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r, err
}

// Search asks the engine for pages, limit at most. No redirect is followed: the key
// stays with the server that the user named. It returns soon after ctx is done.
func (e *Engine) Search(ctx context.Context, query string, limit int) ([]Found, error) {
	d, ok := dialects[e.Name]
	if !ok {
		return nil, fmt.Errorf("there is no search engine %q", e.Name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, fmt.Errorf("%s did not answer in %s", e.Name, searchTime))
	defer cancel()
	key := ""
	if e.Key != nil {
		key = e.Key()
	}
	address := strings.TrimRight(cmp.Or(e.Address, d.address), "/")
	request, err := d.request(ctx, address, key, query, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", e.UserAgent)
	data, err := e.ask(request)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("%s sent no answer that can be read: %w", e.Name, err)
	}
	var found []Found
	for _, p := range d.found(a) {
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
		return nil, fmt.Errorf("%s could not be asked: %w", e.Name, err)
	}
	defer answer.Body.Close()
	switch status := answer.StatusCode; {
	case status == http.StatusForbidden && e.Name == "searxng":
		return nil, fmt.Errorf("%s refuses to answer programs: search.formats in its settings.yml needs json", e.Name)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%s refused the key", e.Name)
	case status == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%s was asked too often, or the plan is used up: try later", e.Name)
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
