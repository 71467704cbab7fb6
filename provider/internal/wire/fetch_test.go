package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"artoo/provider"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		switch r.URL.Path {
		case "/large":
			w.Header().Set("Content-Type", "application/json")
			piece := bytes.Repeat([]byte("["), 1<<20)
			for range 17 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		case "/gone":
			http.Error(w, `{"error":"no such thing"}`, http.StatusNotFound)
		case "/slow":
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			// a client that left needs no answer
			_, _ = io.WriteString(w, `{"method":"`+r.Method+`","body":"`+string(body)+`","type":"`+
				r.Header.Get("Content-Type")+`"}`)
		}
	}))
	defer srv.Close()
	e := provider.Server{Name: "p", HTTP: srv.Client(), RequestTimeout: time.Minute, Local: true}
	for _, tc := range []struct {
		body []byte
		want string
	}{
		{nil, `{"method":"GET","body":"","type":""}`},
		{[]byte("x"), `{"method":"POST","body":"x","type":"application/json"}`},
	} {
		data, err := Fetch(t.Context(), e, Request{URL: srv.URL + "/", Body: tc.body})
		if err != nil || string(data) != tc.want {
			t.Errorf("%s %v, want %s", data, err, tc.want)
		}
	}
	_, err := Fetch(t.Context(), e, Request{URL: srv.URL + "/large"})
	if f := provider.AsError(err); f == nil || f.Kind != provider.KindProvider || f.Temporary() {
		t.Errorf("too large: %+v", f)
	}
	_, err = Fetch(t.Context(), e, Request{URL: srv.URL + "/gone"})
	if f := provider.AsError(err); f == nil || f.Status != 404 || f.Message != "no such thing" ||
		f.Provider != "p" || !f.Local {
		t.Errorf("gone: %+v", f)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = Fetch(ctx, e, Request{URL: srv.URL + "/slow"})
	if f := provider.AsError(err); f == nil || f.Kind != provider.KindCanceled ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow: %+v", f)
	}
}
