"""The `resumed` program: its commands and their options.

Each command imports what it uses when it runs; no error ever ends in a traceback.
"""

import errno
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from resumed.daemon.cli.workspaces import workspace_at
from resumed.daemon.version import VERSION

if TYPE_CHECKING:
    from resumed.daemon.cli.paper import Paper
    from resumed.daemon.cli.session import Reply
    from resumed.daemon.cli.words import Reader
    from resumed.protocol.restore import Wire

_INTERRUPTED = 130
_LARGEST_LIST = 200


class Program(click.Group):
    """The commands; whatever one raises becomes a sentence, a hint and an exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options that stand before the command."""
        try:
            return super().parse_args(ctx, args)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            ctx.exit(_misused(error))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        _write_anything()
        try:
            return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            ctx.exit(_misused(error))
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(_INTERRUPTED)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            ctx.exit(_failed(error))


def _misused(error: click.UsageError) -> int:
    from resumed.daemon.cli.failures import Exit, Failure

    path = error.ctx.command_path if error.ctx is not None else "resumed"
    return _failed(Failure(error.format_message(), f"{path} --help says how.", Exit.USAGE))


def _failed(error: Exception) -> int:
    from resumed.daemon.cli.failures import failure_lines, failure_of
    from resumed.daemon.cli.paper import Paper

    failure = failure_of(error, _reader().now)
    Paper(sys.stderr).show(failure_lines(failure))
    return int(failure.exit_code)


def _workspace(_: click.Context, __: click.Parameter, folder: Path | None) -> Path:
    from resumed.daemon.cli.failures import Failure

    try:
        return workspace_at(folder or Path.cwd())
    except FileNotFoundError as error:
        raise Failure(
            "The current folder is not there any more.", "Go to another one, or name one with --workspace."
        ) from error


workspace_option = click.option(
    "--workspace",
    "root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    callback=_workspace,
    metavar="DIR",
    help="The workspace; by default the work tree of the current folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the answer as programs get it.")
thread_argument = click.argument("thread")


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="resumed")
def main() -> None:
    """Makes Resume of a coding agent's conversation safe.

    THREAD is a conversation's name, its id, or a unique part of either. Exit status: 0 restored or read,
    1 error, 2 wrong usage, 3 there are questions and nobody to ask, 4 not wholly restored.
    """


@main.command()
@click.option("--all", "everywhere", is_flag=True, help="Those of other folders, too.")
@click.option("--archived", is_flag=True, help="Those that were put away.")
@click.option("--limit", type=click.IntRange(1, _LARGEST_LIST), default=50, show_default=True)
@json_option
@workspace_option
def threads(everywhere: bool, archived: bool, limit: int, as_json: bool, root: Path) -> None:
    """List conversations, the interrupted ones first."""
    from resumed.daemon.cli.listing import list_lines
    from resumed.protocol.threads import ThreadListParams

    scope = "all" if everywhere else "workspace"
    reply = _call(root, "thread/list", ThreadListParams(scope=scope, archived=archived, limit=limit))
    paper, reader = _paper(), _reader()
    _print(reply, as_json, paper, lambda: list_lines(reply.value, str(root), reader, paper.width))


@main.command()
@thread_argument
@json_option
@workspace_option
def show(thread: str, as_json: bool, root: Path) -> None:
    """Show all of one conversation."""
    from resumed.daemon.cli.showing import thread_lines
    from resumed.protocol.threads import ThreadReadParams

    reply = _call(root, "thread/read", ThreadReadParams(thread=thread))
    _print(reply, as_json, _paper(), lambda: thread_lines(reply.value, thread, _reader()))


@main.command()
@thread_argument
@json_option
@workspace_option
@click.pass_context
def check(ctx: click.Context, thread: str, as_json: bool, root: Path) -> None:
    """Say what changed since, touching nothing; exit status 3 when a Resume would ask something first."""
    from resumed.daemon.cli.failures import Exit
    from resumed.daemon.cli.questions import check_lines
    from resumed.protocol.resume import DriftCheckParams

    reply = _call(root, "drift/check", DriftCheckParams(thread=thread))
    _print(reply, as_json, _paper(), lambda: check_lines(reply.value, thread))
    is_calm = reply.value.question is None and reply.value.unfinished is None
    ctx.exit(Exit.DONE if is_calm else Exit.NEEDS_ANSWER)


@main.command()
@thread_argument
@click.option(
    "--answer",
    "answers",
    multiple=True,
    metavar="KEY=CHOICE[:TYPED]",
    help="Answer in advance, for example worktree.branchDiffers=stay; as often as needed.",
)
@click.option(
    "--defaults", is_flag=True, help="Ask nobody; never write, never loosen, stop where it differs."
)
@click.option("--exec", "start", is_flag=True, help="Then start the agent, in this terminal.")
@click.option("--take-over", is_flag=True, help="Ask whoever has it open to let it go first.")
@json_option
@workspace_option
@click.pass_context
def resume(
    ctx: click.Context,
    thread: str,
    answers: tuple[str, ...],
    defaults: bool,
    start: bool,
    take_over: bool,
    as_json: bool,
    root: Path,
) -> None:
    """Ask what must be asked, restore, and report."""
    from resumed.daemon.cli.answers import parse
    from resumed.daemon.cli.paper import Paper
    from resumed.daemon.cli.resuming import Console, Wanted
    from resumed.daemon.cli.resuming import resume as resume_thread

    if start and as_json:
        raise click.UsageError("--exec hands this terminal to the agent, so it does not go with --json.")
    if take_over:
        _take_over(root, thread)
    wanted = Wanted(thread, parse(answers), defaults, start, as_json)
    ctx.exit(resume_thread(root, wanted, Console(_paper(), Paper(sys.stderr)), _reader()))


@main.command()
@thread_argument
@click.argument("name")
@json_option
@workspace_option
def name(thread: str, name: str, as_json: bool, root: Path) -> None:
    """Give a conversation a NAME; an empty one goes back to the automatic name."""
    from resumed.daemon.cli.paper import DONE, Line
    from resumed.protocol.threads import NameSetParams

    reply = _call(root, "thread/name/set", NameSetParams(thread_id=thread, name=name))
    _print(reply, as_json, _paper(), lambda: [Line(f"{DONE} ", f"It is called “{reply.value.name}” now.")])


@main.command()
@thread_argument
@json_option
@workspace_option
def archive(thread: str, as_json: bool, root: Path) -> None:
    """Put a conversation away; it can still be shown and resumed."""
    _move(root, "thread/archive", thread, as_json)


@main.command()
@thread_argument
@json_option
@workspace_option
def unarchive(thread: str, as_json: bool, root: Path) -> None:
    """Bring a conversation back that was put away."""
    _move(root, "thread/unarchive", thread, as_json)


@main.command()
@thread_argument
@click.option("--yes", "sure", is_flag=True, help="Do not ask; needed where there is no terminal.")
@json_option
@workspace_option
@click.pass_context
def purge(ctx: click.Context, thread: str, sure: bool, as_json: bool, root: Path) -> None:
    """Remove for good what is kept of a conversation here; never an agent's own files."""
    from resumed.daemon.cli.failures import Exit
    from resumed.daemon.cli.purging import is_wanted, purged_lines
    from resumed.protocol.keeping import ThreadPurgeParams

    paper = _paper()
    if not sure and not is_wanted(root, thread, paper, _reader()):
        ctx.exit(Exit.NOT_WHOLE)
    reply = _call(root, "thread/purge", ThreadPurgeParams(thread_id=thread))
    _print(reply, as_json, paper, lambda: purged_lines(reply.value, _reader()))


@main.command()
@thread_argument
@click.option("--to", "target", required=True, metavar="FILE", help="The new file to write.")
@json_option
@workspace_option
def export(thread: str, target: str, as_json: bool, root: Path) -> None:
    """Write all that is kept of a conversation into one file, to be taken to another machine."""
    from resumed.daemon.cli.keeping import exported_lines
    from resumed.protocol.keeping import ThreadExportParams

    params = ThreadExportParams(thread_id=thread, path=os.path.abspath(target))
    reply = _call(root, "thread/export", params)
    _print(reply, as_json, _paper(), lambda: exported_lines(reply.value, _reader()))


@main.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@json_option
@workspace_option
def take_in(file: str, as_json: bool, root: Path) -> None:
    """Take in a conversation from a FILE that export wrote, also on another machine."""
    from resumed.daemon.cli.keeping import imported_lines
    from resumed.protocol.keeping import ThreadImportParams

    reply = _call(root, "thread/import", ThreadImportParams(path=os.path.abspath(file)))
    _print(reply, as_json, _paper(), lambda: imported_lines(reply.value))


@main.command()
@thread_argument
@json_option
@workspace_option
@click.pass_context
def diagnose(ctx: click.Context, thread: str, as_json: bool, root: Path) -> None:
    """Say in which layer a conversation is not what its record says; exit status 4 when it is not."""
    from resumed.daemon.cli.examining import diagnosis_lines
    from resumed.daemon.cli.failures import Exit
    from resumed.protocol.keeping import ThreadDiagnoseParams

    reply = _call(root, "thread/diagnose", ThreadDiagnoseParams(thread_id=thread))
    _print(reply, as_json, _paper(), lambda: diagnosis_lines(reply.value))
    differs = any(layer.differences for layer in reply.value.layers)
    ctx.exit(Exit.NOT_WHOLE if differs else Exit.DONE)


@main.command()
@click.option("--repair", is_flag=True, help="Mend what loses no byte.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, repair: bool, as_json: bool) -> None:
    """Check all that is kept, without the background process and without writing; exit status 4 when
    something needs you."""
    from resumed.daemon.cli.examining import examination_lines, examination_text
    from resumed.daemon.cli.failures import Exit
    from resumed.daemon.keeping.doctor import examine, mend
    from resumed.daemon.runtime import state_folder

    found = examine(state_folder())
    found = mend(found) if repair else found
    paper = _paper()
    if as_json:
        paper.stream.write(examination_text(found) + "\n")
    else:
        paper.show(examination_lines(found, _reader()))
    ctx.exit(Exit.DONE if found.is_sound else Exit.NOT_WHOLE)


@main.command()
@click.option("--privacy", is_flag=True, help="What is kept, where, how large, how long, and what leaves.")
@json_option
@workspace_option
def status(privacy: bool, as_json: bool, root: Path) -> None:
    """Show the background process in figures."""
    from resumed.daemon.cli.showing import status_lines
    from resumed.protocol.daemon import StatusParams

    if privacy:
        _privacy(as_json)
        return
    reply = _call(root, "daemon/status", StatusParams())
    _print(reply, as_json, _paper(), lambda: status_lines(reply.value, _reader()))


@main.command()
@workspace_option
def serve(root: Path) -> None:
    """Run the background process in the foreground."""
    from resumed.daemon.__main__ import end
    from resumed.daemon.serve import serve as serve_workspace

    end(1 if serve_workspace(root) else 0)


@main.command()
@click.option(
    "--stdio", is_flag=True, required=True, help="Over standard input and output; the only way yet."
)
@workspace_option
@click.pass_context
def connect(ctx: click.Context, stdio: bool, root: Path) -> None:
    """Connect an editor or an agent to the background process, which is started if need be."""
    from resumed.daemon.connect import bridge_stdio

    ctx.exit(bridge_stdio(root))


def _take_over(root: Path, thread: str) -> None:
    from resumed.daemon.cli.failures import Failure
    from resumed.daemon.cli.keeping import not_released
    from resumed.protocol.keeping import ThreadReleaseParams

    result = _call(root, "thread/release", ThreadReleaseParams(thread_id=thread)).value
    if not result.released:
        raise Failure(*not_released(result))


def _privacy(as_json: bool) -> None:
    from resumed.daemon.cli.privacy import privacy_lines, privacy_text
    from resumed.daemon.keeping.privacy import inventory
    from resumed.daemon.runtime import runtime_folder, state_folder

    paper, kept = _paper(), inventory(state_folder(), runtime_folder())
    if as_json:
        paper.stream.write(privacy_text(kept) + "\n")
    else:
        paper.show(privacy_lines(kept, _reader()))


def _move(root: Path, method: str, thread: str, as_json: bool) -> None:
    from resumed.daemon.cli.keeping import moved_lines
    from resumed.protocol.keeping import ThreadArchiveParams

    reply = _call(root, method, ThreadArchiveParams(thread_id=thread))
    _print(reply, as_json, _paper(), lambda: moved_lines(reply.value, _reader()))


def _call(root: Path, method: str, params: "Wire") -> "Reply":
    from resumed.daemon.cli.session import call

    return call(root, method, params)


def _print(reply: "Reply", as_json: bool, paper: "Paper", lines: Callable[[], Any]) -> None:
    from resumed.daemon.cli.session import json_text

    if as_json:
        paper.stream.write(json_text(reply) + "\n")
    else:
        paper.show(lines())


def _paper() -> "Paper":
    from resumed.daemon.cli.paper import Paper

    if sys.stdout is None:
        from resumed.daemon.cli.failures import Failure

        raise Failure("There is no standard output to write to.")
    return Paper(sys.stdout)


def _reader() -> "Reader":
    from resumed.daemon.cli.words import Reader

    home = os.path.expanduser("~")
    return Reader(now=datetime.now().astimezone(), home=home, real_home=os.path.realpath(home))


def _write_anything() -> None:
    """Names of files may hold bytes that are no text: they are written escaped instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
