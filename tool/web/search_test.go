package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const searchKey = "BSA-0123456789abcdef"

// searchServer answers as the three engines do.
func searchServer(t *testing.T, status int) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status != http.StatusOK {
			http.Redirect(w, r, "http://elsewhere.example/", status)
			return
		}
		row := `{"title":"A <strong>cart</strong> &amp; more","url":"https://go.dev/%s","%s":"How  to\u001b[2J <b>fill</b> one."}`
		switch r.URL.Path {
		case "/searx/search":
			if r.FormValue("q") != "go carts" || r.FormValue("format") != "json" {
				t.Errorf("searxng was asked %s", r.URL)
			}
			fmt.Fprintf(w, `{"query":"go carts","results":[`+row+`,{"title":"x","url":"javascript:alert(1)"},`+row+`]}`, "a", "content", "b", "content")
		case "/res/v1/web/search":
			if r.FormValue("q") != "go carts" || r.FormValue("count") != "1" || r.Header.Get("X-Subscription-Token") != searchKey {
				t.Errorf("brave was asked %s %v", r.URL, r.Header)
			}
			fmt.Fprintf(w, `{"type":"search","web":{"results":[`+row+`,`+row+`]}}`, "a", "description", "b", "description")
		case "/search":
			var asked struct {
				Query string `json:"query"`
				Max   int    `json:"max_results"`
			}
			body, _ := io.ReadAll(r.Body)
			if err := json.Unmarshal(body, &asked); err != nil || asked.Query != "go carts" || asked.Max != 1 ||
				r.Header.Get("Authorization") != "Bearer "+searchKey {
				t.Errorf("tavily was asked %s %v", body, r.Header)
			}
			fmt.Fprintf(w, `{"query":"go carts","answer":null,"results":[`+row+`]}`, "a", "content")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func engine(s *httptest.Server, name string) *Engine {
	e := &Engine{Name: name, Address: s.URL, Key: func() string { return searchKey }, HTTP: s.Client(), UserAgent: "artoo/test"}
	if name == "searxng" {
		e.Address += "/searx/"
	}
	return e
}

func TestEachEngineIsAskedInItsOwnWay(t *testing.T) {
	t.Parallel()
	s := searchServer(t, http.StatusOK)
	for _, name := range []string{"searxng", "brave", "tavily"} {
		found, err := engine(s, name).Search(t.Context(), "go carts", 1)
		if err != nil || len(found) != 1 || found[0] != (Found{"A cart & more", "https://go.dev/a", "How to[2J fill one."}) {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
	if found, err := engine(s, "searxng").Search(t.Context(), "go carts", 10); err != nil || len(found) != 2 {
		t.Errorf("an address that cannot be fetched is listed: %q, %v", found, err)
	}
}

func TestWhatAnEngineRefusesIsSaidWithoutTheKey(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{401: "refused the key", 403: "refused the key", 429: "limiting requests", 500: "500",
		302: "302 Found"} {
		_, err := engine(searchServer(t, status), "brave").Search(t.Context(), "go carts", 1)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), searchKey) {
			t.Errorf("%d: %v", status, err)
		}
	}
	if _, err := engine(searchServer(t, 403), "searxng").Search(t.Context(), "go carts", 1); err == nil ||
		!strings.Contains(err.Error(), "settings.yml") {
		t.Errorf("%v", err)
	}
	e := engine(searchServer(t, 200), "tavily")
	if strings.Contains(fmt.Sprintf("%+v %#v", *e, e), searchKey) {
		t.Error("the key is printed")
	}
	e.Address = "http://127.0.0.1:1"
	if _, err := e.Search(t.Context(), "go carts", 1); err == nil || strings.Contains(err.Error(), searchKey) {
		t.Errorf("%v", errors.Unwrap(err))
	}
}
