package tool

// These names stand for what has moved, until their users name the new place.

import (
	"context"
	"io"
	"os"

	"artoo/tool/edit"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/project"
)

type (
	Files       = files.Files
	FilesConfig = files.Config
	Place       = files.Place
	State       = files.State
	GrantError  = files.GrantError
	Project     = project.Project
	Histories   = project.Histories
	GitChange   = project.GitChange
	Withholding = environ.Withholding
)

func OpenFiles(cfg FilesConfig) (*Files, error) { return files.Open(cfg) }
func StateWith(content []byte) State            { return files.StateWith(content) }
func FindProject(dir, home string, superuser bool) (Project, error) {
	return project.Find(dir, home, superuser)
}
func Repository(dir string) (Project, error)             { return project.Repository(dir) }
func AboveProjects(dir, home string) bool                { return project.AboveProjects(dir, home) }
func Within(dir, path string) bool                       { return project.Within(dir, path) }
func ModuleWorkTree(gitDir string) string                { return git.ModuleWorkTree(gitDir) }
func HooksIn(dir string, hookDirs []string) []string     { return project.HooksIn(dir, hookDirs) }
func GitSigns(environ []string, dir string) string       { return project.GitSigns(environ, dir) }
func Loses(environ []string, path string) string         { return project.Loses(environ, path) }
func GitData(path string) bool                           { return project.GitData(path) }
func PatchPaths(patch string) []string                   { return edit.PatchPaths(patch) }
func Variable(environ []string) func(string) string      { return environ_(environ) }
func environ_(list []string) func(string) string         { return environ.Variable(list) }
func ShellLocale(list []string) string                   { return environ.ShellLocale(list) }
func IsSocket(name string) bool                          { return environ.IsSocket(name) }
func WithoutKeys(list []string, keys ...string) []string { return environ.WithoutKeys(list, keys...) }
func ChildEnviron(list []string, hold Withholding) (env, withheld []string) {
	return environ.ChildEnviron(list, hold)
}
func ProgramOf(list []string, root, name string, version bool) error {
	return environ.ProgramOf(list, root, name, version)
}
func GitChanges(ctx context.Context, root string, changes []GitChange,
	before, after func(path string) (io.ReadCloser, error)) []string {
	return project.GitChanges(ctx, root, changes, before, after)
}
func DiffFiles(name string, before, after []byte, was, is bool) (string, error) {
	return edit.DiffFiles(name, before, after, was, is)
}

func IsBlob(ctx context.Context, file *os.File, blobs []string) (bool, error) {
	return project.IsBlob(ctx, file, blobs)
}
