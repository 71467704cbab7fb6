package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// The budgets of the binary. The work of packages before main is bounded by their
// allocations, which are the same in each run; make bench has their times, the least
// of so many runs, because other processes can only raise them.
const (
	initRuns   = 10        // of which the quickest counts
	initRatio  = 8         // times net/http's own
	initBytes  = 1_330_000 // a little above their allocations
	initAllocs = 6_300
	maxBinary  = 34_000_000 // bytes
)

// TestBinary holds the built program to its budgets.
func TestBinary(t *testing.T) {
	artoo := buildProgram(t, moduleDir)
	t.Run("size", func(t *testing.T) {
		info, err := os.Stat(artoo)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.2f MB", float64(info.Size())/1e6)
		if info.Size() > maxBinary {
			t.Errorf("the binary has %d bytes, which is over %d", info.Size(), maxBinary)
		}
	})
	t.Run("init", func(t *testing.T) { checkInit(t, artoo) })
}

// checkInit bounds the allocations of packages before main: a regexp or a table made at
// package level shows there. Those of glamour are left out, since artoo cannot change them.
func checkInit(t *testing.T, artoo string) {
	own, err := withoutGlamour()
	if err != nil {
		t.Fatal(err)
	}
	all := initClocks(t, artoo, 1, "version")
	var sum initWork
	var names []string
	for name, work := range all {
		if own[name] {
			sum.bytes, sum.allocs = sum.bytes+work.bytes, sum.allocs+work.allocs
			names = append(names, name)
		}
	}
	t.Logf("%d packages allocate %d bytes in %d pieces", len(names), sum.bytes, sum.allocs)
	if len(names) < 20 {
		t.Fatalf("the trace names %d packages: %v", len(names), all)
	}
	if sum.bytes > initBytes || sum.allocs > initAllocs {
		sort.Slice(names, func(a, b int) bool { return all[names[a]].bytes > all[names[b]].bytes })
		t.Errorf("packages other than glamour's allocate %d bytes in %d pieces before main, over %d or %d; a regexp or a table made at package level? The most:",
			sum.bytes, sum.allocs, initBytes, initAllocs)
		for _, name := range names[:12] {
			t.Logf("%8d bytes, %5d pieces %s", all[name].bytes, all[name].allocs, name)
		}
	}
}

// initCosts are milliseconds of package initialisation over those of an empty
// program.
type initCosts struct {
	own     float64 // all of artoo's but glamour's
	glamour float64
	nethttp float64 // a program that links nothing else
}

func (i initCosts) ratio() float64 { return i.own / i.nethttp }

func initCost(t testing.TB, artoo string, own map[string]bool) initCosts {
	empty := sum(initClocks(t, buildProgram(t, filepath.Join(moduleDir, "testdata", "bench", "empty")), initRuns))
	all := initClocks(t, artoo, initRuns, "version")
	i := initCosts{nethttp: sum(initClocks(t,
		buildProgram(t, filepath.Join(moduleDir, "testdata", "bench", "nethttp")), initRuns)) - empty, own: -empty}
	names := 0
	for name, work := range all {
		if !own[name] {
			i.glamour += work.ms
			continue
		}
		i.own += work.ms
		names++
	}
	if names < 20 || i.nethttp <= 0 || i.glamour <= 0 {
		t.Fatalf("the traces make no sense: %d packages, net/http %.3f ms, glamour %.3f ms", names, i.nethttp, i.glamour)
	}
	return i
}

func sum(all map[string]initWork) (total float64) {
	for _, work := range all {
		total += work.ms
	}
	return total
}

// initWork is the cost of a package's initialisation.
type initWork struct {
	ms            float64
	bytes, allocs int
}

// initClocks is the least time that each package of a program took to initialise in so
// many runs, with its allocations.
func initClocks(t testing.TB, program string, runs int, args ...string) map[string]initWork {
	t.Helper()
	least := map[string]initWork{}
	env := home(t, "GODEBUG=inittrace=1", "GOGC=100") // collections of garbage count too
	for range runs {
		cmd := exec.Command(program, args...)
		var trace bytes.Buffer
		cmd.Env, cmd.Stderr = env, &trace
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, trace.Bytes())
		}
		for lines := bufio.NewScanner(&trace); lines.Scan(); {
			var name string
			var at float64
			var work initWork
			if n, _ := fmt.Sscanf(lines.Text(), "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at,
				&work.ms, &work.bytes, &work.allocs); n < 5 {
				continue
			}
			if known, ok := least[name]; !ok || work.ms < known.ms {
				least[name] = work
			}
		}
	}
	return least
}

// withoutGlamour are the packages that artoo would link if nothing imported
// glamour: those that can be reached from main without passing it, or the
// highlighter that it brings.
func withoutGlamour() (map[string]bool, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,ImportMap", moduleDir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	imports := map[string][]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			ImportMap  map[string]string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, name := range p.Imports {
			if mapped, ok := p.ImportMap[name]; ok {
				name = mapped
			}
			imports[p.ImportPath] = append(imports[p.ImportPath], name)
		}
	}
	module, err := moduleName(moduleDir)
	if err != nil {
		return nil, err
	}
	own, todo := map[string]bool{}, []string{module, "runtime"}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if own[name] || strings.HasPrefix(name, "github.com/charmbracelet/glamour") ||
			strings.HasPrefix(name, "github.com/alecthomas/chroma") {
			continue
		}
		own[name] = true
		todo = append(todo, imports[name]...)
	}
	return own, nil
}
