// Package registry knows where the user's own package managers get packages from.
package registry

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/tool/names"
	"artoo/tool/proxy"
	"artoo/tool/text"
)

//go:embed hosts.txt
var hostsFile string

// asking has for each set who knows its sources, with files that name them. nil sources stand for the public registry.
var asking = map[string]func(context.Context, user) ([]source, map[string]string, error){
	"npm": npm, "pypi": pypi, "go": golang, "crates": crates, "rubygems": rubygems, "maven": maven,
}

// Sets are the names of sets.
func Sets() []string { return []string{"npm", "pypi", "go", "crates", "rubygems", "maven"} }

// Place is where the packages of a set come from.
type Place struct {
	// Hosts are the registries that the user's package managers are set to, then further hosts of public ones. Own is
	// set for those that are no public registry.
	Hosts []proxy.Host
	// Key says why one of Hosts needs a key of the user's, as "registry.corp.example takes the key of ~/.npmrc"; "" if
	// none does. A public registry needs none: its keys are for publishing.
	Key string
	// Keys say where keys for other hosts are, by their names: what a project names may be at one of these.
	Keys map[string]string
	// Kept say where keys are that a package manager keeps by the name of a registry, whose address a project may have.
	Kept map[string]string
	// Files are texts of files in the home, by their paths, that tell the package managers of a registry that is no
	// public one, and nothing else: the user's own may hold keys.
	Files map[string]string
}

// source is where packages come from, as a package manager is set to it. Without a URL it is the public registry.
type source struct {
	url string
	// key names where a key for it is kept, "" for none.
	key string
	// spare says that nothing comes from there: it has a key alone, for its host or, without a URL, for registry.
	spare    bool
	registry string
	// name is the setting that names it, where a file that has it may have others.
	name string
}

// Of asks the package managers of a set where packages come from. own are the user's variables; PWD of them is in the
// project, whose files are not asked. dir is a directory without files of the project. Programs are run by own's PATH,
// for at most 10 seconds. Where none is installed the files that it would read count, or else the public registry.
// keyed reports whether a URL holds a key in another place than before its host, as in its path.
func Of(ctx context.Context, set string, own environ.Vars, dir string, keyed func(url string) bool) (Place, error) {
	ask, ok := asking[set]
	if !ok {
		return Place{}, fmt.Errorf("unknown set %q: use %s", set, strings.Join(Sets(), ", "))
	}
	ctx, cancel := context.WithTimeout(ctx, 9*time.Second)
	defer cancel()
	u := user{outside(own), dir}
	sources, files, err := ask(ctx, u)
	if err != nil {
		return Place{}, err
	}
	if sources == nil {
		sources = []source{{}}
	}
	place := placeOf(sources, public(set), keyed)
	if place.Key == "" && slices.ContainsFunc(place.Hosts, func(h proxy.Host) bool { return h.Own }) {
		place.Files = u.inHome(files)
	}
	return place, nil
}

// inHome are the texts that files have, of those in the home, by their absolute paths.
func (u user) inHome(files map[string]string) map[string]string {
	found := map[string]string{}
	for file, text := range files {
		path := names.Abs(u.dir, names.InHome(file, u.own.Home()))
		if text != "" && path != u.own.Home() && names.Within(u.own.Home(), path) {
			found[path] = text
		}
	}
	return found
}

// placeOf makes a Place of sources. known are rows of public registries.
func placeOf(sources []source, known [][]string, keyed func(url string) bool) (place Place) {
	var further []proxy.Host
	place.Keys, place.Kept = map[string]string{}, map[string]string{}
	for _, from := range sources {
		if from.spare && from.url == "" {
			place.Kept[from.registry] = from.key
			continue
		}
		host, user := hostOf(cmp.Or(from.url, "https://"+known[0][0]))
		if from.spare {
			place.Keys[cmp.Or(host.Name, anyHost)] = from.key
			continue
		}
		if host.Name == "" {
			continue
		}
		at := slices.IndexFunc(known, func(row []string) bool { return slices.Contains(row, host.Name) })
		host.Own = at < 0
		place.Hosts = append(place.Hosts, host)
		if !host.Own && known[at][0] == host.Name {
			for _, name := range known[at][1:] {
				further = append(further, proxy.Host{Name: name})
			}
		}
		inURL := user || keyed(from.url)
		if inURL {
			from.key = cmp.Or(from.key, "its URL")
		}
		if (host.Own || inURL) && from.key != "" && place.Key == "" {
			place.Key = host.Name + " takes the key of " + from.key
		}
	}
	seen := map[proxy.Host]bool{}
	place.Hosts = slices.DeleteFunc(append(place.Hosts, further...), func(host proxy.Host) bool {
		before := seen[host]
		seen[host] = true
		return before
	})
	return place
}

// public has the rows of hosts.txt of a set, without its name.
func public(set string) (rows [][]string) {
	for line := range strings.Lines(hostsFile) {
		if row := strings.Fields(line); len(row) > 1 && row[0] == set {
			rows = append(rows, row[1:])
		}
	}
	return rows
}

var (
	urlForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"'<>,|]+`) })
	nameForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([a-z0-9_-]+\.)*[a-z0-9_-]+\.?$|^[0-9a-f:]+$`)
	})
)

// hostOf is the host of a URL, without a name if it has none that can be one, and whether the URL has a user or
// password.
func hostOf(address string) (host proxy.Host, keyed bool) {
	u, err := url.Parse(address)
	if err != nil || !nameForm().MatchString(strings.ToLower(u.Hostname())) {
		return proxy.Host{}, false
	}
	host = proxy.Host{Name: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), Port: u.Port()}
	if host.Port == map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host.Port = ""
	}
	return host, u.User != nil
}

// user is whose package managers are asked.
type user struct {
	own environ.Vars
	dir string
}

// outside has the variables but those that name a path of the project, which is the repository around PWD, or PWD: what
// is there may be anyone's. A home directory and those above it are no project.
func outside(own environ.Vars) environ.Vars {
	root, home := names.Real(own.Get("PWD")), names.Real(own.Home())
	for at := root; at != filepath.Dir(at) && !names.Within(at, home); at = filepath.Dir(at) {
		if names.Exists(filepath.Join(at, ".git")) {
			root = at
			break
		}
	}
	if root == "" || names.Within(root, home) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(own), func(kv string) bool {
		_, value, _ := strings.Cut(kv, "=")
		return filepath.IsAbs(value) && names.Within(root, names.Real(value))
	})
}

// run is what a program prints. It starts in dir.
func (u user) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := u.own.With("PWD", u.dir).Command(ctx, name, args...)
	var failed bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &failed, time.Second
	out, err := cmd.Output()
	if err = cmp.Or(ctx.Err(), err); err != nil {
		said := cmp.Or(strings.Join(strings.Fields(failed.String()), " "), "no message")
		return "", fmt.Errorf("%s %s: %w (%s)", name, strings.Join(args, " "), err, text.Clip(said, 300))
	}
	return string(out), nil
}

// read has the texts of files as seen from dir, "" for one that does not exist.
func (u user) read(files ...string) (texts []string, err error) {
	for _, file := range files {
		data, err := os.ReadFile(names.Abs(u.dir, names.InHome(file, u.own.Home())))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		texts = append(texts, string(data))
	}
	return texts, nil
}

// config is the path of a file of settings, below XDG_CONFIG_HOME.
func (u user) config(path string) string {
	return filepath.Join(cmp.Or(u.own.Get("XDG_CONFIG_HOME"), "~/.config"), path)
}

// short writes a path with ~ for the home.
func (u user) short(path string) string {
	if below, ok := strings.CutPrefix(path, u.own.Home()+"/"); ok {
		return "~/" + below
	}
	return path
}

// netrc gives sources without a key that of ~/.netrc for their host.
func (u user) netrc(sources []source) ([]source, error) {
	file := u.short(cmp.Or(u.own.Get("NETRC"), "~/.netrc"))
	content, err := u.read(file)
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for at, words := 0, strings.Fields(content[0]); at < len(words); at++ {
		switch {
		case words[at] == "default":
			keys[anyHost] = file
		case words[at] == "machine" && at+1 < len(words):
			keys[words[at+1]] = file
		}
	}
	return withKeys(sources, keys), nil
}

// anyHost stands for each host that has no key of its own.
const anyHost = "*"

// withKeys gives sources the keys of their hosts, and adds those of other hosts. keys says by host where one is kept.
func withKeys(sources []source, keys map[string]string) []source {
	for i, from := range sources {
		host, _ := hostOf(from.url)
		sources[i].key = cmp.Or(from.key, keys[host.Name], keys[anyHost])
	}
	for name, where := range keys {
		sources = append(sources, source{url: "https://" + name, key: where, spare: true})
	}
	return sources
}

// sourcesOf are the URLs in a text as sources with that key.
func sourcesOf(text, key string) (sources []source) {
	for _, found := range urlForm().FindAllString(text, -1) {
		sources = append(sources, source{url: found, key: key})
	}
	return sources
}
