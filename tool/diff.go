package tool

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"
)

// DiffFiles compares two contents of a file, of which one may not be there, as a
// unified diff; contents that are no text are named by their type and size. name is
// as shown. The error says that they could not be compared.
func DiffFiles(name string, before, after []byte, was, is bool) (string, error) {
	from, to := label("a/"+name), label("b/"+name)
	if !was {
		from = "/dev/null"
	}
	if !is {
		to = "/dev/null"
	}
	old, oldErr := decodeText(before)
	now, nowErr := decodeText(after)
	kind := binaryType(after)
	if kind == "" {
		kind = binaryType(before)
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
	if was && is && old.body == now.body {
		return fmt.Sprintf("%s: only line ends or the encoding changed\n", name), nil
	}
	unified, err := udiff.ToUnifiedDiff(from, to, old.body, udiff.Lines(old.body, now.body), udiff.DefaultContextLines)
	if err != nil {
		return "", err
	}
	if text := unified.String(); text != "" {
		return text, nil
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", from, to), nil // an empty file
}
