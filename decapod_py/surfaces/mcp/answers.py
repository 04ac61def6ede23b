"""Answers and errors as tool results: our one error type in the words of this surface."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from mcp.types import CallToolResult, TextContent

from decapod_py.foundation.errors import Call, DecapodError, Hint
from decapod_py.surfaces.mcp.schema import compact


def answered(answer: dict[str, Any], warnings: Sequence[str]) -> CallToolResult:
    """The answer as data and, for clients that read text only, as the same JSON."""
    return _result(answer, warnings, is_error=False)


def refused(error: DecapodError, tools: Collection[str], warnings: Sequence[str] = ()) -> CallToolResult:
    """An expected refusal: `isError`, with the code that every surface gives."""
    told: dict[str, Any] = {"code": error.code, "message": error.message, "hint": spoken(error.hint, tools)}
    if error.details:
        told["details"] = error.details
    return _result({"error": told}, warnings, is_error=True)


def failed(error: Exception, tools: Collection[str]) -> CallToolResult:
    """Our own bug: the agent learns that it is one, the details go to standard error."""
    message = f"{type(error).__name__}: {error}"
    return refused(DecapodError("internal", message, hint="this is a bug in decapod; its log is on stderr"), tools)


def spoken(hint: Hint, tools: Collection[str]) -> str | None:
    """A next step as a tool call, or as what to ask of a person where the agent has no such tool."""
    if not isinstance(hint, Call):
        return hint
    tool = hint.operation.replace(".", "_").replace("-", "_")
    arguments = [f"{name}={compact(value)}" for name, value in hint.arguments.items()]
    if tool in tools:
        return f"{tool}({', '.join(arguments)})"
    return " ".join(["ask a person for: decapod", hint.operation.replace(".", " "), *arguments])


def _result(value: dict[str, Any], warnings: Sequence[str], *, is_error: bool) -> CallToolResult:
    texts = [_sayable(text) for text in (compact(value), *warnings)]
    return CallToolResult(
        content=[TextContent(text=text) for text in texts], structured_content=json.loads(texts[0]), is_error=is_error
    )


def _sayable(text: str) -> str:
    """A file name can hold bytes that are no UTF-8; one of them must not break the whole wire."""
    return text.encode("utf-8", "replace").decode("utf-8")
