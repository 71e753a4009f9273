import { FamiliarError } from '../../../../protocol/error.ts'
import type { ToolCallReply, ToolReply, ToolRunReply, ToolSummaryReply } from '../../../../protocol/tool-api.ts'
import type { ToolCallRow } from '../../../../storage/tables.ts'
import type { ToolCatalog, ToolDetails, ToolRun, ToolSummary } from '../../../../tools/contract/tool-catalog.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'

export function nameOf(context: HttpContext): string {
  return context.req.param('name') ?? ''
}

export async function findTool(tools: ToolCatalog, context: HttpContext): Promise<ToolDetails> {
  const details = await tools.show(callerOf(context).userId, nameOf(context))
  if (!details) throw new FamiliarError('not_found', `There is no tool named ${nameOf(context)}.`)
  return details
}

export function summaryReply(summary: ToolSummary): ToolSummaryReply {
  const { name, description, version, category, icon, kind, trigger, status, problem } = summary
  return { name, description, version, category, icon, kind, trigger, status, problem }
}

export function toolReply(details: ToolDetails): ToolReply {
  const { limits, network } = details
  return {
    ...summaryReply(details),
    directory: details.directory,
    parameters: details.parameters,
    configuration: details.configuration.map(({ key, description, isSecret, isRequired, default: byDefault }) => ({
      key,
      description,
      is_secret: isSecret,
      is_required: isRequired,
      default: byDefault,
    })),
    network: { mode: network.mode, declared: [...network.declared], allowed: [...network.allowed] },
    limits: limits && {
      memory_bytes: limits.memoryBytes,
      processes: limits.processes,
      timeout_ms: limits.timeoutMs,
      is_writable: limits.isWritable,
    },
    refused_hosts: [...details.refusedHosts],
    reads_argument: details.readsArgument,
    notes: [...details.notes],
  }
}

export function runReply(run: ToolRun): ToolRunReply {
  const { text, html, title, error, driver, outcome, card, log } = run
  return {
    text,
    html,
    title,
    error,
    budget_remaining: run.budgetRemaining,
    duration_ms: Math.round(run.durationMs),
    driver,
    outcome,
    card,
    notes: [...run.notes],
    log,
  }
}

export function callReply(row: ToolCallRow): ToolCallReply {
  const { id, tool, caller, session_id, turn_id, topic, outcome, duration_ms, budget_remaining, driver, error } = row
  return {
    id,
    tool,
    caller,
    session_id,
    turn_id,
    topic,
    outcome,
    at: isoTime(row.at),
    duration_ms,
    budget_remaining,
    driver,
    error,
  }
}
