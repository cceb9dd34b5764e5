# Sourced by jobs that take no arguments, before they change folder: --help prints the comment at
# the job's head.
case ${1-} in
  "") ;;
  --help | -h) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
  *) echo "$(basename "$0"): takes no argument but --help" >&2 && exit 2 ;;
esac
