#!/bin/sh
#SBATCH --array=1-40%2 --time=30 --requeue --open-mode=append --output=slurm-%a.log
# sbatch array.sh: one task for each line of repos.txt. Slurm starts it again after two minutes.
n=$SLURM_ARRAY_TASK_ID try=$((${SLURM_RESTART_COUNT:-0} + 1)) code=0
trap : TERM # the task gets it too, and decides
sh task.sh "$(sed -n "${n}p" repos.txt)" "out/$n" || code=$?
case $code.$try in
5.[1-4] | 4.[1-2]) scontrol requeue "${SLURM_ARRAY_JOB_ID}_$n" ;;
esac
exit $code
