import { z } from 'zod'
import { sha256 } from '../../base/ids.ts'
import type { Label, MediaPart } from '../../protocol/messages.ts'
import { readSpokenAnswer } from '../../security/spoken-answer.ts'
import { defineTool, failed, type Tool } from '../tool.ts'
import type { BlockRefusals } from './file-tools.ts'

/** `conversation`: it is only in the conversation, and no channel delivers it. */
interface MessageState {
  state: 'conversation' | 'queued' | 'sent' | 'failed'
  channel?: string
  reason?: string
}

/** Sends a message over the user's channels, whatever the turn's source. The same call is sent once. */
export type MessageUser = (message: {
  userId: string
  sessionId: string
  callId: string
  text: string
  signal: AbortSignal
}) => Promise<MessageState>

/** Sends text immediately, while the turn continues. Without `messageUser` it is only in the conversation. */
export function createMessage({ messageUser }: { messageUser?: MessageUser | undefined } = {}): Tool {
  return defineTool({
    name: 'message',
    description: 'Send the user a message now, before you finish. Not for the answer itself.',
    input: z.object({ text: z.string().trim().min(1).max(4_000) }),
    effect: 'idempotent',
    async run({ text }, { userId, sessionId, callId, signal }) {
      const sent = (await messageUser?.({ userId, sessionId, callId, text, signal })) ?? { state: 'conversation' }
      return { text: describe(sent), isError: sent.state === 'failed', says: text }
    },
  })
}

function describe({ state, channel, reason }: MessageState): string {
  switch (state) {
    case 'sent':
      return `Sent to the user on ${channel}.`
    case 'queued':
      return `Queued for the user on ${channel}; delivery is not confirmed yet.`
    case 'failed':
      return `Not sent on ${channel}: ${reason ?? 'no reason was given'}. It is only in this conversation.`
    case 'conversation':
      return 'It is in this conversation, where the user can read it. No other channel reaches them.'
  }
}

/** Stores a tool's file, once under the hash of its content. */
export type PutMedia = (file: { name: string; mediaType: string; data: Uint8Array }) => Promise<MediaPart>

interface AgentCommands {
  /** Whether the line would change something without asking first, decided by the line alone. */
  acts(line: string): boolean
  run(request: {
    userId: string
    sessionId: string
    line: string
    by: 'agent'
    trust: Label
    confirm?: string | undefined
    signal: AbortSignal
  }): Promise<{
    ok: boolean
    text: string
    question?: { text: string }
    label?: 'untrusted'
    isPrivate?: true
    isOverBudget?: true
  }>
}

const pinning = /^\s*\/?pin\s/i

/** A permanent change needs the user's yes, and nothing else, to exactly that question. A model cannot say it. */
export function createSlashCommand(needs: { commands: AgentCommands; refusals: BlockRefusals }): Tool {
  const { commands, refusals } = needs

  return defineTool({
    name: 'slash_command',
    description: 'Run a chat command, such as "/pin LABEL", "/compact LABEL", "/history 20". "/help" lists them.',
    input: z.object({ command: z.string().min(1) }),
    effect: 'at-most-once',
    serial: true,
    reach: ({ command }) => ({ kind: commands.acts(lineOf(command)) ? 'later' : 'read', destination: null }),
    async run({ command }, { userId, sessionId, turnId, userText, answers, seen, signal }) {
      const closed = pinning.test(command) && refusals.closed(turnId)
      if (closed) return failed(closed)
      const { ok, text, question, label, isPrivate, isOverBudget } = await commands.run({
        userId,
        sessionId,
        line: lineOf(command),
        by: 'agent',
        trust: seen.untrusted ? 'untrusted' : 'internal',
        // Only a yes, and nothing else, confirms what was asked.
        confirm: answers !== null && readSpokenAnswer(userText) === 'approve' ? confirmationOf(answers) : undefined,
        signal,
      })
      if (isOverBudget) return refusals.refuse(turnId, text)
      const told = { ...(label && { label }), ...(isPrivate && { isPrivate }) }
      if (!question) return { text, isError: !ok, ...told }
      // An automated message has no user who could answer.
      if (userText.trim() === '') return failed('Not done: it needs a confirmation, and no user is present to ask.')
      return {
        text: 'Not done yet: the user has been asked to confirm.',
        isError: false,
        question: question.text,
        ...told,
      }
    },
  })
}

/** Identifies a question when its answer arrives: the same for the same words, and for no others. */
export function confirmationOf(question: string): string {
  return sha256(question).slice(0, 32)
}

/** Models often omit the slash. */
function lineOf(command: string): string {
  const line = command.trim()
  return line.startsWith('/') ? line : `/${line}`
}
