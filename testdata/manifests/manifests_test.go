// Package manifests looks at the recipes of docs/fleet with the types of Kubernetes and the checker of
// workflows, neither of which is a dependency of artoo.
package manifests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var recipes = filepath.Join("..", "..", "docs", "fleet")

func recipe(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recipes, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func job(t *testing.T) batch.JobSpec {
	t.Helper()
	var j batch.Job
	if err := yaml.UnmarshalStrict(recipe(t, "job.yaml"), &j); err != nil {
		t.Fatal(err)
	}
	if j.APIVersion != batch.SchemeGroupVersion.String() || j.Kind != "Job" {
		t.Fatalf("%s %s", j.APIVersion, j.Kind)
	}
	return j.Spec
}

// TestTheJobRetriesByExitCode plays the pod failure policy: the first rule that matches counts, and a
// failure that none matches counts towards the limit of the index.
func TestTheJobRetriesByExitCode(t *testing.T) {
	spec := job(t)
	pod := spec.Template.Spec
	if *spec.CompletionMode != batch.IndexedCompletion || pod.RestartPolicy != core.RestartPolicyNever || *spec.BackoffLimitPerIndex < 1 {
		t.Fatalf("a policy by index needs an indexed job whose pods are not restarted: %+v", spec)
	}
	action := func(code int32, disrupted bool) batch.PodFailurePolicyAction {
		for _, rule := range spec.PodFailurePolicy.Rules {
			if on := rule.OnExitCodes; on != nil && *on.ContainerName == pod.Containers[0].Name &&
				slices.Contains(on.Values, code) == (on.Operator == batch.PodFailurePolicyOnExitCodesOpIn) {
				return rule.Action
			}
			for _, on := range rule.OnPodConditions {
				if disrupted && on.Type == core.DisruptionTarget && on.Status == core.ConditionTrue {
					return rule.Action
				}
			}
		}
		return batch.PodFailurePolicyActionCount
	}
	for _, code := range []int32{1, 2, 3, 6, 7, 8, 9, 10} {
		if got := action(code, false); got != batch.PodFailurePolicyActionFailIndex {
			t.Errorf("exit code %d: %s", code, got)
		}
	}
	for _, code := range []int32{4, 5, 137, 143} {
		if got := action(code, false); got != batch.PodFailurePolicyActionCount {
			t.Errorf("exit code %d: %s", code, got)
		}
	}
	if got := action(143, true); got != batch.PodFailurePolicyActionIgnore {
		t.Errorf("a drained node: %s", got)
	}
}

// TestTheJobRunsItsTask runs the container's command with the job's last index: each path that the
// script writes to is on a volume.
func TestTheJobRunsItsTask(t *testing.T) {
	spec := job(t)
	task := spec.Template.Spec.Containers[0]
	fleet, work := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"repos.txt": strings.Repeat("other\n", int(*spec.Completions)-1) + "last\n",
		"task.sh": `echo "$*" >` + work + "/ran\n"} {
		if err := os.WriteFile(filepath.Join(fleet, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(task.Command[0], append(task.Command[1:], task.Args...)...)
	cmd.Dir, cmd.Env = fleet, append(os.Environ(), "JOB_COMPLETION_INDEX=39")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(work, "ran"))
	if err != nil || string(got) != "last /work/out/40\n" {
		t.Errorf("task.sh got %q, %v", got, err)
	}
	if !*task.SecurityContext.ReadOnlyRootFilesystem || !*spec.Template.Spec.SecurityContext.RunAsNonRoot {
		t.Error("the container may write its root, or run as root")
	}
	volumes := map[string]bool{}
	for _, v := range spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	var mounted []string
	for _, m := range task.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("no volume %s", m.Name)
		}
		mounted = append(mounted, m.MountPath)
	}
	for _, v := range task.Env {
		if strings.HasPrefix(v.Value, "/") && !slices.ContainsFunc(mounted, func(at string) bool { return strings.HasPrefix(v.Value+"/", at+"/") }) {
			t.Errorf("%s=%s is on no volume", v.Name, v.Value)
		}
	}
	if task.WorkingDir != "/fleet" || !slices.Contains(mounted, "/fleet") || !slices.Contains(mounted, "/work") || !slices.Contains(mounted, "/tmp") {
		t.Errorf("the task runs in %s, mounted are %q", task.WorkingDir, mounted)
	}
}

// TestTheWorkflowIsOne has the checker of GitHub's workflows look at the one here.
func TestTheWorkflowIsOne(t *testing.T) {
	linter, err := actionlint.NewLinter(os.Stderr, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := linter.Lint("fleet.yml", recipe(t, "github.yml"), nil)
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
}
