package sandbox

import (
	"os"
	"path/filepath"
)

// toolchains are where programs live in a home directory, credentials beside them
// left out.
var toolchains = []string{
	".pyenv", ".rbenv", ".nodenv", ".jenv", ".goenv", ".asdf", ".nvm/versions", ".volta", ".fnm", ".local/share/fnm",
	".local/share/mise", ".local/share/uv", ".local/share/pnpm", ".sdkman/candidates", ".rustup", ".cargo/bin", "go/bin", "sdk",
	".bun/bin", ".deno/bin", ".local/bin", ".local/lib", ".local/pipx", "bin", "miniconda3", "anaconda3", ".linuxbrew",
}

// KnownToolchains are the directories of programs that are there in a home, and
// Homebrew's.
func KnownToolchains(home string) []string {
	var list []string
	for _, name := range toolchains {
		list = append(list, filepath.Join(home, name))
	}
	var there []string
	for _, dir := range append(list, "/home/linuxbrew/.linuxbrew") {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			there = append(there, dir)
		}
	}
	return there
}

// caches are what build tools keep for the next time, and no credentials: the name
// of artoo's own side, the directory in the home, and the variable that names
// another.
var caches = []struct{ name, path, env string }{
	{"go-build", goBuildCache, "GOCACHE"},
	{"go-mod", "go/pkg/mod", "GOMODCACHE"},
	{"cargo-registry", ".cargo/registry", ""},
	{"cargo-git", ".cargo/git", ""},
	{"npm", ".npm/_cacache", ""},
	{"pip", pipCache, "PIP_CACHE_DIR"},
	{"gradle", ".gradle/caches", ""},
}

// KnownCaches are the caches of build tools in a home; artoo's own sides lie in
// own, a directory for one project and its trust. Getenv says what the user's
// environment holds.
func KnownCaches(home string, getenv func(string) string, own string) []Cache {
	var list []Cache
	for _, c := range caches {
		cache := Cache{Path: filepath.Join(home, c.path), Own: filepath.Join(own, c.name), Env: c.env}
		if c.name == "go-mod" && getenv("GOPATH") != "" {
			cache.Path = filepath.Join(filepath.SplitList(getenv("GOPATH"))[0], "pkg", "mod")
		}
		if c.env != "" && filepath.IsAbs(getenv(c.env)) {
			cache.Path = filepath.Clean(getenv(c.env))
		}
		list = append(list, cache)
	}
	return list
}
