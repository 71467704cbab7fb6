package keyring

// reachable is always so: the keyring is part of the system.
func reachable([]string) bool { return true }
