#!/bin/bash
# After array.sh: pick-best.sh STEM lists the fits of STEM.rR.sSEED.json in the current folder, and
# links STEM.rR.best.cpd.h5 to the best result for every R (a larger R nearly always fits better, so
# which R is enough is for you to say). Run it, or submit it as array.sh says.
#SBATCH --ntasks=1
#SBATCH --time=00:05:00
#SBATCH --job-name=amped-best
#SBATCH --output=%x-%j.out
set -eu
stem=${1:-tensor} # the tensor file's name without .h5

table=$(
  for json in "$stem".r*.s*.json; do
    [ -f "$json" ] || continue
    R=${json#"$stem".r}
    seed=${R#*.s}
    # The last line of a run that ended tells its fit, or with --loss=poisson the share that it explains.
    fit=$(sed -n 's/^{"event":"end".*"\(fit\|explained\)":\([^,}]*\).*/\2/p' "$json")
    echo "${R%%.s*} ${seed%.json} ${fit:-unfinished}"
  done | sort -k1,1n -k3,3gr -k2,2n
)
if [ -z "$table" ]; then
  echo "pick-best.sh: there is no $stem.rR.sSEED.json in $PWD; array.sh writes them" >&2
  exit 1
fi
printf '%6s %10s  %s\n' R seed fit
last=
while read -r R seed fit; do
  best=
  if [ "$fit" != unfinished ] && [ "$R" != "$last" ]; then
    last=$R
    best="  best: $stem.r$R.best.cpd.h5"
    ln -sfn "$stem.r$R.s$seed.cpd.h5" "$stem.r$R.best.cpd.h5"
  fi
  printf '%6s %10s  %s%s\n' "$R" "$seed" "$fit" "$best"
done <<<"$table"
if [ -z "$last" ]; then
  echo "pick-best.sh: no run has ended" >&2
  exit 1
fi
