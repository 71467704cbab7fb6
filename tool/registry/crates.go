package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// cargo is what files of cargo say of registries.
type cargo struct {
	Source     map[string]cargoSource   `toml:"source"`
	Registries map[string]cargoRegistry `toml:"registries"`
}

type cargoSource struct {
	ReplaceWith string `toml:"replace-with,omitempty"`
	Registry    string `toml:"registry,omitempty"`
}

type cargoRegistry struct {
	Index    string `toml:"index,omitempty"`
	Token    string `toml:"token,omitempty"`
	Provider any    `toml:"credential-provider,omitempty"`
}

var cargoVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(CARGO_REGISTRIES_(\w+)_(INDEX|TOKEN|CREDENTIAL_PROVIDER))=(.+)`)
})

// crates reads cargo's files: no command of a stable cargo prints them.
func crates(_ context.Context, u user) ([]source, map[string]string, error) {
	home := u.short(cmp.Or(u.own.Get("CARGO_HOME"), "~/.cargo"))
	replaced, registries := map[string]string{}, map[string]source{}
	files := []string{"config.toml", "config", "credentials.toml", "credentials"}
	for i := range files {
		files[i] = filepath.Join(home, files[i])
	}
	contents, err := u.read(files...)
	if err != nil {
		return nil, nil, err
	}
	told := cargo{map[string]cargoSource{}, map[string]cargoRegistry{}}
	for i, file := range files {
		var says cargo
		if err := toml.Unmarshal([]byte(contents[i]), &says); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		for name, of := range says.Source {
			told.Source[name] = of
			replaced[name] = of.ReplaceWith
			if of.Registry != "" {
				registries[variable(name)] = source{url: of.Registry}
			}
		}
		for name, of := range says.Registries {
			known := registries[variable(name)]
			known.url = cmp.Or(of.Index, known.url)
			if of.Token != "" || of.Provider != nil {
				known.key = file
			}
			registries[variable(name)] = known
			told.Registries[name] = cargoRegistry{Index: known.url}
		}
	}
	for _, kv := range u.own {
		if set := cargoVariable().FindStringSubmatch(kv); set != nil {
			known := registries[set[2]]
			if set[3] == "INDEX" {
				known.url = set[4]
			} else {
				known.key = set[1]
			}
			registries[set[2]] = known
		}
	}
	text, err := toml.Marshal(told)
	return cratesFrom(replaced, registries), map[string]string{files[0]: string(text)}, err
}

// variable is the name of a registry within that of a variable.
func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// cratesFrom are the registry that takes the place of crates.io, and all others.
func cratesFrom(replaced map[string]string, registries map[string]source) []source {
	name, order := "crates-io", slices.Sorted(maps.Keys(registries))
	for range replaced {
		name = cmp.Or(replaced[name], name)
	}
	sources := []source{}
	if name == "crates-io" {
		sources = append(sources, source{})
	}
	for _, name := range append([]string{variable(name)}, order...) {
		of := registries[name]
		sources = append(sources, sourcesOf(of.url, of.key)...)
		if of.url == "" && of.key != "" {
			sources = append(sources, source{key: of.key, spare: true, registry: name})
		}
	}
	return sources
}
