import type { Conversations, InboundMessage } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Json } from '../protocol/json.ts'
import type { Label } from '../protocol/label.ts'
import type { Database } from '../storage/database.ts'
import type { TriggerRunRow } from '../storage/tables.ts'
import { wrapOutput } from '../tools/contract/run/wrap-output.ts'
import type { ToolRun } from '../tools/contract/tool-catalog.ts'
import { readKeptState, writeKeptState } from './kept-state.ts'
import type { TriggerRuns } from './trigger-runs.ts'
import type { RunTool, TriggeredTool } from './triggered-tool.ts'

/** What is handed in for the owner's main session. Whatever a tool brings is nobody's word (SEC-17). */
export type TriggerMessage = InboundMessage & { label: Extract<Label, 'untrusted'> }

export interface TriggerNeeds {
  run: RunTool
  conversations: Pick<Conversations, 'findSession'> & { submit(message: TriggerMessage): Promise<unknown> }
  database: Database
  clock: Clock
  ownerId: string
  logger: Logger
}

export interface RunToPerform {
  id: string
  kind: TriggerRunRow['kind']
  tool: TriggeredTool
  params: Json
}

const mainContact = 'main'

/** Makes one run that is already written down, and writes down how it ended. Never throws. */
export function createTriggerRunner(needs: TriggerNeeds & { runs: TriggerRuns }) {
  const { conversations, database, ownerId, logger, runs } = needs

  async function perform({ id, kind, tool, params }: RunToPerform, signal: AbortSignal): Promise<string | undefined> {
    const state = await readKeptState(database, tool.name)
    const run = await needs.run({ userId: ownerId, name: tool.name, params, caller: kind, state, signal })
    if (!run.ok) return run.error ?? 'It failed and did not say why.'
    if (run.state !== undefined) await writeKeptState(needs, tool.name, run.state)
    const text = textToTell(tool, run)
    // Without a text there is no message, and without a message no model is called.
    if (text === undefined) return undefined
    const wrapped = wrapOutput(tool.name, text)
    const session = await conversations.findSession(ownerId, mainContact)
    await conversations.submit({
      userId: ownerId,
      channel: session?.channel ?? 'http',
      contact: mainContact,
      sender: `tool:${tool.name}`,
      source: kind,
      text: [tool.prompt.trim(), wrapped].filter((part) => part !== '').join('\n\n'),
      media: [],
      key: `trigger:${id}`,
      immediate: false,
      metadata: { tool: tool.name, run: id },
      label: 'untrusted',
    })
    return undefined
  }

  return async function performRun(run: RunToPerform, signal: AbortSignal): Promise<void> {
    const error = await perform(run, signal).catch((cause: unknown) =>
      signal.aborted ? 'Interrupted: Familiar was stopped.' : describe(cause),
    )
    if (error !== undefined)
      logger.warn('a run that nobody asked for failed', { tool: run.tool.name, run: run.id, error })
    try {
      await runs.finish(run.id, error)
    } catch (cause) {
      // It stays `running` in the list, and the next start closes it.
      logger.error('the end of a run could not be written', { tool: run.tool.name, run: run.id, error: cause })
    }
  }
}

function textToTell(tool: TriggeredTool, run: ToolRun): string | undefined {
  if (!(run.notify ?? tool.notifiesByDefault)) return undefined
  const text = run.text?.trim() || run.card?.text.trim()
  return text === '' ? undefined : text
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
