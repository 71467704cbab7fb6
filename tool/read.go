package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"artoo/tool/pdf"
)

// The limits of one read.
const (
	readLines = 2000      // lines shown unless asked otherwise
	readBytes = 100 << 10 // bytes shown, whatever was asked: so many ordinary lines of code with their numbers
	pageNote  = 500       // kept for the words around them
	maxLine   = 2000      // bytes shown of one line
)

type readInput struct {
	Path   string `json:"path" jsonschema:"file, relative to the working directory or absolute"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to show, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to show, 2000 if left out"`

	bytes int // how many are shown at most
}

// Read is the tool that shows a file.
func Read() Tool {
	return New(Def{
		Name: "read",
		Kind: KindRead,
		Mend: mendRead,
		Description: "Show a file: text as lines, each after its number and a tab, which are not part of the file. " +
			"Long files come in pieces; offset and limit choose the lines. Images (PNG, JPEG, GIF, WebP) are shown to you, " +
			"PDFs as text, notebooks as cells, which offset and limit then count. For a directory use ls.",
	}, planRead, runRead)
}

func planRead(_ context.Context, env *Env, in readInput) (Access, error) {
	t, err := env.Files.resolveRead(in.Path)
	if err != nil {
		return Access{Kind: KindRead, Verb: "read", Object: in.Path}, err
	}
	access := t.access(KindRead, "read", t.Display)
	if in.Offset < 0 || in.Limit < 0 {
		return access, errors.New("offset and limit count from 1")
	}
	return access, nil
}

func runRead(ctx context.Context, env *Env, in readInput, _ io.Writer) (Result, error) {
	t, err := env.Files.resolveRead(in.Path)
	if err != nil {
		return Result{}, err
	}
	file, info, err := t.open()
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, missingFile(ctx, env, t, "glob finds files by name")
	}
	if err != nil {
		return Result{}, err
	}
	defer file.Close()
	if info.IsDir() {
		return Result{}, t.errorf(nil, "is a directory; ls lists it")
	}
	in.Offset = max(in.Offset, 1)
	if in.Limit <= 0 {
		in.Limit = readLines
	}
	in.bytes = env.page(readBytes)
	if isPDF(file) {
		return t.showPDF(ctx, env, file, info.Size(), in)
	}
	result, seen, err := t.show(ctx, file, info, in)
	if err != nil {
		return Result{}, err
	}
	env.Files.rememberPage(t.Abs, seen)
	if seen.kept {
		result.Text = env.hideInside(result.Text, seen.body, in.Offset)
	}
	result.Paged = true
	return result, nil
}

// show reads as much of the file as is needed, and tells what of it was shown.
func (t target) show(ctx context.Context, file *os.File, info fs.FileInfo, in readInput) (Result, sight, error) {
	seen := sight{State: State{ModTime: info.ModTime(), Size: info.Size()}}
	source := contextReader{ctx, file}
	head, err := io.ReadAll(io.LimitReader(source, headSize))
	if err != nil {
		return Result{}, seen, t.errorf(err, "")
	}
	rest := io.MultiReader(bytes.NewReader(head), source)
	if kind := binaryType(head); kind != "" {
		result, err := t.showBinary(rest, info.Size(), kind)
		return result, seen, err
	}
	if info.Size() > maxEdit {
		result, err := t.showText(rest, info.Size(), in, false, &seen)
		return result, seen, err
	}
	hash := sha256.New()
	copied := &textCopy{}
	rest = io.TeeReader(io.LimitReader(rest, maxEdit), io.MultiWriter(hash, copied))
	var result Result
	if strings.EqualFold(path.Ext(t.Display), ".ipynb") {
		result, err = t.showNotebook(rest, info.Size(), in, &seen)
	} else {
		result, err = t.showText(rest, info.Size(), in, true, &seen)
	}
	hash.Sum(seen.Hash[:0])
	seen.body, seen.kept = copied.text()
	return result, seen, err
}

// isPDF reports whether a file begins as a PDF does.
func isPDF(file io.ReaderAt) bool {
	head := make([]byte, len(pdf.Magic))
	_, err := file.ReadAt(head, 0) // one that cannot be read fails again where that is said
	return err == nil && string(head) == pdf.Magic
}

// showPDF shows the text of a PDF, whose lines offset and limit count. The file itself
// is not shown by that.
func (t target) showPDF(ctx context.Context, env *Env, file *os.File, size int64, in readInput) (Result, error) {
	if size > pdf.MaxSize {
		return Result{}, t.errorf(nil, "is a PDF of %s; the limit is %s", byteSize(size), byteSize(pdf.MaxSize))
	}
	text, err := pdf.Text(ctx, file, size)
	if err != nil {
		return Result{}, t.errorf(err, "")
	}
	result, err := t.showText(strings.NewReader(text), int64(len(text)), in, true, &sight{})
	if err != nil {
		return Result{}, err
	}
	result.Text = env.hideInside(fmt.Sprintf("[%s is a PDF (%s); this is its text]\n", t.Display, byteSize(size))+result.Text, text, in.Offset)
	result.Summary = "PDF, " + result.Summary
	result.Paged = true
	return result, nil
}

// contextReader stops reading when the context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// showBinary returns an image, or says what the file is.
func (t target) showBinary(r io.Reader, size int64, kind string) (Result, error) {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return Result{
			Text: fmt.Sprintf("%s is a binary file (%s, %s), which cannot be shown as text", t.Display, kind,
				byteSize(size)),
			Summary: "binary, " + byteSize(size),
		}, nil
	}
	if size > maxImageFile {
		return Result{}, t.errorf(nil, "is an image of %s (%s); the limit is %s, make a smaller copy first",
			byteSize(size), kind, byteSize(maxImageFile))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxImageFile))
	if err != nil {
		return Result{}, t.errorf(err, "")
	}
	p, err := readImage(data, kind)
	if err != nil {
		return Result{}, t.errorf(nil, "is an image (%s, %s) that cannot be shown: %v", kind, byteSize(size), err)
	}
	p.Name = strings.ToValidUTF8(t.Display, "\uFFFD")
	return Result{
		Text:    fmt.Sprintf("%s is an image (%s, %s, %s)", t.Display, kind, p.size(), byteSize(size)),
		Images:  []Image{p.Image},
		Summary: fmt.Sprintf("image, %dx%d, %s", p.width, p.height, byteSize(size)),
	}, nil
}
