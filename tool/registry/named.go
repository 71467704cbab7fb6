package registry

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"artoo/tool/proxy"
)

// Named is a host that a file of the project names.
type Named struct {
	Host proxy.Host
	// File is relative to the directory.
	File string
	// Key is where the user keeps a key for it, "" for none.
	Key string
}

const (
	mostNamed = 20
	mostBytes = 20 << 20
)

// naming has for each set the files that name hosts, as patterns, each with a form of what stands before a URL there.
var naming = map[string][]struct{ files, before string }{
	"npm": {
		{"package-lock.json", `"resolved":\s*"(?:git\+)?`},
		{"npm-shrinkwrap.json", `"resolved":\s*"(?:git\+)?`},
		{"pnpm-lock.yaml", `tarball:\s*["']?`},
		{"yarn.lock", `(?m)^\s+(?:resolved|resolution:)\s+"(?:[^"\s]+@)?`},
		{"bun.lock", `"`},
		{".npmrc", `(?m)^[ \t]*(?:@[^=\s]+:)?registry\s*=\s*["']?`},
		{".yarnrc", `(?m)registry["']?\s+["']?`},
		{".yarnrc.yml", `npmRegistryServer:\s*["']?`},
	},
	"pypi": {
		{"poetry.lock", `\burl\s*=\s*"`},
		{"uv.lock", `\b(?:url|registry|git)\s*=\s*"(?:git\+)?`},
		{"Pipfile.lock", `"url":\s*"`},
		{"Pipfile", `\burl\s*=\s*"`},
		{"pyproject.toml", `(?m)(?:^(?:url|(?:extra-)?index-url|find-links)\s*=[\s\["]*|"[^"@]+@\s*(?:git\+)?)`},
		{"uv.toml", `(?m)^(?:url|(?:extra-)?index-url|find-links)\s*=[\s\["]*`},
		{"requirements*.txt", `(?m)^[ \t]*(?:--?[\w-]+[ =]\s*|[\w.\[\], -]+@\s*)?(?:git\+)?`},
	},
	"crates": {
		{"Cargo.lock", `(?m)^source\s*=\s*"(?:registry|sparse|git)\+`},
		{"Cargo.toml", `\bgit\s*=\s*"`},
		{".cargo/config.toml", `\b(?:registry|index)\s*=\s*"(?:sparse\+)?`},
	},
	"rubygems": {
		{"Gemfile.lock", `(?m)^\s+remote:\s+`},
		{"Gemfile", `(?m)^\s*source[\s(]+["']`},
	},
	"maven": {
		{"pom.xml", `(?s)<(?:repository|pluginRepository)>.*?<url>\s*`},
		{"*.gradle", `\b(?:url|uri)\b[\s=(]*(?:uri\s*\(\s*)?["']`},
		{"*.gradle.kts", `\b(?:url|uri|maven)\b[\s=(]*(?:uri\s*\(\s*)?["']`},
	},
}

// cratesIndex is how Cargo.lock writes the public registry, which cargo does not get there.
const cratesIndex = "https://github.com/rust-lang/crates.io-index"

// Files are those of a project that name hosts. Each is read once as long as it has the same size and time. The zero
// value has read none; it is for one goroutine at a time.
type Files struct{ read map[string]reading }

// reading is what a file named when it was read.
type reading struct {
	size  int64
	time  time.Time
	hosts []proxy.Host
	// key is one that the user keeps by a name that the file has.
	key string
}

// NamedBy are the hosts that files in a directory of the project name for a set, each once, at most 20. They are for a
// question to show, since the files may be anyone's. No link out of the directory is followed. at is where
// packages of the set come from.
func (f *Files) NamedBy(root, set string, at Place) ([]Named, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var found []Named
	for _, in := range naming[set] {
		files, err := fs.Glob(dir.FS(), in.files)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			says, err := f.hostsIn(dir, file, set, in.before, at.Kept)
			if err != nil {
				return nil, err
			}
			for _, host := range says.hosts {
				known := slices.ContainsFunc(found, func(n Named) bool { return n.Host == host })
				if !known && len(found) < mostNamed {
					found = append(found, Named{host, file, cmp.Or(at.Keys[host.Name], at.Keys[anyHost], says.key)})
				}
			}
		}
	}
	return found, nil
}

// hostsIn are the hosts behind before in a file, each once. The public registry is left out: files name it also where
// the user's package manager asks another one in its place.
func (f *Files) hostsIn(dir *os.Root, file, set, before string, kept map[string]string) (reading, error) {
	info, err := dir.Stat(file)
	if err != nil {
		return reading{}, err
	}
	at := filepath.Join(dir.Name(), file) + "\n" + set
	last, known := f.read[at]
	if known && last.size == info.Size() && last.time.Equal(info.ModTime()) {
		return last, nil
	}
	content, err := head(dir, file)
	if err != nil {
		return reading{}, err
	}
	now, leftOut := reading{size: info.Size(), time: info.ModTime()}, slices.Concat(public(set)...)
	for _, address := range regexp.MustCompile(before+`(https?://[^\s"'<>,|]+)`).FindAllSubmatch(content, -1) {
		host, _ := hostOf(string(address[1]))
		if host.Name != "" && string(address[1]) != cratesIndex && !slices.Contains(leftOut, host.Name) &&
			!slices.Contains(now.hosts, host) && len(now.hosts) < mostNamed {
			now.hosts = append(now.hosts, host)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if now.key == "" && nameIn(content, name) {
			now.key = kept[name]
		}
	}
	if f.read == nil {
		f.read = map[string]reading{}
	}
	f.read[at] = now
	return now, nil
}

// nameIn reports whether a file has the name of a registry. In variables it is written in capitals, with _ for other
// characters.
func nameIn(content []byte, name string) bool {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(name), "_", `[-_.]`) + `\b`).Match(content)
}

// head is the beginning of a file, of which no more is read. Nothing is waited for.
func head(dir *os.Root, name string) ([]byte, error) {
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	return io.ReadAll(io.LimitReader(file, mostBytes))
}
