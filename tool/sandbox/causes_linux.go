//go:build amd64 || arm64

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// withoutNamespaces are the facts where there are none: what Landlock can do, or
// nothing.
func withoutNamespaces(ctx context.Context, news func(), why Lack) Facts {
	facts := Facts{Mechanism: Landlock, Missing: []Lack{why}}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	err := error(errno)
	if errno == 0 {
		err = try(ctx, news, facts, Options{})
	}
	if err != nil {
		facts.Mechanism = None
		facts.Missing = append(facts.Missing, Lack{What: "sandbox", Why: "Landlock cannot be had either: " + err.Error(),
			Cure: "a kernel from 5.13 on that has landlock in its list of security modules (lsm=)"})
		return facts
	}
	facts.Missing = append(facts.Missing,
		Lack{What: "network", Why: "Landlock does not confine the network"},
		Lack{What: "layer", Why: "Landlock makes no copy-on-write layer"})
	if facts.Still = version >= 6; !facts.Still {
		facts.Missing = append(facts.Missing, Lack{What: "processes",
			Why: fmt.Sprintf("signals to other processes are held back from version 6 of Landlock on; this kernel has %d", version)})
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
		"user namespaces are for root alone here (kernel.unprivileged_userns_clone = 0)",
		"sudo sysctl kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor gives user namespaces to named programs alone (kernel.apparmor_restrict_unprivileged_userns = 1)",
		"an AppArmor profile for artoo with the rule \"userns,\", or sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
}

// whyNoNamespaces finds out why a command could not be confined.
func whyNoNamespaces(err error) Lack {
	lack := Lack{What: "sandbox", Why: err.Error()}
	for _, s := range settings {
		if value, readErr := os.ReadFile(s.file); readErr == nil && strings.TrimSpace(string(value)) == s.value {
			lack.Why, lack.Cure = s.why, s.cure
			return lack
		}
	}
	switch {
	case kernelBefore(5, 12):
		lack.Why, lack.Cure = "the kernel is older than Linux 5.12", "a newer kernel"
	case filtered():
		lack.Why = "a filter of system calls around artoo refuses namespaces, as Docker's does: " + err.Error()
		lack.Cure = "in a container: start it with --security-opt seccomp=unconfined, or with a profile that allows unshare, clone and mount"
	case strings.Contains(err.Error(), unix.ENOSYS.Error()) || strings.Contains(err.Error(), unix.EINVAL.Error()):
		lack.Why = "the kernel was built without what this needs: " + err.Error()
	}
	return lack
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

// remote are file systems whose times and locks are another machine's, or a
// program's: no layer is made over them.
var remote = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "FUSE", unix.CEPH_SUPER_MAGIC: "Ceph", unix.AFS_SUPER_MAGIC: "AFS",
	unix.CODA_SUPER_MAGIC: "Coda",
}

// For is what holds for a project with these directories: there is no layer over
// what another machine keeps, where something is mounted within, nor over files of
// groups that the user's namespaces do not know.
func (f Facts) For(dirs ...string) Facts {
	if !f.Layer {
		return f
	}
	f.Missing = f.Missing[:len(f.Missing):len(f.Missing)]
	mounts := mountPoints()
	for _, dir := range dirs {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil && remote[int64(st.Type)] != "" {
			f.Layer = false
			f.Missing = append(f.Missing, Lack{What: "layer",
				Why: dir + " lies on " + remote[int64(st.Type)] + ", over which no layer is made"})
		}
		if owner := foreign(dir); owner != "" {
			f.Layer = false
			f.Missing = append(f.Missing, Lack{What: "layer",
				Why:  owner + ", which the kernel does not let a layer's files have",
				Cure: "chgrp -R \"$(id -gn)\" the project, if nobody else works on it"})
		}
		for _, mount := range mounts {
			if mount != dir && within(mount, []string{dir}) {
				f.Layer = false
				f.Missing = append(f.Missing, Lack{What: "layer",
					Why: "something is mounted below " + dir + ": " + mount, Cure: "unmount it, or work in a directory without it"})
				break
			}
		}
	}
	return f
}

// maxForeign is how many entries of a directory are looked at for their owners.
const maxForeign = 1000

// foreign says that a directory, or something in it, which the user may write
// belongs to another user or group than the user's first: namespaces of an ordinary
// user know no others. "" where that is not so.
func foreign(dir string) string {
	if os.Geteuid() == 0 {
		return "" // who takes all users and groups along
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

// unescape takes back how the kernel writes blanks in paths: as \040.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
