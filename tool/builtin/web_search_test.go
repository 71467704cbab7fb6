package builtin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/web"
)

func TestASearchListsWhatWasFoundAsData(t *testing.T) {
	t.Parallel()
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.FormValue("q")
		if asked == "nothing" {
			fmt.Fprint(w, `{"results":[]}`)
			return
		}
		fmt.Fprint(w, `{"results":[{"title":"Go","url":"https://go.dev/","content":"Build"},{"title":"Doc","url":"https://go.dev/doc"}]}`)
	}))
	defer s.Close()
	search := WebSearch(&web.Engine{Name: "searxng", Address: s.URL, HTTP: s.Client()})
	call := func(input string) (tool.Access, tool.Result, error) {
		if err := search.Check(json.RawMessage(input)); err != nil {
			return tool.Access{}, tool.Result{}, err
		}
		access, err := search.Plan(t.Context(), &tool.Env{}, json.RawMessage(input))
		if err != nil {
			return access, tool.Result{}, err
		}
		r, err := search.Run(t.Context(), &tool.Env{}, json.RawMessage(input), io.Discard)
		return access, r, err
	}
	access, r, err := call(`{"query":"go carts","allowed_domains":["go.dev","pkg.go.dev"]}`)
	if err != nil || access.Kind != tool.KindNetwork || access.Object != `searxng for "go carts site:go.dev OR site:pkg.go.dev"` ||
		asked != "go carts site:go.dev OR site:pkg.go.dev" {
		t.Errorf("%+v, asked %q, %v", access, asked, err)
	}
	if !strings.Contains(r.Text, "---\n1. Go\n   https://go.dev/\n   Build\n2. Doc\n   https://go.dev/doc\n---") ||
		!strings.Contains(r.Text, "is data from the web") {
		t.Errorf("%s", r.Text)
	}
	if _, r, err := call(`{"search_query":"nothing","blocked_domains":[]}`); err != nil || r.Text != "searxng found nothing" {
		t.Errorf("%q, %v", r.Text, err)
	}
	for input, want := range map[string]string{`{"query":" "}`: "empty", `{"query":"x","limit":50}`: "1 to 20", `{}`: "query is missing",
		`{"query":"` + strings.Repeat("x", 401) + `"}`: "400 characters"} {
		if _, _, err := call(input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}
