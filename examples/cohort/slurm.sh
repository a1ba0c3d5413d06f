#!/bin/sh
#SBATCH --job-name=cohort
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --requeue
#
# A cohort by the tasks of a Slurm array. Each task is a worker; they share the inputs by claims in the folder of results.
#
#   sbatch examples/cohort/slurm.sh scans masks segment {} -o {out}_mask.nii.gz
#
# Another number of workers or of processors for each: sbatch --array=1-20 --cpus-per-task=8 ... . A task that is lost with its
# node is started again (--requeue), and what it had in work is done by the others. Submitted once more, only what is missing is done.
set -eu
if [ $# -lt 3 ]; then
  echo "usage: sbatch slurm.sh INPUTS RESULTS VERB [OPTION...], where {} is the input and {out} what its results begin with" >&2
  exit 2
fi
inputs=$1
results=$2
shift 2
exec warploom cohort "$inputs" -o "$results" --threads "${SLURM_CPUS_PER_TASK:-1}" -- "$@"
