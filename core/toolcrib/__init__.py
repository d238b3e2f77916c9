"""toolcrib: a plugin framework for the tools of LLM agents.

The names below are imported when they are first used, so that a plugin module which needs two of
them does not load the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._version import __version__

if TYPE_CHECKING:
    from toolcrib.accesses import Accesses as Accesses
    from toolcrib.agent import Agent as Agent
    from toolcrib.agent import ToolInfo as ToolInfo
    from toolcrib.approvals.files import edit_file as edit_file
    from toolcrib.config.folders import config_folder as config_folder
    from toolcrib.config.folders import state_folder as state_folder
    from toolcrib.config.settings import Settings as Settings
    from toolcrib.config.sources import Layer as Layer
    from toolcrib.contract.answers import Allow as Allow
    from toolcrib.contract.answers import Approve as Approve
    from toolcrib.contract.answers import Ask as Ask
    from toolcrib.contract.answers import Deny as Deny
    from toolcrib.contract.answers import Proceed as Proceed
    from toolcrib.contract.answers import Veto as Veto
    from toolcrib.contract.call import Outcome as Outcome
    from toolcrib.contract.call import ToolCall as ToolCall
    from toolcrib.contract.context import ToolContext as ToolContext
    from toolcrib.contract.context import Update as Update
    from toolcrib.contract.contribution import ActivationContext as ActivationContext
    from toolcrib.contract.contribution import RuntimeContribution as RuntimeContribution
    from toolcrib.contract.contribution import ToolContribution as ToolContribution
    from toolcrib.contract.description import read_description as read_description
    from toolcrib.contract.display import CommandDisplay as CommandDisplay
    from toolcrib.contract.display import DiffDisplay as DiffDisplay
    from toolcrib.contract.display import FileIODisplay as FileIODisplay
    from toolcrib.contract.display import GenericDisplay as GenericDisplay
    from toolcrib.contract.display import TaskDisplay as TaskDisplay
    from toolcrib.contract.display import TaskStopDisplay as TaskStopDisplay
    from toolcrib.contract.events import McpServerStatus as McpServerStatus
    from toolcrib.contract.events import PermissionDecided as PermissionDecided
    from toolcrib.contract.events import PluginProblem as PluginProblem
    from toolcrib.contract.events import TaskEnded as TaskEnded
    from toolcrib.contract.events import TaskStarted as TaskStarted
    from toolcrib.contract.events import ToolListUpdated as ToolListUpdated
    from toolcrib.contract.events import ToolProgress as ToolProgress
    from toolcrib.contract.execution import Execution as Execution
    from toolcrib.contract.execution import RunnableExecution as RunnableExecution
    from toolcrib.contract.function_tool import tool as tool
    from toolcrib.contract.hooks import hookimpl as hookimpl
    from toolcrib.contract.interaction import ApprovalAnswer as ApprovalAnswer
    from toolcrib.contract.interaction import ApprovalRequest as ApprovalRequest
    from toolcrib.contract.interaction import PlanReviewAnswer as PlanReviewAnswer
    from toolcrib.contract.interaction import PlanReviewRequest as PlanReviewRequest
    from toolcrib.contract.interaction import Question as Question
    from toolcrib.contract.interaction import QuestionAnswer as QuestionAnswer
    from toolcrib.contract.interaction import QuestionOption as QuestionOption
    from toolcrib.contract.interaction import QuestionRequest as QuestionRequest
    from toolcrib.contract.interaction import UserToolAnswer as UserToolAnswer
    from toolcrib.contract.interaction import UserToolRequest as UserToolRequest
    from toolcrib.contract.messages import ContextMessage as ContextMessage
    from toolcrib.contract.messages import MessageSource as MessageSource
    from toolcrib.contract.output import OutputSink as OutputSink
    from toolcrib.contract.result import MediaPart as MediaPart
    from toolcrib.contract.result import TextPart as TextPart
    from toolcrib.contract.result import ToolResult as ToolResult
    from toolcrib.contract.settings import settings as settings
    from toolcrib.contract.task_records import STOPPED_BY_USER as STOPPED_BY_USER
    from toolcrib.contract.task_records import TaskEnd as TaskEnd
    from toolcrib.contract.task_records import TaskInfo as TaskInfo
    from toolcrib.contract.task_records import TaskOutput as TaskOutput
    from toolcrib.contract.task_records import TaskStatus as TaskStatus
    from toolcrib.contract.tasks import Foreground as Foreground
    from toolcrib.contract.tasks import TaskLog as TaskLog
    from toolcrib.contract.tasks import Tasks as Tasks
    from toolcrib.contract.tasks import Work as Work
    from toolcrib.contract.tool import Tool as Tool
    from toolcrib.crib import Crib as Crib
    from toolcrib.dialects import CompiledSchema as CompiledSchema
    from toolcrib.dialects import compile_schema as compile_schema
    from toolcrib.dialects import provider_tool as provider_tool
    from toolcrib.errors import Notice as Notice
    from toolcrib.errors import PathSecurityError as PathSecurityError
    from toolcrib.errors import RuntimeUnavailable as RuntimeUnavailable
    from toolcrib.errors import StateError as StateError
    from toolcrib.errors import ToolcribError as ToolcribError
    from toolcrib.features import Feature as Feature
    from toolcrib.interactions import cancelled_answer as cancelled_answer
    from toolcrib.mcp.naming import qualify_tool_name as qualify_tool_name
    from toolcrib.mcp.naming import server_prefix as server_prefix
    from toolcrib.messages import ContextMessages as ContextMessages
    from toolcrib.offered import MissingTool as MissingTool
    from toolcrib.offered import ToolSource as ToolSource
    from toolcrib.offered import ToolTable as ToolTable
    from toolcrib.offered import WithheldTool as WithheldTool
    from toolcrib.paths import ResolvedPath as ResolvedPath
    from toolcrib.paths import Workspace as Workspace
    from toolcrib.paths import is_sensitive_file as is_sensitive_file
    from toolcrib.paths import repository_root as repository_root
    from toolcrib.permissions.touched import Match as Match
    from toolcrib.permissions.touched import touches_path as touches_path
    from toolcrib.pipeline.flight import Completion as Completion
    from toolcrib.private_files import change_private_file as change_private_file
    from toolcrib.private_files import read_private_file as read_private_file
    from toolcrib.processes.descendants import Descendants as Descendants
    from toolcrib.processes.descendants import adopt_orphans as adopt_orphans
    from toolcrib.processes.identity import process_age_s as process_age_s
    from toolcrib.processes.identity import process_started as process_started
    from toolcrib.processes.identity import this_host as this_host
    from toolcrib.processes.orphans import end_orphans as end_orphans
    from toolcrib.processes.running import Remains as Remains
    from toolcrib.processes.running import RunningProcess as RunningProcess
    from toolcrib.processes.running import start_on_files as start_on_files
    from toolcrib.processes.running import start_process as start_process
    from toolcrib.processes.tree import ProcessTree as ProcessTree
    from toolcrib.profiles import Profile as Profile
    from toolcrib.redaction import redacted as redacted
    from toolcrib.rules import arguments_matcher as arguments_matcher
    from toolcrib.rules import literal_rule as literal_rule
    from toolcrib.rules import path_matcher as path_matcher
    from toolcrib.rules import text_matcher as text_matcher
    from toolcrib.runtime import Launch as Launch
    from toolcrib.runtime import LocalRuntime as LocalRuntime
    from toolcrib.runtime import Runtime as Runtime
    from toolcrib.runtimes import Lease as Lease
    from toolcrib.runtimes import RuntimeRegistry as RuntimeRegistry
    from toolcrib.schema import Alias as Alias
    from toolcrib.services import Lazy as Lazy
    from toolcrib.services import ServiceRegistrar as ServiceRegistrar
    from toolcrib.session import Session as Session
    from toolcrib.session import open_session as open_session
    from toolcrib.shell import analyse_command as analyse_command
    from toolcrib.shell.model import CommandAnalysis as CommandAnalysis
    from toolcrib.terminal import TerminalText as TerminalText
    from toolcrib.validation import ArgumentValidator as ArgumentValidator

_HOMES = {
    "toolcrib.accesses": ["Accesses"],
    "toolcrib.agent": ["Agent", "ToolInfo"],
    "toolcrib.approvals.files": ["edit_file"],
    "toolcrib.config.folders": ["config_folder", "state_folder"],
    "toolcrib.config.settings": ["Settings"],
    "toolcrib.config.sources": ["Layer"],
    "toolcrib.contract.answers": ["Allow", "Approve", "Ask", "Deny", "Proceed", "Veto"],
    "toolcrib.contract.call": ["Outcome", "ToolCall"],
    "toolcrib.contract.context": ["ToolContext", "Update"],
    "toolcrib.contract.contribution": [
        "ActivationContext",
        "RuntimeContribution",
        "ToolContribution",
    ],
    "toolcrib.contract.description": ["read_description"],
    "toolcrib.contract.display": [
        "CommandDisplay",
        "DiffDisplay",
        "FileIODisplay",
        "GenericDisplay",
        "TaskDisplay",
        "TaskStopDisplay",
    ],
    "toolcrib.contract.events": [
        "McpServerStatus",
        "PermissionDecided",
        "PluginProblem",
        "TaskEnded",
        "TaskStarted",
        "ToolListUpdated",
        "ToolProgress",
    ],
    "toolcrib.contract.execution": ["Execution", "RunnableExecution"],
    "toolcrib.contract.function_tool": ["tool"],
    "toolcrib.contract.hooks": ["hookimpl"],
    "toolcrib.contract.interaction": [
        "ApprovalAnswer",
        "ApprovalRequest",
        "PlanReviewAnswer",
        "PlanReviewRequest",
        "Question",
        "QuestionAnswer",
        "QuestionOption",
        "QuestionRequest",
        "UserToolAnswer",
        "UserToolRequest",
    ],
    "toolcrib.contract.messages": ["ContextMessage", "MessageSource"],
    "toolcrib.contract.output": ["OutputSink"],
    "toolcrib.contract.result": ["MediaPart", "TextPart", "ToolResult"],
    "toolcrib.contract.settings": ["settings"],
    "toolcrib.contract.task_records": [
        "STOPPED_BY_USER",
        "TaskEnd",
        "TaskInfo",
        "TaskOutput",
        "TaskStatus",
    ],
    "toolcrib.contract.tasks": ["Foreground", "TaskLog", "Tasks", "Work"],
    "toolcrib.contract.tool": ["Tool"],
    "toolcrib.crib": ["Crib"],
    "toolcrib.dialects": ["CompiledSchema", "compile_schema", "provider_tool"],
    "toolcrib.errors": [
        "Notice",
        "PathSecurityError",
        "RuntimeUnavailable",
        "StateError",
        "ToolcribError",
    ],
    "toolcrib.features": ["Feature"],
    "toolcrib.messages": ["ContextMessages"],
    "toolcrib.paths": ["ResolvedPath", "Workspace", "is_sensitive_file", "repository_root"],
    "toolcrib.offered": ["MissingTool", "ToolSource", "ToolTable", "WithheldTool"],
    "toolcrib.permissions.touched": ["Match", "touches_path"],
    "toolcrib.pipeline.flight": ["Completion"],
    "toolcrib.processes.descendants": ["Descendants", "adopt_orphans"],
    "toolcrib.private_files": ["change_private_file", "read_private_file"],
    "toolcrib.processes.identity": ["process_age_s", "process_started", "this_host"],
    "toolcrib.processes.orphans": ["end_orphans"],
    "toolcrib.interactions": ["cancelled_answer"],
    "toolcrib.mcp.naming": ["qualify_tool_name", "server_prefix"],
    "toolcrib.processes.running": [
        "Remains",
        "RunningProcess",
        "start_on_files",
        "start_process",
    ],
    "toolcrib.processes.tree": ["ProcessTree"],
    "toolcrib.profiles": ["Profile"],
    "toolcrib.redaction": ["redacted"],
    "toolcrib.rules": ["arguments_matcher", "literal_rule", "path_matcher", "text_matcher"],
    "toolcrib.runtime": ["Launch", "LocalRuntime", "Runtime"],
    "toolcrib.runtimes": ["Lease", "RuntimeRegistry"],
    "toolcrib.schema": ["Alias"],
    "toolcrib.services": ["Lazy", "ServiceRegistrar"],
    "toolcrib.session": ["Session", "open_session"],
    "toolcrib.shell": ["analyse_command"],
    "toolcrib.shell.model": ["CommandAnalysis"],
    "toolcrib.terminal": ["TerminalText"],
    "toolcrib.validation": ["ArgumentValidator"],
}
_PLACES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_PLACES)]


def __getattr__(name: str) -> object:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'toolcrib' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
