package registry

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	bundleSetting = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^BUNDLE_(\S+?)(?:=|:\s)\s*["']?(.*?)["']?\s*$`)
	})
	gemSources = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^:?sources:(.*(?:\n[ \t]*-.*)*)`)
	})
)

// rubygems reads the files of bundler and gem, which would take a second each to say the same. In names of bundler's
// settings __ is a dot and ___ a hyphen.
func rubygems(_ context.Context, u user) ([]source, map[string]string, error) {
	bundle := filepath.Join(cmp.Or(u.own.Get("BUNDLE_USER_HOME"), "~/.bundle"), "config")
	bundle = cmp.Or(u.own.Get("BUNDLE_USER_CONFIG"), bundle)
	gems := append([]string{"/etc/gemrc", "~/.gemrc", u.config("gem/gemrc")}, filepath.SplitList(u.own.Get("GEMRC"))...)
	texts, err := u.read(append(gems, bundle)...)
	if err != nil {
		return nil, nil, err
	}
	var sources []source
	settings, told := map[string]string{}, map[string]string{}
	for _, set := range bundleSetting().FindAllStringSubmatch(texts[len(gems)]+"\n"+strings.Join(u.own, "\n"), -1) {
		settings[strings.NewReplacer("___", "-", "__", ".").Replace(strings.ToLower(set[1]))] = set[2]
		if strings.HasPrefix(set[1], "MIRROR__") {
			told[bundle] += "BUNDLE_" + set[1] + ": \"" + set[2] + "\"\n"
		}
	}
	main := false
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if of, ok := strings.CutPrefix(name, "mirror."); ok {
			found := sourcesOf(settings[name], "")
			sources = append(sources, found...)
			main = main || len(found) > 0 && (of == "all" || strings.Contains(of, "//rubygems.org"))
		}
	}
	for i, text := range texts[:len(gems)] {
		for _, found := range gemSources().FindAllStringSubmatch(text, -1) {
			told[gems[i]] = found[0] + "\n"
			sources, main = append(sources, sourcesOf(found[1], "")...), true
		}
	}
	if !main {
		sources = slices.Insert(sources, 0, source{})
	}
	// A setting with the name of a host is its key.
	for name := range settings {
		settings[name] = u.short(bundle)
	}
	return withKeys(sources, settings), told, nil
}
