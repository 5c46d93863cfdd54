"""Print a shell script that completes commands, options, policies and worlds.

The script calls driftduel at every TAB, so it stays valid when driftduel is updated.
"""

import argparse

__all__ = ["ASK", "configure", "run"]

ASK = "_complete"
"""The hidden command that the scripts call; handled by the module `completing`."""

_SCRIPTS = {
    "bash": r"""_driftduel() {
  local IFS=$'\n'
  COMPREPLY=($("$1" ASK --bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null))
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]]; then
    type compopt >/dev/null 2>&1 && compopt -o nospace
  fi
}
complete -o default -F _driftduel driftduel""",
    "zsh": r"""#compdef driftduel
_driftduel() {
  local -a all more
  all=("${(@f)$("${words[1]}" ASK "${(@)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  all=("${(@)all:#}")
  if (( ! ${#all} )); then _files; return; fi
  more=("${(@M)all:#*[=:]}")
  all=("${(@)all:#*[=:]}")
  (( ${#more} )) && compadd -Q -S '' -a more
  (( ${#all} )) && compadd -Q -a all
}
if [[ "${funcstack[1]}" == _driftduel ]]; then
  _driftduel "$@"
else
  compdef _driftduel driftduel
fi""",
    "fish": r"""function __driftduel
  set -l all (driftduel ASK (commandline -opc) (commandline -ct) 2>/dev/null)
  if test (count $all) -gt 0
    printf '%s\n' $all
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c driftduel -f -a '(__driftduel)'""",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), metavar="SHELL", help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    print(_SCRIPTS[arguments.shell].replace("ASK", ASK))
