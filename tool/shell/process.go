package shell

// Process is what the system tells of a process.
type Process struct {
	PID, Parent, Group, Session int
	Began                       uint64 // in ticks since the system started; 0 where that is not looked up
	Dead                        bool   // it has ended, and nobody has asked how
	Kernel                      bool   // it is a thread of the kernel's
}
