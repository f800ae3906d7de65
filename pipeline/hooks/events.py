"""What each hook does, in the child. Whatever goes wrong is written down and ends in silence."""

from __future__ import annotations

from pathlib import Path

from indexes.ahead import begin
from indexes.errors import GieokError, NoStoreError, SourceError
from pipeline.home import named_folder
from pipeline.hooks.command import HookCall
from pipeline.hooks.given import Given, read_given
from pipeline.hooks.log import note
from pipeline.hooks.reply import Reply, end_after
from pipeline.settings import Settings

_SPARE = 1.0
"""Seconds after its bound at which a hook is ended that nobody waits for any more."""


def run(call: HookCall, reply: Reply) -> None:
    """Do what the event asks for. Never raises."""
    home: Path | None = None
    try:
        home = named_folder(call.home).resolve()
        settings = _settings(call)
        reply.allow(settings.hooks.timeout)
        end_after(settings.hooks.timeout + _SPARE)
        given = read_given(lambda: reply.left)
        if call.event == "user-prompt-submit":
            _prompt(given, home, settings, reply)
        else:
            end_after(settings.hooks.timeout + max(_SPARE, settings.hooks.background))
            _others(call.event, given, home, settings, reply)
    except NoStoreError:
        pass  # nothing was indexed yet: nothing to say
    except BaseException as error:  # the panics of tantivy are not Exceptions
        note(home, call.event, error)
    finally:
        reply.done()


def _settings(call: HookCall) -> Settings:
    settings = Settings.load(Path(call.config) if call.config else None)
    # A store that another process keeps locked for longer than a hook lasts is as good as gone.
    wait = min(settings.store.busy_timeout, settings.hooks.timeout)
    return settings.model_copy(update={"store": settings.store.model_copy(update={"busy_timeout": wait})})


def _prompt(given: Given, home: Path, settings: Settings, reply: Reply) -> None:
    begin(settings.embedder.model, settings.embedder.threads or None)
    from pipeline.hooks.prompt import answer_prompt

    answer_prompt(given, home, settings, reply)


def _others(event: str, given: Given, home: Path, settings: Settings, reply: Reply) -> None:
    from pipeline.hooks.transcripts import accepted, embed, index_transcripts

    if event == "session-start":
        from pipeline.hooks.briefing import answer_start

        answer_start(given, home, settings, reply)
        index_transcripts(home, settings, reply, event)
        return
    if not settings.hooks.transcripts:
        return
    try:
        path = accepted(given.transcript_path, home, settings.sources.max_file_bytes)
    except SourceError as error:
        note(home, event, error)
        return
    written = _diary(given, path, home, settings) if event == "pre-compact" else None
    index_transcripts(home, settings, reply, event, path, written)
    reply.done()
    if event == "session-end" and settings.hooks.background > 0 and settings.embedder.model != "none":
        embed(home, settings)


def _diary(given: Given, transcript: Path, home: Path, settings: Settings) -> Path | None:
    from pipeline.diary.write import write_from_transcript

    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return write_from_transcript(
            transcript, home=home, settings=settings, session_id=given.session_id or None, project=given.project
        )
    except (GieokError, OSError) as error:  # the transcript is still to be indexed
        note(home, "pre-compact", error)
        return None
