#!/bin/sh
# again.sh COMMAND…: repeats COMMAND while its exit code says that it may succeed.
try=0
while :; do
  try=$((try + 1)) code=0
  "$@" || code=$?
  case $code in
  5) [ $try -lt 5 ] || exit 5 ;; # rate limit, overloaded: later
  4) [ $try -lt 3 ] || exit 4 ;; # network, provider: a few times
  *) exit $code ;;
  esac
  sleep $((${PAUSE:-60} * try))
done
