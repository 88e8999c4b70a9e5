# Sourced by the checks. files [pathspec...]: the files of the tree in the current directory that are
# tracked or could be (not ignored), one a line. Outside git: all files but build/.
files() {
  if [ -e .git ]; then
    git ls-files -co --exclude-standard -- "$@" | while IFS= read -r file; do
      [ ! -e "$file" ] || printf '%s\n' "$file" # deleted, but not committed yet
    done
  else
    find "${@:-.}" -name build -prune -o -type f -print 2>/dev/null | sed 's|^\./||'
  fi
}
