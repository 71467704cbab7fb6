package builtin

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

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/pdf"
	"artoo/tool/text"
)

// The limits of one read.
const (
	readLines = 2000      // lines shown unless asked otherwise
	readBytes = 100 << 10 // bytes shown, whatever was asked: so many ordinary lines of code with their numbers
	maxLine   = 2000      // bytes shown of one line
)

type readInput struct {
	Path   string `json:"path" jsonschema:"relative to the working directory, or absolute"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines; default 2000"`

	bytes int // how many are shown at most
}

// Read is the tool that shows a file.
func Read() tool.Tool {
	return tool.New(tool.Def{
		Name: "read",
		Kind: tool.KindRead,
		Description: "Show a file: text as lines, each after its number and a tab, which are not part of the file; " +
			"images (PNG, JPEG, GIF, WebP); PDFs as text; notebooks as cells, which offset and limit then count. " +
			"Long files come in pieces. For a directory use ls.",
	}, planRead, runRead)
}

func planRead(_ context.Context, env *tool.Env, in readInput) (tool.Access, error) {
	t, err := env.Files.ResolveRead(in.Path)
	if err != nil {
		return tool.Access{Kind: tool.KindRead, Verb: "read", Object: in.Path}, err
	}
	access := accessTo(t, tool.KindRead, "read", t.Display)
	if in.Offset < 0 || in.Limit < 0 {
		return access, errors.New("offset and limit count from 1")
	}
	return access, nil
}

func runRead(ctx context.Context, env *tool.Env, in readInput, _ io.Writer) (tool.Result, error) {
	t, err := env.Files.ResolveRead(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	file, info, err := t.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{}, missingFile(ctx, env, t, "glob finds files by name")
	}
	if err != nil {
		return tool.Result{}, err
	}
	defer file.Close()
	if info.IsDir() {
		return tool.Result{}, t.Errorf(nil, "is a directory; ls lists it")
	}
	in.Offset = max(in.Offset, 1)
	if in.Limit <= 0 {
		in.Limit = readLines
	}
	in.bytes = env.Page(readBytes)
	if isPDF(file) {
		return showPDF(ctx, t, env, file, info.Size(), in)
	}
	result, seen, err := showFile(ctx, t, file, info, in)
	if err != nil {
		return tool.Result{}, err
	}
	env.Files.Seen.AddPage(t.Abs, seen)
	if seen.Kept {
		result.Text = hideInside(env, result.Text, seen.Body, in.Offset)
	}
	result.Paged = true
	return result, nil
}

// show reads as much of the file as is needed, and tells what of it was shown.
func showFile(ctx context.Context, t files.Place, file *os.File, info fs.FileInfo, in readInput) (tool.Result, files.Sight, error) {
	seen := files.Sight{State: files.State{ModTime: info.ModTime(), Size: info.Size()}}
	source := contextReader{ctx, file}
	head, err := io.ReadAll(io.LimitReader(source, files.HeadSize))
	if err != nil {
		return tool.Result{}, seen, t.Errorf(err, "")
	}
	rest := io.MultiReader(bytes.NewReader(head), source)
	if kind := files.BinaryType(head); kind != "" {
		result, err := showBinary(t, rest, info.Size(), kind)
		return result, seen, err
	}
	if info.Size() > files.MaxEdit {
		result, err := showText(t, rest, info.Size(), in, false, &seen)
		return result, seen, err
	}
	hash := sha256.New()
	copied := &textCopy{}
	rest = io.TeeReader(io.LimitReader(rest, files.MaxEdit), io.MultiWriter(hash, copied))
	var result tool.Result
	if strings.EqualFold(path.Ext(t.Display), ".ipynb") {
		result, err = showNotebook(t, rest, info.Size(), in, &seen)
	} else {
		result, err = showText(t, rest, info.Size(), in, true, &seen)
	}
	hash.Sum(seen.Hash[:0])
	seen.Body, seen.Kept = copied.text()
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
func showPDF(ctx context.Context, t files.Place, env *tool.Env, file *os.File, size int64, in readInput) (tool.Result, error) {
	if size > pdf.MaxSize {
		return tool.Result{}, t.Errorf(nil, "is a PDF of %s; the limit is %s", text.Bytes(size), text.Bytes(pdf.MaxSize))
	}
	content, err := pdf.Text(ctx, file, size)
	if err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	result, err := showText(t, strings.NewReader(content), int64(len(content)), in, true, &files.Sight{})
	if err != nil {
		return tool.Result{}, err
	}
	result.Text = hideInside(env, fmt.Sprintf("[%s is a PDF (%s); this is its text]\n", t.Display, text.Bytes(size))+result.Text, content, in.Offset)
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
func showBinary(t files.Place, r io.Reader, size int64, kind string) (tool.Result, error) {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return tool.Result{
			Text: fmt.Sprintf("%s is a binary file (%s, %s), which cannot be shown as text", t.Display, kind,
				text.Bytes(size)),
			Summary: "binary, " + text.Bytes(size),
		}, nil
	}
	if size > maxImageFile {
		return tool.Result{}, t.Errorf(nil, "is an image of %s (%s); the limit is %s, make a smaller copy first",
			text.Bytes(size), kind, text.Bytes(maxImageFile))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxImageFile))
	if err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	p, err := readImage(data, kind)
	if err != nil {
		return tool.Result{}, t.Errorf(nil, "is an image (%s, %s) that cannot be shown: %v", kind, text.Bytes(size), err)
	}
	p.Name = strings.ToValidUTF8(t.Display, "\uFFFD")
	return tool.Result{
		Text:    fmt.Sprintf("%s is an image (%s, %s, %s)", t.Display, kind, p.size(), text.Bytes(size)),
		Images:  []tool.Image{p.Image},
		Summary: fmt.Sprintf("image, %dx%d, %s", p.width, p.height, text.Bytes(size)),
	}, nil
}
