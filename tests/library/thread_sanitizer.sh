#!/bin/sh
# thread_sanitizer.sh COMPILER SOURCE PROGRAM OPTION...: compiles a user's program with ThreadSanitizer and runs it. 77, where
# the compiler has no ThreadSanitizer, or it does not run with this kernel.
set -e
compiler=$1 source=$2 program=$3
shift 3
echo 'int main() {}' | "$compiler" -fsanitize=thread -x c++ - -o "$program" 2>/dev/null && "$program" 2>/dev/null || exit 77
"$compiler" -std=c++20 -O1 -g -fsanitize=thread "$source" -o "$program" "$@"
"$program"
