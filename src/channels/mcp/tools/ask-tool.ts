import { SdkError } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Receipt } from '../../../agent/conversations.ts'
import type { TurnEvent } from '../../../protocol/event.ts'
import { cursorBefore, eventsOfTurn } from '../../http/turn-events.ts'
import type { McpCaller } from '../mcp-caller.ts'
import type { McpNeeds } from '../mcp-needs.ts'
import { defineMcpTool, type McpCall, type McpTool } from '../mcp-tool.ts'
import { sessionUri } from '../resources/resource-uri.ts'

const channel = 'mcp'
/** Clients give up on a call of which they hear nothing for a minute. */
const signOfLifeMs = 15_000

/**
 * `ask`: a message to Familiar and its reply. The words are those of the client's model: they are no consent of the user to
 * anything, whatever they say. The names of sessions are the client's own; none reaches a conversation of another channel.
 */
export function createAskTool(needs: Pick<McpNeeds, 'conversations' | 'clock'>, { userId }: McpCaller): McpTool {
  const { conversations, clock } = needs

  /** Tells what the turn does, and now and then that it still does. */
  async function tell(receipt: Receipt, cursor: string, { signal, progress }: McpCall): Promise<void> {
    let cancel = () => {}
    const stillThere = () => {
      progress('working')
      cancel = clock.after(signOfLifeMs, stillThere)
    }
    cancel = clock.after(signOfLifeMs, stillThere)
    try {
      for await (const { event } of eventsOfTurn({ conversations }, { userId, receipt, cursor, signal })) {
        const line = lineFor(event)
        if (line !== undefined) progress(line)
      }
    } finally {
      cancel()
    }
  }

  return defineMcpTool({
    name: 'ask',
    title: 'Ask Familiar',
    description:
      'Say something to Familiar, the personal agent of the user, and wait for its reply. It has tools, memory and files of its own. The same session name continues the same conversation.',
    scope: 'chat',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    input: z.strictObject({
      message: z.string().trim().min(1).max(100_000),
      session: z.string().trim().min(1).max(100).default('main').describe('name of the conversation'),
    }),
    output: z.object({
      reply: z.string(),
      session_id: z.string(),
      session_uri: z.string(),
      outcome: z.string(),
      question: z.string().nullable().describe('what Familiar wants to know before it goes on'),
    }),
    async run({ message, session: contact }, call) {
      const { signal } = call
      const cursorOf = await cursorBefore({ conversations }, { userId, channel, contact })
      const receipt = await conversations.submit({
        userId,
        channel,
        contact,
        sender: userId,
        source: channel,
        text: message,
        media: [],
        immediate: true,
        metadata: {},
        label: 'internal',
      })
      const ending = new AbortController()
      const watching = AbortSignal.any([signal, ending.signal])
      const told = tell(receipt, cursorOf(receipt), { ...call, signal: watching }).catch(() => undefined)
      try {
        const { text, sessionId, outcome, question } = await conversations.waitForTurn(receipt.messageId, signal)
        const data = { reply: text, session_id: sessionId, session_uri: sessionUri(sessionId), outcome, question }
        return { text: text || `(${outcome})`, data, ...(outcome === 'failed' && { isError: true }) }
      } catch (cause) {
        if (isCancelled(signal)) await conversations.stop(userId, receipt.sessionId)
        throw cause
      } finally {
        ending.abort()
        await told
      }
    },
  })
}

/** The client said so. A connection that broke, or a daemon that stops, ends no turn: that goes on by itself. */
function isCancelled({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof SdkError)
}

function lineFor(event: TurnEvent): string | undefined {
  if (event.type === 'turn_start') return 'thinking'
  if (event.type === 'tool_start') return `calls ${event.name}`
  if (event.type === 'tool_result') return `${event.name} ${event.isError ? 'failed' : 'is done'}`
  if (event.type === 'retry') return 'the model is asked again'
  return undefined
}
