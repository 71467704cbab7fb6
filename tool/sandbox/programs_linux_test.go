//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// projects are those for real programs, with a line for each that must pass on a layer and in a job.
var projects = []struct {
	program string
	files   map[string]string
	line    string
}{
	{"go", map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.22\n",
		"m_test.go": `package m

import (
	"net"
	"testing"
)

func TestServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
`}, "CGO_ENABLED=0 GOFLAGS='-mod=mod -trimpath' GOPROXY=off GOTOOLCHAIN=local go test ./..."},
	{"git", map[string]string{"a": "1"}, "git init -q . && git -c user.name=a -c user.email=a@b add -A && git -c user.name=a -c user.email=a@b commit -qm first && echo 2 >> a && git status --short && git diff --stat && git log --oneline"},
	{"npm", map[string]string{"package.json": `{"name":"m","version":"1.0.0","scripts":{"test":"node test.js"}}`,
		"test.js": `const http = require("http"); const s = http.createServer((q, r) => r.end("x")).listen(0, "127.0.0.1", () => ` +
			`http.get({port: s.address().port, host: "127.0.0.1"}, r => { r.resume(); r.on("end", () => { s.close(); ` +
			`require("child_process").execSync("echo child", {stdio: "pipe"}) }) }))`}, "npm test --offline"},
	{"python3", map[string]string{"test_m.py": `import multiprocessing, socketserver, unittest

def double(x):
    return 2 * x

class Test(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(double, [1, 2]), [2, 4])

    def test_forkserver(self):
        with multiprocessing.get_context("forkserver").Pool(2) as pool:
            self.assertEqual(pool.map(double, [1, 2]), [2, 4])

    def test_server(self):
        socketserver.TCPServer(("127.0.0.1", 0), None).server_close()
`}, "python3 -m unittest -q"},
	{"cargo", map[string]string{"Cargo.toml": "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/main.rs": "fn main() {}\n"}, "cargo build --offline"},
	{"make", map[string]string{"Makefile": "all: out\nout: in\n\tcp in out\n", "in": "1"}, "make"},
}

// TestAnyRealProgramWorksConfined runs those that are on the PATH, with the user's own toolchains.
func TestAnyRealProgramWorksConfined(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range sweep.Cases(t, 1, len(projects)) {
		project := projects[i]
		t.Run(project.program, func(t *testing.T) {
			t.Parallel()
			needs.Program(t, project.program)
			s, root := open(t, func(c *Config) {
				c.Home = home
				for _, dir := range []string{".pyenv", ".nvm", ".rustup", ".cargo/bin", "sdk"} {
					c.Toolchains = append(c.Toolchains, filepath.Join(home, dir))
				}
				for _, dir := range []string{".cache/go-build", "go/pkg/mod", ".cargo/registry", ".npm/_cacache"} {
					c.Caches = append(c.Caches, Cache{Path: filepath.Join(home, dir), Own: filepath.Join(c.Temp, "caches", dir)})
				}
			})
			for name, text := range project.files {
				write(t, root, name, text)
			}
			for i, cache := range []string{"cold", "warm", "warm"} {
				options := Options{Layer: true, Exec: true}
				if i == 2 {
					options = Options{Job: true, Whole: true}
				}
				out, exit, p := run(t, s, options, project.line)
				if exit.Status != 0 {
					t.Fatalf("%+v: with its cache %s it ended with %+v and printed\n%s", options, cache, exit, out)
				}
				if !options.Layer {
					continue
				}
				changes, err := p.Changes(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := changes.Discard(true); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
