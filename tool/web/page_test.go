package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"artoo/tool/pdf/pdftest"
	"artoo/tool/sweep"
)

func page(t *testing.T, source string) (title, text string) {
	t.Helper()
	at, err := url.Parse("https://shop.example/docs/carts.html")
	if err != nil {
		t.Fatal(err)
	}
	title, text, err = markdown(t.Context(), []byte(source), at)
	if err != nil {
		t.Fatal(err)
	}
	return title, clean(text)
}

const paragraph = "<p>A cart keeps what a customer has chosen until the order is paid, and it is emptied when a week has gone by " +
	"without a change, because nobody comes back for it after that time, as our figures show.</p>"

func TestThePartThatOneReadsBecomesMarkdown(t *testing.T) {
	t.Parallel()
	title, text := page(t, `<!doctype html><html><head><title>Carts</title></head><body>
<nav><ul><li><a href="/">Home</a><li><a href="/jobs">Jobs</a></ul></nav>
<main><article><h1>How carts work</h1>`+strings.Repeat(paragraph, 6)+`<h2>Filling one</h2><ul><li>add<li>remove</ul>
<pre><code class="language-go">cart.Add(item)
cart.Sum()</code></pre><p>See <a href="../api/sum.html">the sum</a> and <a href="javascript:steal()">this</a>.</p>
<table><tr><th>call</th><th>cost</th></tr><tr><td>Add</td><td>1</td></tr></table>`+paragraph+`</article></main>
<footer>Imprint and cookies</footer></body></html>`)
	if title != "Carts" {
		t.Errorf("the title is %q", title)
	}
	for _, want := range []string{"## Filling one", "- add\n- remove", "```go\ncart.Add(item)\ncart.Sum()\n```",
		"[the sum](https://shop.example/api/sum.html)", "| Add  | 1    |", "A cart keeps what"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	for _, unwanted := range []string{"Jobs", "Imprint", "javascript", "steal"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("with %q:\n%s", unwanted, text)
		}
	}
}

// Pages of documentation have a link beside each heading and each definition, and marks to
// lead to: they are a third of such a page, and say nothing.
func TestLinksSayNoMoreThanWhereTheyLead(t *testing.T) {
	t.Parallel()
	_, text := page(t, `<h2 id="sum">The sum<a class="headerlink" href="#sum" title="Permalink">¶</a></h2>
<p><a name="l1"></a>It adds, see <a href="#add" title="cart.add">add()</a>, <a href="carts.html#rest">the rest</a>,
<a href="cost.html#top" title="What it costs">the cost</a> and <a name="here">this place</a>.</p>
<p>Item <a href="https://bugs.example/1">#</a> and <a href="other.html">#</a>.
<a href="#fig"><img src="fig.png" alt="a figure"></a> <a href="javascript:x()">a script</a></p>`)
	want := "## The sum\n\nIt adds, see [add()](#add), [the rest](#rest), [the cost](https://shop.example/docs/cost.html#top) and " +
		"this place.\n\nItem [#](https://bugs.example/1) and [#](https://shop.example/docs/other.html). " +
		"[![a figure](https://shop.example/docs/fig.png)](#fig) a script"
	if text != want {
		t.Errorf("%s\n\nwant\n\n%s", text, want)
	}
}

func TestAnIndexIsShownWhole(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, `<li><a href="f%d">func Number%d</a> does thing %d</li>`, i, i, i)
	}
	_, text := page(t, `<nav>menu</nav><ul>`+rows.String()+`</ul><div class="note">`+paragraph+`</div>`)
	for _, want := range []string{"[func Number0](https://shop.example/docs/f0)", "func Number59", "A cart keeps"} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%.500s", want, text)
		}
	}
}

func TestWhatAReaderDoesNotSeeIsLeftOut(t *testing.T) {
	t.Parallel()
	hidden := []string{`<script>SECRET</script>`, `<style>SECRET</style>`, `<!-- SECRET -->`, `<div hidden>SECRET</div>`,
		`<div style="display:none">SECRET</div>`, `<div style="color:red; VISIBILITY : Hidden !important">SECRET</div>`,
		`<span style="font-size:0px">SECRET</span>`, `<span style="opacity:0">SECRET</span>`, `<p aria-hidden="true">SECRET</p>`,
		`<template>SECRET</template>`, `<noscript>SECRET</noscript>`, `<iframe>SECRET</iframe>`, `<img src="x">`,
		`<img alt="SECRET" src="data:image/png;base64,AAAA">`, `<svg><text>SECRET</text></svg>`, `<textarea>SECRET</textarea>`}
	for _, h := range hidden {
		for _, source := range []string{h + "<p>seen</p>", "<article>" + strings.Repeat(paragraph, 5) + h + "<p>seen</p></article>"} {
			if _, text := page(t, source); strings.Contains(text, "SECRET") || !strings.Contains(text, "seen") {
				t.Errorf("%s: %q", h, text)
			}
		}
	}
	tags := ""
	for _, r := range "IGNORE" {
		tags += string(0xe0000 + r)
	}
	_, text := page(t, "<p>a\x1b[2J\x07b\u202ec\u200bd"+tags+"e\u0085f</p>")
	if text != "a[2Jbcdef" {
		t.Errorf("%q", text)
	}
}

func TestHostilePagesEndSoon(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"deep":     strings.Repeat("<div>", sweep.Less(200_000)) + "text",
		"lists":    strings.Repeat("<ul><li>", 100) + strings.Repeat("<li>x", sweep.Less(50_000)),
		"tables":   "<table>" + strings.Repeat("<tr><td>x<td>y", sweep.Less(20_000)),
		"unclosed": strings.Repeat("<b><i>", 200) + strings.Repeat("<p>x", sweep.Less(20_000)),
		"anchors":  strings.Repeat(`<a href="https://shop.example/docs/x">y`, sweep.Less(5_000)),
		"nothing":  "",
		"noise":    strings.Repeat("<\x00&#x41;", sweep.Less(10_000)),
	} {
		began := time.Now()
		_, text := page(t, source)
		t.Logf("%s: %s, %d bytes", name, time.Since(began), len(text))
		if len(text) > 4*len(source)+100 {
			t.Errorf("%s: %d bytes became %d", name, len(source), len(text))
		}
		if name == "deep" && !strings.Contains(text, "text") {
			t.Errorf("%q", text)
		}
	}
}

func TestTextIsReadInItsCharset(t *testing.T) {
	t.Parallel()
	var kind, content string
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{kind}
		fmt.Fprint(w, content)
	})
	long := strings.Repeat("ascii ", 400)
	for _, c := range []struct{ kind, content, want string }{
		{"text/plain; charset=iso-8859-1", "caf\xe9", "café"},
		{"text/plain", "caf\xe9", "café"},
		{"text/plain", long + "café", long + "café"},
		{"text/plain; charset=utf-16le", "c\x00a\x00f\x00\xe9\x00", "café"},
		{"text/plain", "\xfe\xff\x00c\x00a\x00f\x00\xe9", "café"},
		{"text/plain", "\xef\xbb\xbfcaf\xc3\xa9", "café"},
		{"text/html", `<meta charset="shift_jis"><p>` + "\x93\xfa\x96\x7b", "日本"},
		{"text/html; charset=gbk", "<p>\xc4\xe3\xba\xc3", "你好"},
		{"text/html; charset=nonsense", "<p>caf\xc3\xa9", "café"},
		{"application/json", `{"a":"é"}`, `{"a":"é"}`},
		{"application/problem+json", `{"a":1}`, `{"a":1}`},
		{"", "<!doctype html><p>guessed", "guessed"},
		{"application/octet-stream", "plain words", "plain words"},
		{"text/markdown", "# as it\r\nis", "# as it\nis"},
	} {
		kind, content = c.kind, c.content
		p, err := s.client.Fetch(t.Context(), s.at(t, "a.example", "/"), none)
		if err != nil || p.Text != c.want {
			t.Errorf("%s %.40q: %.60q, %v, want %.40q", c.kind, c.content, p.Text, err, c.want)
		}
	}
	kind, content = "application/zip", "PK\x03\x04"
	if _, err := s.client.Fetch(t.Context(), s.at(t, "a.example", "/"), none); err == nil || !strings.Contains(err.Error(), "not text") {
		t.Errorf("%v", err)
	}
	kind, content = "application/octet-stream", string(pdftest.Of("An order", "Its sum"))
	p, err := s.client.Fetch(t.Context(), s.at(t, "a.example", "/"), none)
	if err != nil || p.MediaType != pdfType || !strings.Contains(p.Text, "[page 1]\nAn order\n\n[page 2]\nIts sum") {
		t.Errorf("%q, %v", p.Text, err)
	}
}
