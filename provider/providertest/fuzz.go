package providertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"runtime/metrics"
	"testing"
	"testing/iotest"

	"artoo/provider"
)

// Client answers every request with the reply's head and bytes without a network, for fuzz
// targets. Gates and Ends are ignored; Chunk 1 sends single bytes.
func (r Reply) Client() *http.Client {
	return &http.Client{Transport: canned{r}}
}

type canned struct{ Reply }

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	var body io.Reader = bytes.NewReader(c.Body)
	if c.Chunk == 1 {
		body = iotest.OneByteReader(body)
	}
	head := http.Header{}
	if c.ContentType != "" {
		head.Set("Content-Type", c.ContentType)
	}
	return &http.Response{StatusCode: max(c.Status, http.StatusOK), Header: head, Body: io.NopCloser(body), Request: req},
		nil
}

// FuzzStream feeds bytes to a wire and checks that it neither panics nor hangs, keeps the
// contract of provider.Provider, allocates in proportion, and that the reply can be sent
// back in the history.
func FuzzStream(f *testing.F, w Wire) {
	f.Helper()
	for _, reply := range []Reply{
		w.Build(Reason("hm"), Text("Hello", " wörld"), Call("c1", "read", `{"path":"a"}`), Call("", "ls", ``)),
		w.Build(Call("c1", "read", `"{\"path\":\"\ud83d\"}"`), Call("c1", "read", `[1]`), Stop(aMax(w))),
		w.Build(Text("x")).Break(3, "overloaded_error", "busy"),
		Fail(200, "server_error", "the request exceeds the available context size"),
		Page(200, "Bad Gateway"),
	} {
		f.Add(string(reply.Body), byte(0))
		f.Add(string(reply.Body), byte(5))
	}
	f.Fuzz(func(t *testing.T, body string, how byte) {
		reply := Reply{Body: []byte(body), ContentType: [4]string{"text/event-stream", "application/json", "",
			"text/html"}[how&3]}
		if how&4 != 0 {
			reply.Chunk = 1
		}
		if how&8 != 0 {
			reply.Status = http.StatusBadRequest
		}
		p := w.New(Config{Name: "bench", URL: "http://bench.test", HTTP: reply.Client()})
		before := allocated()
		r := Collect(p.Stream(t.Context(), question()))
		if used, most := allocated()-before, uint64(2<<20+1000*len(body)); used > most {
			t.Errorf("%d bytes allocated for %d that came", used, len(body))
		}
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		if r.Done == nil {
			return
		}
		checkMessage(t, r.Done.Message)
		checkEcho(t, w, r.Done.Message)
	})
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func checkMessage(t *testing.T, m provider.Message) {
	ids := map[string]bool{}
	for _, c := range m.Calls() {
		if c.ID == "" || ids[c.ID] {
			t.Errorf("the call id %q is empty or there twice", c.ID)
		}
		ids[c.ID] = true
		var object map[string]json.RawMessage
		if err := json.Unmarshal(c.Input, &object); err != nil || object == nil {
			t.Errorf("the input is not an object: %q", c.Input)
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again provider.Message
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Errorf("the message cannot be stored: %v", err)
	}
}

func checkEcho(t *testing.T, w Wire, m provider.Message) {
	messages := []provider.Message{provider.UserText("hi"), m}
	for _, c := range m.Calls() {
		messages = append(messages, result(c, "x"))
	}
	seen := &keeping{}
	p := w.New(Config{Name: "bench", URL: "http://bench.test", HTTP: &http.Client{Transport: seen}})
	if r := Collect(p.Stream(t.Context(), question(provider.Repair(messages)...))); provider.AsError(r.Err) == nil {
		t.Errorf("got %+v, want the error of a network that is not there", r)
	}
	if err := w.Validate(seen.body); err != nil {
		t.Errorf("%v\n%.2000s", err, seen.body)
	}
}

type keeping struct{ body []byte }

func (k *keeping) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	k.body = body
	return nil, io.ErrUnexpectedEOF
}
