//go:build amd64 || arm64

package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// Probe finds out how this machine can confine, by confining a command. A complete answer is kept
// in cacheFile, if that is not "", until kernel, user, program or settings change. Landlock is tried
// where namespaces do not answer in time.
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
		Why: fmt.Sprintf("the kernel gave no answer within %v when asked to confine a command", probeLimit)}
	facts, answered = patiently(ctx, func(ctx context.Context, news func()) Facts {
		return withoutNamespaces(ctx, news, late)
	})
	if !answered {
		return Facts{Mechanism: None, Missing: []Lack{late}}
	}
	return facts
}

// patiently waits for an answer as long as find has news. Without one find may go on.
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

// probeKey names the machine and build that an answer holds for.
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

// probe tries namespaces, then other mechanisms.
func probe(ctx context.Context, news func()) Facts {
	facts := Facts{Mechanism: Namespaces, Layer: true, Network: true, HidesFiles: true, HidesProcess: true}
	err := try(ctx, news, facts, Options{})
	if err != nil && strings.Contains(err.Error(), "proc /proc") {
		facts.HidesProcess = false
		if again := try(ctx, news, facts, Options{}); again == nil {
			err = nil
			facts.Missing = append(facts.Missing, Lack{What: "processes",
				Why:  "/proc is partly covered here, so the sandbox gets none of its own: other processes can be seen, but not reached",
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

// try confines one command, and reports its progress.
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

// withoutNamespaces are the facts where there are none: those of Landlock, or of nothing.
func withoutNamespaces(ctx context.Context, news func(), why Lack) Facts {
	facts := Facts{Mechanism: Landlock, Missing: []Lack{why}}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	err := error(errno)
	if errno == 0 {
		err = try(ctx, news, facts, Options{})
	}
	if err != nil {
		facts.Mechanism = None
		facts.Missing = append(facts.Missing, Lack{What: "sandbox", Why: "Landlock is not available either: " + err.Error(),
			Cure: "a kernel of 5.13 or later with landlock in its list of security modules (lsm=)"})
		return facts
	}
	facts.Missing[0].What = "namespaces"
	facts.Missing = append(facts.Missing,
		Lack{What: "network", Why: "Landlock does not confine the network"},
		Lack{What: "layer", Why: "Landlock makes no copy-on-write layer"})
	if version < 6 {
		facts.Missing = append(facts.Missing, Lack{What: "processes",
			Why: fmt.Sprintf("Landlock blocks signals to other processes from version 6 on; this kernel has %d", version)})
	}
	return facts
}

// settings are the switches that keep ordinary users from namespaces.
var settings = []struct {
	file, value string
	why, cure   string
}{
	{"/proc/sys/user/max_user_namespaces", "0", "user namespaces are switched off (user.max_user_namespaces = 0)",
		"sudo sysctl user.max_user_namespaces=15000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0",
		"only root may use user namespaces here (kernel.unprivileged_userns_clone = 0)",
		"sudo sysctl kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor allows user namespaces only to named programs (kernel.apparmor_restrict_unprivileged_userns = 1)",
		"an AppArmor profile for artoo with the rule \"userns,\", or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
}

// whyNoNamespaces finds out why a command could not be confined.
func whyNoNamespaces(err error) Lack {
	why, cure := refuser(err)
	if cure != "" {
		cure += "; or "
	}
	return Lack{What: "sandbox", Why: why,
		Cure: cure + "ARTOO_SANDBOX=external, if this machine (a container, say) is your sandbox"}
}

// refuser names what keeps artoo from namespaces, and how that is changed, "" where nothing does.
func refuser(err error) (why, cure string) {
	for _, s := range settings {
		if value, readErr := os.ReadFile(s.file); readErr == nil && strings.TrimSpace(string(value)) == s.value {
			return s.why, s.cure
		}
	}
	switch {
	case kernelBefore(5, 12):
		return "the kernel is older than Linux 5.12", "a newer kernel"
	case filtered():
		return "a filter of system calls around artoo refuses namespaces, as Docker's does: " + err.Error(),
			"in a container: start it with --security-opt seccomp=unconfined, or a profile that allows unshare, clone and mount"
	case strings.Contains(err.Error(), unix.ENOSYS.Error()) || strings.Contains(err.Error(), unix.EINVAL.Error()):
		return "the kernel was built without a needed feature: " + err.Error(), ""
	}
	return err.Error(), ""
}

// whyNoLayer finds out why there is no layer, where commands can be confined.
func whyNoLayer(err error) Lack {
	lack := Lack{What: "layer", Why: "the kernel gives no copy-on-write layer: " + err.Error()}
	if kernelBefore(5, 11) {
		lack.Why, lack.Cure = "a copy-on-write layer needs Linux 5.11 or newer", "a newer kernel"
	} else if data, readErr := os.ReadFile("/proc/filesystems"); readErr == nil && !strings.Contains(string(data), "\toverlay\n") {
		lack.Why, lack.Cure = "the kernel's overlay file system is not loaded", "sudo modprobe overlay"
	}
	return lack
}

// kernelBefore reports whether the kernel is older than a version.
func kernelBefore(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var have [2]int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &have[0], &have[1]); n != 2 {
		return false
	}
	return have[0] < major || have[0] == major && have[1] < minor
}

// filtered reports whether this process runs under a filter of system calls.
func filtered() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && strings.Contains(string(status), "\nSeccomp:\t2")
}

// remote are file systems that another machine or program keeps: no layer is made over them.
var remote = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "FUSE", unix.CEPH_SUPER_MAGIC: "Ceph", unix.AFS_SUPER_MAGIC: "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
}

// For are the facts for a project with these directories: there is no layer over network file systems,
// where something is mounted within, nor over files of groups that the user's namespaces do not know.
func (f Facts) For(dirs ...string) Facts {
	if !f.Layer {
		return f
	}
	f.Missing = slices.Clip(f.Missing)
	lacks := func(why, cure string) {
		f.Layer = false
		f.Missing = append(f.Missing, Lack{What: "layer", Why: why, Cure: cure})
	}
	mounts := mountPoints()
	for _, dir := range dirs {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil && remote[int64(st.Type)] != "" {
			lacks(dir+" lies on "+remote[int64(st.Type)]+", over which no layer can be made", "")
		}
		if owner := foreign(dir); owner != "" {
			lacks(owner+", which a layer cannot keep",
				"chgrp -R \"$(id -gn)\" the project, if nobody else works on it")
		}
		below := func(mount string) bool { return mount != dir && within(mount, []string{dir}) }
		if at := slices.IndexFunc(mounts, below); at >= 0 {
			lacks("something is mounted below "+dir+": "+mounts[at], "unmount it, or work in a directory without it")
		}
	}
	return f
}

// maxForeign is how many entries of a directory are looked at for their owners.
const maxForeign = 1000

// foreign names something in a directory that the user may write and that belongs to another user
// or group, which an ordinary user's namespaces do not know; "" for nothing.
func foreign(dir string) string {
	if os.Geteuid() == 0 {
		return "" // all users and groups are mapped
	}
	list := []string{dir}
	if file, err := os.Open(dir); err == nil {
		names, _ := file.Readdirnames(maxForeign)
		file.Close()
		for _, name := range names {
			list = append(list, filepath.Join(dir, name))
		}
	}
	for _, path := range list {
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK || unix.Access(path, unix.W_OK) != nil {
			continue
		}
		if int(st.Uid) != os.Geteuid() {
			return path + " belongs to user " + strconv.Itoa(int(st.Uid))
		}
		if int(st.Gid) != os.Getegid() {
			return path + " belongs to group " + strconv.Itoa(int(st.Gid))
		}
	}
	return ""
}

// mountPoints are the places where something is mounted.
func mountPoints() []string {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, unescape(fields[4]))
		}
	}
	return list
}

// unescape reverts the kernel's form of spaces in paths: \040.
func unescape(path string) string {
	plain, err := strconv.Unquote(`"` + path + `"`)
	if err != nil {
		return path
	}
	return plain
}
