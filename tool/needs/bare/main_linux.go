// Command bare runs a program as on a machine that has little: the PATH has sh and the usual small tools only, the kernel
// refuses namespaces and mounts, and where root runs it, the program runs as nobody:
//
//	go test -exec bare PACKAGES
//
// With -builds the user and the home stay as they are, and go is on the PATH: for tests that build programs.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nobody is the number of the user and of the group that programs get where root runs the tests.
const nobody = 65534

// tools are the programs on the PATH: those that POSIX has for files and text, of which no machine lacks one.
const tools = `awk basename cat chmod chown cmp comm cp cut date dd df diff dirname du echo env expr false find grep head id kill
ln ls mkdir mkfifo mktemp mv nice nohup od paste printenv printf pwd readlink realpath rm rmdir sed seq sh sleep sort split stat stty sync
tail tee test timeout touch tr true truncate tty uname uniq wc xargs yes`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		code = 2
	}
	os.Exit(code)
}

// run runs the program and returns how it ended.
func run(args []string) (code int, err error) {
	builds := len(args) > 0 && args[0] == "-builds"
	if builds {
		args = args[1:]
	}
	if len(args) == 0 {
		return 0, errors.New("name the program")
	}
	base, err := os.MkdirTemp("", "artoo-bare-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := reduce(cmd, base, builds); err != nil {
		return 0, err
	}
	// The filter is this thread's, from which the program inherits it.
	runtime.LockOSThread()
	if err := refuse(); err != nil {
		return 0, err
	}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// reduce gives the command a PATH below base, and another user, home and directory for temporary files unless it builds
// programs.
func reduce(cmd *exec.Cmd, base string, builds bool) error {
	path, on := filepath.Join(base, "bin"), strings.Fields(tools)
	if builds {
		on = append(on, "go")
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	for _, name := range on {
		if target, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	cmd.Env = append(os.Environ(), "PATH="+path)
	if builds {
		return nil
	}
	home, temp := filepath.Join(base, "home"), filepath.Join(base, "tmp")
	cmd.Env = append(cmd.Env, "HOME="+home, "TMPDIR="+temp)
	if err := errors.Join(os.Mkdir(home, 0o755), os.Mkdir(temp, 0o755)); err != nil || os.Geteuid() != 0 {
		return err
	}
	return asNobody(cmd, base, home, temp)
}

// asNobody has the command run as nobody, to whom the directories belong, where nobody can read the working directory.
func asNobody(cmd *exec.Cmd, base string, own ...string) error {
	other := &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	look := exec.Command("/bin/sh", "-c", `cd "$0"`, here)
	look.Dir, look.SysProcAttr = "/", &syscall.SysProcAttr{Credential: other}
	if look.Run() != nil {
		fmt.Printf("bare: other users cannot read %s: this runs as root\n", here)
		return nil
	}
	cmd.SysProcAttr.Credential = other
	// What go test keeps is root's alone: the program gets a copy of itself, and writes nothing for go's cache.
	cmd.Args = slices.DeleteFunc(cmd.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.testlogfile=") })
	program, err := os.ReadFile(cmd.Path)
	if err != nil {
		return err
	}
	cmd.Path = filepath.Join(base, filepath.Base(cmd.Path))
	cmd.Args[0] = cmd.Path
	for _, dir := range own {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(cmd.Path, program, 0o755), os.Chmod(base, 0o755))
}

// refuse has the kernel refuse namespaces and mounts to this thread, as it does in a container without privileges.
func refuse() error {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
		unix.CLONE_NEWPID | unix.CLONE_NEWNET
	const number, argument = 0, 16 // offsets in seccomp_data
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	answer := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	skips := func(how uint16, value uint32, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, K: value, Jf: no}
	}
	code := []unix.SockFilter{load(number)}
	for _, call := range []uint32{unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT} {
		code = append(code, skips(unix.BPF_JEQ, call, 1), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
	}
	// A filter cannot see what clone3 is asked for. Without it programs call clone.
	code = append(code, skips(unix.BPF_JEQ, unix.SYS_CLONE3, 1), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	for _, call := range []uint32{unix.SYS_UNSHARE, unix.SYS_CLONE} {
		code = append(code, skips(unix.BPF_JEQ, call, 4), load(argument), skips(unix.BPF_JSET, namespaces, 1),
			answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)), answer(unix.SECCOMP_RET_ALLOW))
	}
	code = append(code, answer(unix.SECCOMP_RET_ALLOW))
	return install(code)
}

// install puts a filter of system calls around this thread.
func install(code []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
