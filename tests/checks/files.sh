# Sourced by the checks. files [pathspec...]: the files of the tree in the current directory that are
# tracked or could be (not ignored), one a line. Where git is missing or will not read the tree (an
# archive, another owner): all files but build/ and .git.
files() {
  if [ -e .git ] && listed=$(git ls-files -co --exclude-standard -- "$@" 2>/dev/null); then
    printf '%s\n' "$listed" | while IFS= read -r file; do
      [ ! -e "$file" ] || printf '%s\n' "$file" # deleted, but not committed yet
    done
  else
    find "${@:-.}" \( -name build -o -name .git \) -prune -o -type f -print 2>/dev/null | sed 's|^\./||'
  fi
}
