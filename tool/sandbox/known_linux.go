package sandbox

const (
	goBuildCache = ".cache/go-build"
	pipCache     = ".cache/pip"
)
