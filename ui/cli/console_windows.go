package cli

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// consoleOf says what stands behind a stream. A console is made to understand
// escape sequences, if it can; restore undoes that.
func consoleOf(f *os.File, input bool) (c console, restore func()) {
	handle := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return windowsConsole(false, false, pipeName(handle)), func() {}
	}
	if input { // its modes are the editor's
		return consoleFull, func() {}
	}
	with := mode | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	understands := with == mode || windows.SetConsoleMode(handle, with) == nil
	return windowsConsole(true, understands, ""), func() {
		if understands && with != mode {
			_ = windows.SetConsoleMode(handle, mode) // the console may be gone
		}
	}
}

// pipeName is the name of a pipe, "" for anything else.
func pipeName(handle windows.Handle) string {
	if kind, err := windows.GetFileType(handle); err != nil || kind != windows.FILE_TYPE_PIPE {
		return ""
	}
	// FILE_NAME_INFO: the length in bytes, and the characters.
	var info struct {
		length uint32
		name   [windows.MAX_PATH]uint16
	}
	if windows.GetFileInformationByHandleEx(handle, windows.FileNameInfo, (*byte)(unsafe.Pointer(&info)),
		uint32(unsafe.Sizeof(info))) != nil {
		return ""
	}
	return windows.UTF16ToString(info.name[:min(int(info.length/2), len(info.name))])
}
