package tool

import (
	"context"
	"path"
	"path/filepath"
	"time"
)

// elsewhereTimeout is how long the name of a missing file is looked for in other
// directories.
const elsewhereTimeout = time.Second

// elsewhere is the only file of the project that has the name of a missing one, as
// a path that tools take; "" for none, for several, and where the project is too
// large to tell soon.
func elsewhere(ctx context.Context, env *Env, t target) string {
	ctx, cancel := context.WithTimeout(ctx, elsewhereTimeout)
	defer cancel()
	names, more, err := List(ctx, env, env.Files.Root())
	if err != nil || more {
		return ""
	}
	only := ""
	for _, name := range names {
		if path.Base(name) != filepath.Base(t.Abs) {
			continue
		}
		place, err := env.Files.Resolve(filepath.Join(env.Files.Root(), filepath.FromSlash(name)), false)
		if err != nil || place.Outside || place.Denied {
			continue
		}
		if only != "" {
			return ""
		}
		only = printable(place.Display)
	}
	return only
}

// missingFile is missing with the one file of that name elsewhere.
func missingFile(ctx context.Context, env *Env, t target, hint string) error {
	if at := elsewhere(ctx, env, t); at != "" {
		hint = "the only file of that name is " + at
	}
	return env.Files.missing(t, hint)
}
