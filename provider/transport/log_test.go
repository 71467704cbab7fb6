package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

const key = "sk-ant-0123456789"

// answering is a client whose record goes to l, and a server that quotes the
// request's headers and address, a byte at a time.
func answering(l *Log, body string) *http.Client {
	return &http.Client{Transport: &recording{log: l, next: roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 401, Header: http.Header{"X-Request-Id": {"for " + key}, "Set-Cookie": {"id=1"}},
			Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body))), Request: r}, nil
	})}}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func post(t *testing.T, hc *http.Client, address, body string, header http.Header) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := hc.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func lines(t *testing.T, out []byte) []record {
	t.Helper()
	var all []record
	for line := range bytes.Lines(out) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

func TestNoKeyIsLogged(t *testing.T) {
	t.Parallel()
	headers := map[string]http.Header{
		"x-api-key":     {"X-Api-Key": {key}},
		"bearer":        {"Authorization": {"Bearer " + key}},
		"any case":      {"aUTHORIZATION": {"Bearer " + key}},
		"another name":  {"Ocp-Apim-Subscription": {key}},
		"proxy":         {"Proxy-Authorization": {"Basic " + key}},
		"in the URL":    {},
		"twice, spaced": {"X-A": {"other", key}},
	}
	addresses := []string{
		"https://h.example/v1?key=" + key, "https://h.example/v1?" + key,
		"https://h.example/v1?a=1;key=" + key + "&alt=sse", "https://h.example/v1?a=%zz&key=" + key,
		"https://me:" + key + "@h.example/v1", "https://" + key + "@h.example/v1?alt=sse",
	}
	for name, h := range headers {
		for _, address := range addresses {
			var out bytes.Buffer
			var text strings.Builder
			l := &Log{JSON: &out, Text: func(s string) { text.WriteString(s + "\n") }}
			l.SetOn(true)
			quoted := `{"error":"refused, your headers were: ` + key + ` and that is\nall"}` + "\n" + key
			if err := post(t, answering(l, quoted), address, "{}", h); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), key) || strings.Contains(text.String(), key) {
				t.Errorf("%s, %s: the key is in the log:\n%s", name, address, out.String())
			}
		}
	}
}

// TestAKeyInThePathIsMasked where it looks like one: some gateways want it there.
func TestAKeyInThePathIsMasked(t *testing.T) {
	t.Parallel()
	long := key + strings.Repeat("x", 20)
	var out bytes.Buffer
	if err := post(t, answering(&Log{JSON: &out}, "no such page: /"+long+"/v1"), "https://h.example/"+long+"/v1",
		"{}", nil); err != nil {
		t.Fatal(err)
	}
	if url := lines(t, out.Bytes())[0].URL; strings.Contains(out.String(), long) ||
		!strings.HasPrefix(url, "https://h.example/") || !strings.HasSuffix(url, "/v1") {
		t.Errorf("%q in\n%s", url, out.String())
	}
}

func TestTheLogTellsWhatPassed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &Log{JSON: &out}
	reply := "data: žluť 漢字\n\ndata: b"
	if err := post(t, answering(l, reply), "https://h.example/v1?alt=sse&limit=7&x=secret-1", `{"a":"<b>"}`,
		http.Header{"X-Api-Key": {key}, "Content-Type": {"application/json"}}); err != nil {
		t.Fatal(err)
	}
	all := lines(t, out.Bytes())
	if len(all) != 5 {
		t.Fatalf("%d lines, want request, response, three pieces:\n%s", len(all), out.String())
	}
	if r := all[0]; r.Method != "POST" || r.URL != "https://h.example/v1?alt=sse&limit=7&x=***" || r.Body != `{"a":"<b>"}` ||
		r.Cut || r.Headers["content-type"] != "application/json" || r.Headers["x-api-key"] != "***" || r.Request != 1 {
		t.Errorf("request: %+v", r)
	}
	if r := all[1]; r.Status != 401 || r.Headers["set-cookie"] != "***" || r.Headers["x-request-id"] != "for ***" {
		t.Errorf("response: %+v", r)
	}
	if got := all[2].Body + all[3].Body + all[4].Body; got != reply {
		t.Errorf("body %q, want %q", got, reply)
	}
}

func TestBodiesHaveALimit(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &Log{JSON: &out}
	sent := "x" + strings.Repeat("漢", logLimit/3+10)
	got := strings.Repeat("字", logLimit/2) + key + strings.Repeat("y", logLimit)
	if err := post(t, answering(l, got), "https://h.example/", sent, http.Header{"X-Api-Key": {key}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "�") || strings.Contains(out.String(), key) {
		t.Error("a rune was cut in half, or the key is there")
	}
	all := lines(t, out.Bytes())
	if r := all[0]; !r.Cut || len(r.Body) > logLimit || len(r.Body) < logLimit-3 || !strings.HasPrefix(sent, r.Body) {
		t.Errorf("%d bytes of the request were kept, cut %v", len(r.Body), r.Cut)
	}
	whole := ""
	for _, r := range all[2:] {
		if len(r.Body) > logLimit+len(key) {
			t.Errorf("a record of %d bytes", len(r.Body))
		}
		whole += r.Body
	}
	if want := strings.ReplaceAll(got, key, "***"); whole != want {
		t.Errorf("%d bytes of the reply were kept, want %d", len(whole), len(want))
	}

	// a key where one record ends and the next begins
	out.Reset()
	got = strings.Repeat("y", logLimit-len(key)-3) + key + strings.Repeat("y", 100)
	if err := post(t, answering(l, got), "https://h.example/", "", http.Header{"X-Api-Key": {key}}); err != nil {
		t.Fatal(err)
	}
	whole = ""
	for _, r := range lines(t, out.Bytes())[2:] {
		whole += r.Body
	}
	if strings.Contains(whole, key[:6]) || strings.Contains(whole, key[8:]) {
		t.Error("a part of the key is in the log")
	}
}

// A text like a key is masked whole even where the limit of a line cuts it.
func TestAKeyAtTheLimitOfARequestIsMasked(t *testing.T) {
	t.Parallel()
	long := key + strings.Repeat("x", 20)
	for _, shown := range []int{1, len(key), len(long) - 1} { // of the key, before the limit
		var out bytes.Buffer
		sent := strings.Repeat("y", logLimit-shown-1) + " " + long + strings.Repeat(" y", 10)
		if err := post(t, answering(&Log{JSON: &out}, ""), "https://h.example/", sent, nil); err != nil {
			t.Fatal(err)
		}
		body := lines(t, out.Bytes())[0].Body
		if _, rest, _ := strings.Cut(body, " "); len(body) > logLimit || strings.HasPrefix(rest, long[:min(shown, 6)]) {
			t.Errorf("%d bytes of the key before the limit: the line ends in %q", shown, rest)
		}
	}
}

func TestWhatBreaksIsLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	hc := &http.Client{Transport: &recording{log: &Log{JSON: &out},
		next: roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("bad request with " + key)
		})}}
	if err := post(t, hc, "https://h.example/", "", http.Header{"X-Api-Key": {key}}); err == nil {
		t.Fatal("no error")
	}
	if all := lines(t, out.Bytes()); len(all) != 2 || all[1].Error != "bad request with ***" {
		t.Errorf("got %+v", all)
	}
}

func TestRecordMasksWhatLooksLikeAKey(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	long := key + strings.Repeat("x", 20)
	(&Log{JSON: &out}).Record("body", `{"output":"KEY=`+long+`"}`)
	if strings.Contains(out.String(), long) || !strings.Contains(lines(t, out.Bytes())[0].Body, `{"output":"KEY=‹secret:`) {
		t.Error(out.String())
	}
}

func TestRecordTellsWhatPassedElsewhere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	(&Log{}).Record("request", "into nothing")
	l := &Log{JSON: &out}
	l.Record("request", "claude -p")
	l.Record("body", strings.Repeat("漢", logLimit))
	all := lines(t, out.Bytes())
	if len(all) != 2 || all[0].Method != "run" || all[0].Body != "claude -p" || all[0].Request != 1 || all[1].Request != 1 {
		t.Fatalf("got %.300v", all)
	}
	if r := all[1]; !r.Cut || len(r.Body) > logLimit || strings.Trim(r.Body, "漢") != "" {
		t.Errorf("%d bytes are kept, cut %v", len(r.Body), r.Cut)
	}
}

// full is a file on a full disk.
type full struct{ writes int }

func (f *full) Write([]byte) (int, error) { f.writes++; return 0, errors.New("no space left") }

func TestALogThatCannotBeWrittenIsToldOnce(t *testing.T) {
	t.Parallel()
	disk := &full{}
	var told []string
	l := &Log{JSON: disk, Text: func(s string) { told = append(told, s) }}
	for range 2 {
		if err := post(t, answering(l, "x"), "https://h.example/", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if disk.writes != 1 || len(told) != 1 || !strings.Contains(told[0], "no space left") {
		t.Errorf("%d writes, told %q", disk.writes, told)
	}
}

func TestTheTextRecordCanBeSwitched(t *testing.T) {
	t.Parallel()
	var told []string
	l := &Log{Text: func(s string) { told = append(told, s) }}
	hc := answering(l, "x\n")
	for _, on := range []bool{false, true, false} {
		l.SetOn(on)
		if err := post(t, hc, "https://h.example/", "hello", http.Header{"Accept": {"a"}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 3 || told[0] != "debug: request 1: POST https://h.example/ accept: a\nhello" ||
		told[2] != "debug: reply 1: x\n" {
		t.Errorf("told %q", told)
	}
}

// TestKeysInBodiesAreMasked: a tool may have read somebody else's key, and a
// person may have pasted the request's own.
func TestKeysInBodiesAreMasked(t *testing.T) {
	t.Parallel()
	other := "gh" + "p_" + strings.Repeat("aB3", 12)
	var out bytes.Buffer
	var text strings.Builder
	l := &Log{JSON: &out, Text: func(s string) { text.WriteString(s + "\n") }}
	l.SetOn(true)
	body := `{"mine":"` + key + `","token":"` + other + `"}`
	long := strings.Repeat("x", logLimit-10) + " " + other
	for _, sent := range []string{body, long} {
		reply := "data: you sent " + other + " and " + key + "\n\ndata: end"
		if err := post(t, answering(l, reply), "https://h.example/v1", sent, http.Header{"X-Api-Key": {key}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, hidden := range []string{key, other[:20]} {
		if strings.Contains(out.String()+text.String(), hidden) {
			t.Errorf("%s… is in the log", hidden[:8])
		}
	}
	all := lines(t, out.Bytes())
	if r := all[0]; !strings.HasPrefix(r.Body, `{"mine":"***","token":"‹secret:`) {
		t.Errorf("the request is %q", r.Body)
	}
	if !strings.Contains(out.String(), "data: you sent ‹secret:") || !strings.Contains(out.String(), "data: end") {
		t.Errorf("the reply is not there: %s", out.String()[:500])
	}
}

// TestABrokenReplyIsLogged finds the part that came and the error in the log.
func TestABrokenReplyIsLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &Log{JSON: &out}
	hc := &http.Client{Transport: &recording{log: l, next: roundTripper(func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("data: a\nda"), iotest.ErrReader(errors.New("reset for "+key)))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	})}}
	if err := post(t, hc, "https://h.example/v1", "{}", http.Header{"X-Api-Key": {key}}); err == nil {
		t.Error("no error")
	}
	all := lines(t, out.Bytes())
	if len(all) != 5 || all[2].Body != "data: a\n" || all[3].Body != "da" || all[4].Event != "error" ||
		all[4].Error != "reset for ***" {
		t.Errorf("%+v", all)
	}
}
