package proxy

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// BenchmarkDownload is a download of 100 MB through a tunnel, in the time that it takes without one.
func BenchmarkDownload(b *testing.B) {
	const size = 100 << 20
	w := newWorld(b, nil)
	w.name("shop.example", good)
	chunk := make([]byte, 1<<20)
	site := w.site(true, func(rw http.ResponseWriter, _ *http.Request) {
		for range size / len(chunk) {
			if _, err := rw.Write(chunk); err != nil {
				return
			}
		}
	})
	w.place(good+":443", site)
	l := w.proxy.Open([]Host{{Name: "shop.example"}})
	download := func(client *http.Client, address string) time.Duration {
		begun := time.Now()
		answer, err := client.Get(address)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		if n, err := io.Copy(io.Discard, answer.Body); n != size || err != nil {
			b.Fatal(n, err)
		}
		return time.Since(begun)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	transport.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	b.Cleanup(transport.CloseIdleConnections)
	through, directly := w.browser(l), &http.Client{Transport: transport}
	var with, without time.Duration
	for b.Loop() {
		with += download(through, "https://shop.example/")
		without += download(directly, "https://"+site.address+"/")
	}
	b.SetBytes(2 * size)
	b.ReportMetric(float64(with)/float64(without), "ratio")
}
