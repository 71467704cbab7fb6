package registry

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"syscall"

	"artoo/tool/proxy"
)

// Named is a host that a file of the project names.
type Named struct {
	Host proxy.Host
	// File is relative to the directory.
	File string
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

// NamedBy are the hosts that files in a directory of the project name for a set, each once, at most 20. They are for a
// question to show, since the files may be anyone's. No link out of the directory is followed.
func NamedBy(root, set string) ([]Named, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var found []Named
	for _, in := range naming[set] {
		form := regexp.MustCompile(in.before + `(https?://[^\s"'<>,|]+)`)
		files, err := fs.Glob(dir.FS(), in.files)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := head(dir, file)
			if err != nil {
				return nil, err
			}
			for _, address := range form.FindAllSubmatch(content, -1) {
				host, _ := hostOf(string(address[1]))
				known := slices.ContainsFunc(found, func(n Named) bool { return n.Host == host })
				// Files name the public registry also where the user's package manager asks another one in its place.
				public := slices.ContainsFunc(public(set), func(row []string) bool {
					return slices.Contains(row, host.Name)
				})
				if host.Name != "" && !known && !public && string(address[1]) != cratesIndex && len(found) < mostNamed {
					found = append(found, Named{host, file})
				}
			}
		}
	}
	return found, nil
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
