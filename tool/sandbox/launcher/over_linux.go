//go:build amd64 || arm64

package launcher

import "golang.org/x/sys/unix"

// over lays the layers of a frame and becomes the program in them. It returns where that fails.
func over() {
	var o Over
	if _, err := ReadFrame(FD, &o); err != nil {
		return
	}
	if err := o.lay(); err != nil {
		_ = WriteFrame(FD, Answer{Say: SayFailed, Why: err.Error()}) // artoo sees the end of the socket, too
		return
	}
	if err := WriteFrame(FD, Answer{Say: SayReady}); err == nil {
		_ = unix.Exec("/proc/self/exe", o.Args, o.Env) // where it fails, artoo sees the end of the socket
	}
}

// lay makes the tree in which the program runs, and gives up the rights that this took.
func (o *Over) lay() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return failed("make mounts private", err)
	}
	for i, dir := range o.Dirs {
		l := layers{lower: []string{dir}, upper: o.Uppers[i], work: o.Works[i]}
		if err := l.makeUpper(); err != nil {
			return failed("make a layer", err)
		}
		if err := l.mount(dir, 0); err != nil {
			return failed("mount a layer over "+dir, err)
		}
	}
	if err := unix.Chdir(o.Dir); err != nil { // The working directory so far lies below the layer.
		return failed("chdir "+o.Dir, err)
	}
	return failed("give up privileges", unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
}
