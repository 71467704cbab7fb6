//go:build !linux

package sandbox

const (
	goBuildCache = "Library/Caches/go-build"
	pipCache     = "Library/Caches/pip"
)
