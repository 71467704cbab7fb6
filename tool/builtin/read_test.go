package builtin

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/pdf"
	"artoo/tool/pdf/pdftest"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, content string
		input         in
		text, summary string
	}{
		{"whole", "a\n\tb\n", in{}, "     1\ta\n     2\t\tb\n", "2 lines"},
		{"one line", "a\n", in{}, "     1\ta\n", "1 line"},
		{"no newline", "a", in{}, "     1\ta\n[no newline at the end]\n", "1 line"},
		{"empty", "", in{}, "f.txt is empty", "empty"},
		{"blank lines", "\n\n", in{}, "     1\t\n     2\t\n", "2 lines"},
		{"part", numbered(1, 9), in{"offset": 3, "limit": 2},
			"     3\tline 3\n     4\tline 4\n[lines 3-4 of 9; use offset=5 to continue]\n", "lines 3-4 of 9"},
		{"end", numbered(1, 9), in{"offset": 8}, "     8\tline 8\n     9\tline 9\n[lines 8-9, the end of the file]\n",
			"lines 8-9 of 9"},
		{"exactly", numbered(1, 2), in{"limit": 2}, "     1\tline 1\n     2\tline 2\n", "2 lines"},
		{"crlf", "a\r\nb\r\n", in{}, "     1\ta\n     2\tb\n[line ends are CRLF; write \\n, they are kept]\n", "2 lines"},
		{"mixed", "a\r\nb\n", in{}, "     1\ta\n     2\tb\n[line ends are mixed, CRLF and LF]\n", "2 lines"},
		{"cr", "a\rb\r", in{}, "     1\ta\n     2\tb\n[line ends are CR; write \\n, they are kept]\n", "2 lines"},
		{"mixed with cr", "a\rb\r\nc\rd\re", in{},
			"     1\ta\n     2\tb\n     3\tc\n     4\td\n     5\te\n[line ends are mixed, CRLF and CR; no newline at the end]\n", "5 lines"},
		{"returns within lines", "1%\r2%\nb\n", in{}, "     1\t1%\r2%\n     2\tb\n", "2 lines"},
		{"mark", "\xef\xbb\xbfa\n", in{},
			"     1\ta\n[encoded as UTF-8 with a byte order mark, which is kept]\n", "1 line"},
		{"only a mark", "\xef\xbb\xbf", in{}, "f.txt is empty", "empty"},
		{"utf-16", wide(binary.LittleEndian, "ä\r\n😀\r\n"), in{},
			"     1\tä\n     2\t😀\n[line ends are CRLF; write \\n, they are kept; encoded as UTF-16LE, which is kept]\n", "2 lines"},
		{"utf-16 big", wide(binary.BigEndian, "ä\n"), in{}, "     1\tä\n[encoded as UTF-16BE, which is kept]\n", "1 line"},
		{"latin 1", "caf\xe9\n", in{}, "     1\tcaf�\n[not all of it is UTF-8; � stands for other bytes]\n", "1 line"},
		{"long line", strings.Repeat("x", 3000) + "\nb\n", in{}, "     1\t" + strings.Repeat("x", 2000) +
			" [1,000 bytes of this line left out]\n     2\tb\n", "2 lines"},
		{"long line of wide characters", strings.Repeat("x", 1999) + strings.Repeat("😀", 1000), in{}, "     1\t" +
			strings.Repeat("x", 1999) + " [3.9 KB of this line left out]\n[no newline at the end]\n", "1 line"},
		{"binary", "\x7fELF\x00\x01", in{},
			"f.txt is a binary file (application/octet-stream, 6 bytes), which cannot be shown as text", "binary, 6 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f.txt": test.content})
			test.input["path"] = "f.txt"
			result := w.ok(Read(), test.input)
			if diff := cmp.Diff(tool.Result{Text: test.text, Summary: test.summary, Paged: true}, result); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadAccess(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"sub/f": "x"})
	w.link("sub/f", "link")
	access, _, err := w.call(Read(), in{"path": "link"})
	want := tool.Access{Kind: tool.KindRead, Paths: []string{w.path("sub/f")}, Verb: "read", Object: "sub/f"}
	if diff := cmp.Diff(want, access); diff != "" || err != nil {
		t.Error(err, diff)
	}
	access, _, err = w.call(Read(), in{"path": "../outside/secret.txt"})
	if err != nil || !access.Outside || access.Why == "" || access.Verb != "read" {
		t.Errorf("%+v %v", access, err)
	}
	// Run does not rely on the policy.
	_, err = Read().Run(context.Background(), w.env, json.RawMessage(`{"path":"../outside/secret.txt"}`), io.Discard)
	var refused *files.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("outside: %v", err)
	}
}

func TestReadPages(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"lines": numbered(1, 5000),
		"wide": strings.Repeat(strings.Repeat("x", 999)+"\n", 200)})
	result := w.ok(Read(), in{"path": "lines"})
	if !strings.HasSuffix(result.Text, "  2000\tline 2000\n[lines 1-2000 of 5000; use offset=2001 to continue]\n") {
		t.Errorf("ends %q", result.Text[len(result.Text)-100:])
	}
	// The pages of a file put together are the file.
	var all strings.Builder
	for offset := 1; offset > 0; {
		text := w.ok(Read(), in{"path": "wide", "offset": offset, "limit": 3000}).Text
		if len(text) > readBytes+3000 {
			t.Fatalf("a page has %d bytes", len(text))
		}
		next := 0
		for line := range strings.Lines(text) {
			if number, content, ok := strings.Cut(line, "\t"); ok {
				all.WriteString(content)
				if n := 0; true {
					fmt.Sscan(number, &n)
					offset = n
				}
			} else if i := strings.Index(line, "use offset="); i >= 0 {
				fmt.Sscanf(line[i:], "use offset=%d", &next)
				if next != offset+1 {
					t.Fatalf("line %d is followed by offset %d", offset, next)
				}
			}
		}
		offset = next
	}
	if all.String() != w.content("wide") {
		t.Error("the pages are not the file")
	}
	w.fails(Read(), in{"path": "lines", "offset": 5001}, "offset 5001 is past the end", "5,000 lines")
	w.fails(Read(), in{"path": "lines", "offset": -1}, "count from 1")
}

// A file of 2 GB must be shown without being held in memory or read to its end.
func TestReadHugeFile(t *testing.T) {
	w := newFileWorld(t, map[string]string{"huge": numbered(1, 3000), "hole": ""})
	for _, name := range []string{"huge", "hole"} {
		if err := os.Truncate(w.path(name), 2<<30); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result := w.ok(Read(), in{"path": "huge", "limit": 2})
	if want := "     1\tline 1\n     2\tline 2\n[lines 1-2 of a file of 2.0 GB; use offset=3 to continue]\n"; result.Text != want {
		t.Errorf("text %q", result.Text)
	}
	result = w.ok(Read(), in{"path": "huge", "offset": 2999})
	if want := "  2999\tline 2999\n  3000\tline 3000\n[line 3001 is longer than 16.0 MB; nothing from there on is shown]\n"; result.Text != want {
		t.Errorf("text %q", result.Text)
	}
	if result = w.ok(Read(), in{"path": "hole"}); result.Summary != "binary, 2.0 GB" {
		t.Errorf("a hole: %+v", result)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 48<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	w.fails(Edit(), in{"path": "huge", "old_string": "line 1\n", "new_string": "x"}, "too large", "with a command")
	w.fails(Write(), in{"path": "huge", "content": "x"}, "too large")
}

func TestReadStopsWhenInterrupted(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "x\n"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read().Run(ctx, w.env, json.RawMessage(`{"path":"f"}`), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestReadImages(t *testing.T) {
	t.Parallel()
	images := map[string]string{"image/png": string(asPNG(t, halves(40, 20))),
		"image/jpeg": string(asJPEG(t, halves(40, 20))), "image/webp": string(unbase64(t, webpLossy))}
	for kind, data := range images {
		w := newFileWorld(t, map[string]string{"sub/image": data})
		result := w.ok(Read(), in{"path": "sub/image"})
		want := tool.Image{MediaType: kind, Data: []byte(data)}
		if kind != "image/jpeg" {
			shown, _ := mustRead(t, []byte(data), kind)
			want = shown.Image
		}
		want.Name = "sub/image"
		if diff := cmp.Diff([]tool.Image{want}, result.Images); diff != "" ||
			!strings.Contains(result.Text, "sub/image is an image ("+kind+", ") {
			t.Errorf("%s: %q %s", kind, result.Text, diff)
		}
	}
	w := newFileWorld(t, map[string]string{"big": images["image/png"], "cut.png": images["image/png"][:60],
		"pic.svg": "<svg/>\n", "x.bmp": "BM\x00\x00"})
	if err := os.Truncate(w.path("big"), maxImageFile+1); err != nil {
		t.Fatal(err)
	}
	w.fails(Read(), in{"path": "big"}, "limit is 3", "make a smaller copy")
	w.fails(Read(), in{"path": "cut.png"}, "cut.png: is an image (image/png, 60 bytes) that cannot be shown")
	if result := w.ok(Read(), in{"path": "pic.svg"}); result.Text != "     1\t<svg/>\n" {
		t.Errorf("svg: %+v", result)
	}
	if result := w.ok(Read(), in{"path": "x.bmp"}); result.Images != nil || !strings.Contains(result.Text, "image/bmp") {
		t.Errorf("bmp: %+v", result)
	}
}

// A PDF is shown as text, whose lines count, whatever its name; one that cannot be read says so.
func TestReadAPDF(t *testing.T) {
	t.Parallel()
	whole := string(pdftest.Of("An order", "Its sum"))
	w := newFileWorld(t, map[string]string{"order": whole, "broken.pdf": "%PDF-1.7\n\xff\x00", "big.pdf": whole})
	if err := os.Truncate(w.path("big.pdf"), pdf.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if result := w.ok(Read(), in{"path": "order"}); !strings.HasPrefix(result.Text, "[order is a PDF (") ||
		!strings.Contains(result.Text, "     1\t[page 1]\n     2\tAn order\n") || !strings.Contains(result.Text, "     5\tIts sum\n") ||
		result.Summary != "PDF, 6 lines" {
		t.Errorf("%+v", result)
	}
	if result := w.ok(Read(), in{"path": "order", "offset": 5, "limit": 1}); !strings.Contains(result.Text, "]\n     5\tIts sum\n[lines 5-5 of 6") {
		t.Errorf("%+v", result)
	}
	w.fails(Read(), in{"path": "order", "offset": 7}, "past the end")
	w.fails(Read(), in{"path": "broken.pdf"}, "broken.pdf: the PDF cannot be read")
	w.fails(Read(), in{"path": "big.pdf"}, "the limit is 20")
	w.fails(Write(), in{"path": "order", "content": "x"}, "order")
}

func TestReadWhatIsNoFile(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"internal/cart/week.go": "", "internal/cart/cart.go": "",
		"internal/cart/cart_test.go": "", "README.md": ""})
	w.link("gone", "dangling")
	for path, words := range map[string][]string{
		"internal":               {"internal: is a directory", "ls"},
		"internal/cart/weeks.go": {"internal/cart/weeks.go: does not exist", "internal/cart/week.go", "glob"},
		"internal/cart/wekk.go":  {"internal/cart/week.go"},
		"internal/cart/card.go":  {"near it: internal/cart/cart.go;"},
		"internal/kart/cart.go":  {"there is no kart in internal", "near it: internal/cart"},
		"readme":                 {"README.md"},
		"zzz":                    {"zzz: does not exist; glob"},
		"dangling":               {"gone: does not exist"},
		"README.md/x":            {"not a directory"},
	} {
		w.fails(Read(), in{"path": path}, words...)
	}
}
