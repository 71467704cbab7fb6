package edit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"

	"artoo/tool/files"
)

// CountDiff counts the lines of a diff.
func CountDiff(unified udiff.UnifiedDiff) (added, removed int) {
	for _, h := range unified.Hunks {
		for _, line := range h.Lines {
			switch line.Kind {
			case udiff.Insert:
				added++
			case udiff.Delete:
				removed++
			}
		}
	}
	return added, removed
}

// Label is a file name in the head of a diff, quoted like git does if it could
// be taken for more.
func Label(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsAny(name, `"\`) {
		return strconv.Quote(name)
	}
	return name
}

// DiffFiles compares two contents of a file, of which one may not be there, as a
// unified diff; contents that are no text are named by their type and size. name is
// as shown. The error says that they could not be compared.
func DiffFiles(name string, before, after []byte, was, is bool) (string, error) {
	from, to := Label("a/"+name), Label("b/"+name)
	if !was {
		from = "/dev/null"
	}
	if !is {
		to = "/dev/null"
	}
	old, oldErr := files.Decode(before)
	now, nowErr := files.Decode(after)
	kind := files.BinaryType(after)
	if kind == "" {
		kind = files.BinaryType(before)
	}
	if oldErr != nil || nowErr != nil || kind != "" {
		if kind == "" {
			kind = "binary"
		}
		switch {
		case !was:
			return fmt.Sprintf("%s: new, %s, %d bytes\n", name, kind, len(after)), nil
		case !is:
			return fmt.Sprintf("%s: deleted, %s, %d bytes\n", name, kind, len(before)), nil
		}
		return fmt.Sprintf("%s: %s, %d bytes, before %d\n", name, kind, len(after), len(before)), nil
	}
	if was && is && old.Body == now.Body {
		return fmt.Sprintf("%s: only line ends or the encoding changed\n", name), nil
	}
	unified, err := udiff.ToUnifiedDiff(from, to, old.Body, udiff.Lines(old.Body, now.Body), udiff.DefaultContextLines)
	if err != nil {
		return "", err
	}
	if text := unified.String(); text != "" {
		return text, nil
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", from, to), nil // an empty file
}
