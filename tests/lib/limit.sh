# limit.sh SECONDS COMMAND...: a test that hangs fails, and says so.
seconds=$1
shift
timeout -k 10 "$seconds" "$@"
status=$?
test $status -ne 124 || echo "ended after $seconds seconds"
exit $status
