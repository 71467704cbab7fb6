// Package schemas reads JSON Schemas as encoding/json has them.
package schemas

import (
	"net/url"
	"strconv"
	"strings"
)

// At is the part of a schema that a reference of the form #/a/b names; ok is false for another reference, and where
// it leads nowhere.
func At(root any, ref string) (part any, ok bool) {
	ref, err := url.PathUnescape(ref)
	if err != nil || ref != "#" && !strings.HasPrefix(ref, "#/") {
		return nil, false
	}
	part = root
	for _, name := range strings.Split(ref, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch at := part.(type) {
		case map[string]any:
			part, ok = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if ok = err == nil && i >= 0 && i < len(at); ok {
				part = at[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return part, true
}
