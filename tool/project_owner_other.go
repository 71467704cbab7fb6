//go:build !unix

package tool

// ownedByUser takes every file for the user's own: owners are not looked up
// here.
func ownedByUser(string) bool { return true }
