//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/atomicfile"
)

// A probe is given up when nothing of it is heard for this long: where file systems
// hang, so do mounts. A busy machine is only slow: it may take a few times as long.
const (
	probeLimit = 3 * time.Second
	probeMost  = 6 * probeLimit
)

// Probe finds out what this machine can confine, by confining a command. The answer
// is kept in cacheFile, if that is not "", for as long as kernel, user, program and
// what may keep them from namespaces are the same. One that lacks something is not kept: the user may cure that meanwhile.
// Where namespaces were not answered for in time, Landlock is tried.
func Probe(ctx context.Context, cacheFile string) Facts { return probeBy(ctx, cacheFile, probe) }

// probeBy is Probe by another way of trying namespaces.
func probeBy(ctx context.Context, cacheFile string, first func(ctx context.Context, news func()) Facts) Facts {
	key := probeKey()
	if facts, ok := cached(cacheFile, key); ok && len(facts.Missing) == 0 {
		return facts
	}
	facts, answered := patiently(ctx, first)
	if answered {
		if len(facts.Missing) == 0 {
			keep(cacheFile, key, facts)
		}
		return facts
	}
	late := Lack{What: "sandbox",
		Why: fmt.Sprintf("the kernel gave no answer within %v when a command was to be confined", probeLimit)}
	facts, answered = patiently(ctx, func(ctx context.Context, news func()) Facts {
		return withoutNamespaces(ctx, news, late)
	})
	if !answered {
		return Facts{Mechanism: None, Missing: []Lack{late}}
	}
	return facts
}

// patiently waits for what find finds out, as long as it has news. Without an answer
// find may go on.
func patiently(ctx context.Context, find func(ctx context.Context, news func()) Facts) (facts Facts, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, probeMost)
	defer cancel()
	found, heard := make(chan Facts, 1), make(chan struct{}, 1)
	go func() {
		found <- find(ctx, func() {
			select {
			case heard <- struct{}{}:
			default: // it is about to be heard
			}
		})
	}()
	quiet := time.NewTimer(probeLimit)
	defer quiet.Stop()
	for {
		select {
		case facts := <-found:
			return facts, ctx.Err() == nil
		case <-heard:
			quiet.Reset(probeLimit)
		case <-quiet.C:
			return Facts{}, false
		case <-ctx.Done():
			return Facts{}, false
		}
	}
}

// probeKey is what an answer holds for.
func probeKey() string {
	var name unix.Utsname
	_ = unix.Uname(&name) // it cannot fail
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	program := ""
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil {
			program = fmt.Sprint(path, info.Size(), info.ModTime().UnixNano())
		}
	}
	key := []string{unix.ByteSliceToString(name.Release[:]), strings.TrimSpace(string(boot)), fmt.Sprint(os.Geteuid()), program,
		fmt.Sprint(filtered())}
	for _, s := range settings {
		value, _ := os.ReadFile(s.file) // many systems have only some of them
		key = append(key, strings.TrimSpace(string(value)))
	}
	for _, kind := range []string{"user", "mnt"} { // a container of the same home has its own
		at, _ := os.Readlink("/proc/self/ns/" + kind)
		key = append(key, at)
	}
	return strings.Join(key, " ")
}

type answer struct {
	Key   string
	Facts Facts
}

func cached(file, key string) (Facts, bool) {
	data, err := os.ReadFile(file)
	var a answer
	if err != nil || json.Unmarshal(data, &a) != nil || a.Key != key {
		return Facts{}, false
	}
	return a.Facts, true
}

// keep keeps an answer. Where that fails the next start asks again.
func keep(file, key string, facts Facts) {
	if file == "" {
		return
	}
	data, err := json.Marshal(answer{key, facts})
	if err == nil {
		_ = atomicfile.Write(file, data, 0o600) // else the next start asks the kernel again
	}
}

// probe tries namespaces, then what else there is.
func probe(ctx context.Context, news func()) Facts {
	facts := Facts{Mechanism: Namespaces, Layer: true, Network: true, HidesFiles: true, HidesProcess: true,
		Still: true, EndsProcesses: true}
	err := try(ctx, news, facts, Options{})
	if err != nil && strings.Contains(err.Error(), "proc /proc") {
		facts.HidesProcess = false
		if again := try(ctx, news, facts, Options{}); again == nil {
			err = nil
			facts.Missing = append(facts.Missing, Lack{What: "processes",
				Why:  "the kernel mounts no /proc inside, since the one here is covered in part: other processes can be seen, but not reached",
				Cure: "in a container: start it with an unmasked /proc (docker: --security-opt systempaths=unconfined)"})
		}
	}
	if err != nil {
		return withoutNamespaces(ctx, news, whyNoNamespaces(err))
	}
	if err := try(ctx, news, facts, Options{Layer: true}); err != nil {
		facts.Layer = false
		facts.Missing = append(facts.Missing, whyNoLayer(err))
	}
	return facts
}

// try confines one command, and tells how far it is.
func try(ctx context.Context, news func(), facts Facts, options Options) error {
	defer news()
	base, err := os.MkdirTemp("", "artoo-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	root := filepath.Join(base, "project")
	for _, dir := range []string{root, filepath.Join(root, "old")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	news()
	s, err := Open(ctx, Config{Root: root, Home: filepath.Join(base, "home"), Temp: filepath.Join(base, "temp")}, facts)
	if err != nil {
		return err
	}
	defer s.Close()
	news()
	line := ": > old/new"
	if options.Layer {
		line = "rmdir old && mkdir old && " + line // The file system of the layer must be able to mark this.
	}
	p, err := s.Start(exec.Command("/bin/sh", "-c", line), options)
	if err != nil {
		return err
	}
	news()
	exit, err := p.Wait()
	if err != nil {
		return err
	}
	news()
	if options.Layer {
		defer p.Discard()
	}
	if exit.Status.ExitStatus() != 0 {
		return fmt.Errorf("the command ended with %d", exit.Status.ExitStatus())
	}
	return nil
}
