package journal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
)

// fullDisk makes the test binary the one process that may mount small disks.
const fullDisk = "ARTOO_TEST_FULL_DISK"

// On a disk that becomes full at any moment a landing is whole, or nothing of it is there.
func TestAFullDiskLandsAllOrNothing(t *testing.T) {
	t.Parallel()
	if os.Getenv(fullDisk) == "" {
		needs.Namespaces(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestAFullDiskLandsAllOrNothing$", "-test.v")
		cmd.Env = append(os.Environ(), fullDisk+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	whole := 0
	for n := range 50 {
		disk := t.TempDir()
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
			t.Fatal(err)
		}
		if landsOn(t, disk, n*8<<10) {
			whole++
		}
		if err := unix.Unmount(disk, 0); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("%d of 50 were whole", whole); whole == 0 || whole == 50 {
		t.Errorf("%d of 50 were whole", whole)
	}
}

// landsOn lands on a disk that has so many bytes left, and reports whether it could.
func landsOn(t *testing.T, disk string, left int) bool {
	root := filepath.Join(disk, "project")
	p := &project{t: t, root: root, cfg: Config{Dir: filepath.Join(disk, "s1"), Root: root}}
	p.ok(os.Mkdir(root, 0o755))
	contents := contentsOf{}
	for i := range 5 {
		p.write(fmt.Sprintf("d%d/old", i), strings.Repeat("before\n", 4000))
		contents[fmt.Sprintf("d%d/old", i)] = strings.Repeat(fmt.Sprintf("after %d\n", i), 4000)
		contents[fmt.Sprintf("d%d/new", i)] = fmt.Sprintf("new %d\n", i)
	}
	p.reopen()
	p.edit(7, "d0/old", strings.Repeat("BEFORE\n", 4000))
	start := p.look()
	var changes []layerChange
	for path := range contents {
		changes = append(changes, layerChange{Path: path, Before: p.now(path), After: file(0o644)})
	}
	changes = append(changes, layerChange{Path: "made", After: State{Kind: Folder, Mode: 0o755}})
	p.files.objects.flush()
	ballast, err := os.Create(filepath.Join(disk, "ballast"))
	p.ok(err)
	var fs unix.Statfs_t
	p.ok(unix.Statfs(disk, &fs))
	p.ok(unix.Fallocate(int(ballast.Fd()), 0, 0, int64(fs.Bavail)*fs.Bsize-int64(left)))
	p.ok(ballast.Close())
	_, failed := p.apply(contents, changes...)
	if failed != nil && !errors.Is(failed, syscall.ENOSPC) {
		t.Errorf("with %d bytes left: %v", left, failed)
	}
	end := p.look()
	if failed != nil {
		p.same(start)
	} else if end["d4/old"] != "-rw-r--r-- "+contents["d4/old"] || end["d4/new"] != "-rw-r--r-- new 4\n" || end["made"] == "" {
		t.Errorf("with %d bytes left only a part landed", left)
	}
	p.ok(os.Remove(ballast.Name()))
	p.reopen()
	p.same(end)
	if failed == nil {
		p.undo(1)
		p.same(start)
	}
	p.ok(p.Close())
	return failed == nil
}
