package cli

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/tool/needs"
)

// packages is a registry of every kind on loopback, with three packages of each kind: good has a file, native is built
// with a C compiler, and evil, which needs both, runs the program attack as it is built or installed.
type packages struct {
	*httptest.Server
	attack string
	served map[string][]byte

	mu sync.Mutex
	// reports are what the programs of packages sent of themselves.
	reports []map[string]string
	// uploaded is in bytes.
	uploaded int64
}

// newPackages starts the part of a registry for one kind of package manager. attack makes the program of evil for an
// address, to which it reports. host is a name of this machine, "" for 127.0.0.1. elsewhere is where requests for
// /redirect go on.
func newPackages(t testing.TB, fill func(*packages, testing.TB), host, elsewhere string,
	attack func(address string) string) *packages {
	t.Helper()
	p := &packages{served: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		data, ok := p.served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/simple/") {
			w.Header().Set("Content-Type", "text/html")
		}
		if _, err := w.Write(data); err != nil {
			t.Log(err)
		}
	})
	mux.Handle("GET /redirect", http.RedirectHandler(elsewhere, http.StatusFound))
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var report map[string]string
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reports = append(p.reports, report)
	})
	mux.HandleFunc("POST /upload", func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		t.Logf("upload of %d bytes: %v", n, err)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.uploaded += n
	})
	p.listen(t, mux, host)
	p.attack = attack(p.URL)
	fill(p, t)
	return p
}

// listen serves at a name of this machine, "" for 127.0.0.1.
func (p *packages) listen(t testing.TB, handler http.Handler, host string) {
	t.Helper()
	p.Server = httptest.NewUnstartedServer(handler)
	if host != "" {
		p.Listener.Close()
		var err error
		p.Listener, err = net.Listen("tcp", host+":0")
		needs.Thing(t, "an address for its own name", err)
	}
	p.Start()
	if host != "" {
		_, port, _ := strings.Cut(p.Listener.Addr().String(), ":")
		p.URL = "http://" + host + ":" + port
	}
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
}

// files are fileTree by their names.
type fileTree map[string]string

// below are the files in a directory.
func (t fileTree) below(dir string) fileTree {
	moved := fileTree{}
	for name, text := range t {
		moved[dir+"/"+name] = text
	}
	return moved
}

func (t fileTree) names() (list []string) {
	for name := range t {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func (t fileTree) tar() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range t.names() {
		must(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, ModTime: time.Unix(1e9, 0),
			Size: int64(len(t[name]))}))
		must(io.WriteString(w, t[name]))
	}
	must(w.Close())
	return b.Bytes()
}

func (t fileTree) tgz() []byte { return gzipped(t.tar()) }

func (t fileTree) zip() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range t.names() {
		file, err := w.Create(name)
		must(err)
		must(io.WriteString(file, t[name]))
	}
	must(w.Close())
	return b.Bytes()
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must(w.Write(data))
	must(w.Close())
	return b.Bytes()
}

// must is for what cannot fail in memory: the last value may be an error.
func must(values ...any) {
	if err, ok := values[len(values)-1].(error); ok {
		panic(err)
	}
}

const (
	// addon is the source of native, and compile builds it.
	addon   = "int answer(void) { return 42; }\n"
	compile = "cc -shared -fPIC -o addon.so addon.c"
	// strike has evil do what it is for.
	strike = "python3 attack.py && echo yes >built"
)

// names of the packages of each kind, with what each needs.
var needed = map[string][]string{"good": nil, "native": nil, "evil": {"good", "native"}}

func (p *packages) npm(testing.TB) {
	for name, others := range needed {
		wants := map[string]string{}
		for _, other := range others {
			wants[other] = "^1.0.0"
		}
		script := map[string]string{"native": compile, "evil": strike}[name]
		about := map[string]any{"name": name, "version": "1.0.0", "dependencies": wants, "main": "index.js"}
		if script != "" {
			about["scripts"] = map[string]string{"postinstall": script}
		}
		archive := fileTree{"package.json": asJSON(about), "index.js": "module.exports = 1\n", "addon.c": addon,
			"attack.py": p.attack}.below("package").tgz()
		at := "/" + name + "/-/" + name + "-1.0.0.tgz"
		sum := sha512.Sum512(archive)
		about["hasInstallScript"] = script != ""
		about["dist"] = map[string]string{"tarball": p.URL + at,
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		p.served[at] = archive
		p.served["/"+name] = []byte(asJSON(map[string]any{"name": name,
			"dist-tags": map[string]string{"latest": "1.0.0"},
			"versions":  map[string]any{"1.0.0": about}}))
	}
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	must(err)
	return string(data)
}

// wheel is the program that builds a package of Python, as PEP 517 has it.
const wheel = `
import subprocess, zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    subprocess.run(SCRIPT, shell=True, check=True)
    file = NAME + '-1.0.0-py3-none-any.whl'
    with zipfile.ZipFile(directory + '/' + file, 'w') as z:
        for name in FILES:
            z.write(name, NAME + '/' + name)
        about = NAME + '-1.0.0.dist-info/'
        z.write('PKG-INFO', about + 'METADATA')
        z.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        z.writestr(about + 'RECORD', ''.join(i.filename + ',,\n' for i in z.infolist()))
    return file
`

func (p *packages) pypi(testing.TB) {
	for name, others := range needed {
		about := "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0.0\n"
		for _, other := range others {
			about += "Requires-Dist: " + other + "\n"
		}
		source := fileTree{"PKG-INFO": about, "__init__.py": "", "addon.c": addon, "attack.py": p.attack,
			"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = \"wheel\"\nbackend-path = [\".\"]\n"}
		script := map[string]string{"good": "true", "native": compile, "evil": strike}[name]
		made := map[string]string{"native": "addon.so", "evil": "built"}[name]
		source["wheel.py"] = fmt.Sprintf("NAME, SCRIPT, FILES = %q, %q, %q.split()\n", name, script,
			"__init__.py "+made) + wheel
		file := name + "-1.0.0.tar.gz"
		archive := source.below(name + "-1.0.0").tgz()
		p.served["/files/"+file] = archive
		p.served["/simple/"+name+"/"] = fmt.Appendf(nil, "<!DOCTYPE html><a href=\"%s/files/%s#sha256=%x\">%s</a>",
			p.URL, file, sha256.Sum256(archive), file)
	}
}

func (p *packages) golang(testing.TB) {
	for name, source := range map[string]string{
		"good":   "package good\n\nconst One = 1\n",
		"native": "package native\n\n// " + addon + "import \"C\"\n\nfunc Answer() int { return int(C.answer()) }\n",
		"evil": "package main\n\nimport (\n\t_ \"embed\"\n\t\"os\"\n\t\"os/exec\"\n\t\"strings\"\n\n" +
			"\t\"good.example/good\"\n\t" +
			"\"native.example/native\"\n)\n\n//go:embed attack.py\nvar attack string\n\nfunc main() {\n" +
			"\tprintln(good.One + native.Answer())\n\tcmd := exec.Command(\"python3\", \"-\")\n" +
			"\tcmd.Stdin = strings.NewReader(attack)\n" +
			"\tcmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr\n\tif err := cmd.Run(); err != nil {\n" +
			"\t\tpanic(err)\n\t}\n}\n",
	} {
		path := name + ".example/" + name
		about := "module " + path + "\n\ngo 1.22\n"
		for _, other := range needed[name] {
			about += "\nrequire " + other + ".example/" + other + " v1.0.0\n"
		}
		at := "/" + path + "/@v/"
		p.served[at+"list"] = []byte("v1.0.0\n")
		p.served[at+"v1.0.0.info"] = []byte(`{"Version":"v1.0.0"}`)
		p.served[at+"v1.0.0.mod"] = []byte(about)
		p.served[at+"v1.0.0.zip"] = fileTree{"go.mod": about, name + ".go": source, "attack.py": p.attack}.
			below(path + "@v1.0.0").zip()
	}
}

// built is a build.rs that runs a line of the shell.
const buildRust = `fn main() {
    assert!(std::process::Command::new("sh").args(["-c", %q]).status().unwrap().success());
}
`

func (p *packages) crates(testing.TB) {
	p.served["/config.json"] = []byte(asJSON(map[string]string{"dl": p.URL + "/dl/{crate}-{version}.crate"}))
	for name, others := range needed {
		about, wants := "[package]\nname = \""+name+"\"\nversion = \"1.0.0\"\nedition = \"2021\"\n"+
			"[dependencies]\n", []any{}
		for _, other := range others {
			about += other + " = \"1.0.0\"\n"
			wants = append(wants, map[string]any{"name": other, "req": "^1.0.0", "features": []string{},
				"optional":         false,
				"default_features": true, "target": nil, "kind": "normal"})
		}
		source := fileTree{"Cargo.toml": about, "src/lib.rs": "pub fn one() -> i32 { 1 }\n", "addon.c": addon,
			"attack.py": p.attack}
		// Sources are not to be changed by a build, so this one has a copy.
		to := `cp addon.c attack.py "$OUT_DIR" && cd "$OUT_DIR" && `
		if script := map[string]string{"native": compile, "evil": strike}[name]; script != "" {
			source["build.rs"] = fmt.Sprintf(buildRust, to+script)
		}
		archive := source.below(name + "-1.0.0").tgz()
		p.served["/dl/"+name+"-1.0.0.crate"] = archive
		p.served["/"+name[:2]+"/"+name[2:4]+"/"+name] = []byte(asJSON(map[string]any{"name": name, "vers": "1.0.0",
			"deps": wants, "cksum": fmt.Sprintf("%x", sha256.Sum256(archive)), "features": struct{}{},
			"yanked": false}) + "\n")
	}
}

func (p *packages) gems(t testing.TB) {
	versions := "created_at: 2026-01-01T00:00:00Z\n---\n"
	for name, others := range needed {
		source := fileTree{"lib/" + name + ".rb": "", "ext/addon.c": addon, "ext/attack.py": p.attack}
		about := "--- !ruby/object:Gem::Specification\nname: " + name + "\nversion: !ruby/object:Gem::Version\n" +
			"  version: 1.0.0\nplatform: ruby\nauthors: [a]\nsummary: a\nrequire_paths: [lib]\n" +
			"specification_version: 4\n"
		if script := map[string]string{"native": compile, "evil": strike}[name]; script != "" {
			source["ext/extconf.rb"] = "system(" + fmt.Sprintf("%q", script) + ") or abort\n" +
				"File.write('Makefile', \"all install clean:\\n\\ttrue\\n\")\n"
			about += "extensions: [ext/extconf.rb]\n"
		}
		about += "files: [" + strings.Join(source.names(), ", ") + "]\ndependencies:\n"
		var wants []string
		for _, other := range others {
			requirement := "!ruby/object:Gem::Requirement\n    requirements:\n    - - \">=\"\n" +
				"      - !ruby/object:Gem::Version\n        version: '0'\n"
			about += "- !ruby/object:Gem::Dependency\n  name: " + other + "\n  requirement: " + requirement +
				"  type: :runtime\n  prerelease: false\n  version_requirements: " + requirement
			wants = append(wants, other+":>= 0")
		}
		if others == nil {
			about = strings.TrimSuffix(about, "dependencies:\n")
		}
		gem := fileTree{"metadata.gz": string(gzipped([]byte(about))), "data.tar.gz": string(source.tgz())}.tar()
		p.served["/gems/"+name+"-1.0.0.gem"] = gem
		marshal := exec.Command(needs.Program(t, "ruby"), "-rrubygems", "-rzlib", "-e",
			"print Zlib.deflate(Marshal.dump(Gem::Specification.from_yaml(STDIN.read)))")
		marshal.Stdin = strings.NewReader(about)
		specification, err := marshal.Output()
		must(err)
		p.served["/quick/Marshal.4.8/"+name+"-1.0.0.gemspec.rz"] = specification
		info := fmt.Sprintf("---\n1.0.0 %s|checksum:%x\n", strings.Join(wants, ","), sha256.Sum256(gem))
		p.served["/info/"+name] = []byte(info)
		versions += fmt.Sprintf("%s 1.0.0 %x\n", name, md5.Sum([]byte(info)))
	}
	// gem asks whether there is an index of this form.
	p.served["/"] = nil
	p.served["/versions"] = []byte(versions)
}

// mojo is the class of a plugin of Maven, and mojoAbout describes it.
const (
	mojo = `package strike;

public class Strike extends org.apache.maven.plugin.AbstractMojo {
	public void execute() throws org.apache.maven.plugin.MojoExecutionException {
		try {
			var script = getClass().getResourceAsStream("/attack.py").readAllBytes();
			java.nio.file.Files.createDirectories(java.nio.file.Path.of("target"));
			var run = new ProcessBuilder("sh", "-c", "python3 - && echo yes >target/built").inheritIO()
				.redirectInput(ProcessBuilder.Redirect.PIPE).start();
			run.getOutputStream().write(script);
			run.getOutputStream().close();
			if (run.waitFor() != 0) throw new Exception("it failed");
		} catch (Exception e) {
			throw new org.apache.maven.plugin.MojoExecutionException("strike", e);
		}
	}
}
`
	mojoAbout = "<plugin><groupId>example.evil</groupId><artifactId>evil-maven-plugin</artifactId>" +
		"<version>1.0.0</version><goalPrefix>evil</goalPrefix><mojos><mojo><goal>strike</goal>" +
		"<requiresDependencyResolution>compile</requiresDependencyResolution>" +
		"<implementation>strike.Strike</implementation><language>java</language>" +
		"<instantiationStrategy>per-lookup</instantiationStrategy></mojo></mojos></plugin>"
)

// maven compiles a plugin against the jars of the Maven that is there.
func (p *packages) maven(t testing.TB) {
	program, err := filepath.EvalSymlinks(needs.Program(t, "mvn"))
	must(err)
	dir := t.TempDir()
	must(os.WriteFile(filepath.Join(dir, "Strike.java"), []byte(mojo), 0o600))
	jars := filepath.Join(filepath.Dir(program), "..", "lib", "*")
	said, err := exec.Command(needs.Program(t, "javac"), "-cp", jars, "--release", "11", "-d", dir,
		filepath.Join(dir, "Strike.java")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	class, err := os.ReadFile(filepath.Join(dir, "strike", "Strike.class"))
	must(err)
	for name, jar := range map[string]fileTree{
		"example/good/good/1.0.0/good-1.0.0": {"good.txt": "good\n"},
		// Maven adds it to each plugin.
		"org/codehaus/plexus/plexus-utils/1.1/plexus-utils-1.1": {"none": ""},
		"example/evil/evil-maven-plugin/1.0.0/evil-maven-plugin-1.0.0": {"strike/Strike.class": string(class),
			"attack.py": p.attack, "META-INF/maven/plugin.xml": mojoAbout},
	} {
		words := strings.Split(name, "/")
		last := len(words) - 1
		p.served["/"+name+".jar"] = jar.zip()
		p.served["/"+name+".pom"] = fmt.Appendf(nil, "<project><modelVersion>4.0.0</modelVersion><groupId>%s</groupId>"+
			"<artifactId>%s</artifactId><version>%s</version></project>", strings.Join(words[:last-2], "."),
			words[last-2], words[last-1])
	}
}
