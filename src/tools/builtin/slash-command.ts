import { z } from 'zod'
import { sha256 } from '../../base/hash.ts'
import { readSpokenAnswer } from '../../policy/spoken-answer.ts'
import type { Label } from '../../protocol/label.ts'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool, ToolContext } from '../tool.ts'

/** The commands of the chat, as far as a tool needs them. */
export interface AgentCommands {
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
  }>
}

/**
 * What the agent may do of that which the user types. Whatever changes something for good is asked of the user, and done
 * only where they have said yes, and nothing else, to exactly that question: a model cannot say it for them.
 */
export function createSlashCommand({ commands }: { commands: AgentCommands }): Tool {
  return defineTool({
    name: 'slash_command',
    description: 'Run a chat command, such as "/pin LABEL", "/compact LABEL", "/history 20". "/help" lists them.',
    input: z.object({ command: z.string().min(1) }),
    effect: 'at-most-once',
    serial: true,
    reach: ({ command }) => ({ kind: commands.acts(lineOf(command)) ? 'acts' : 'reads', destination: null }),
    async run({ command }, context) {
      const { userId, sessionId, userText, seen, signal } = context
      const outcome = await commands.run({
        userId,
        sessionId,
        line: lineOf(command),
        by: 'agent',
        trust: seen.untrusted ? 'untrusted' : 'internal',
        confirm: confirmedBy(context),
        signal,
      })
      const { ok, text, question, label, isPrivate } = outcome
      const told = { ...(label && { label }), ...(isPrivate && { isPrivate }) }
      if (!question) return { text, isError: !ok, ...told }
      // An automated message has nobody who could answer.
      if (userText.trim() === '') return failed('Not done: only the user can say yes to it, and nobody is here to ask.')
      return { text: 'Not done yet: the user is asked.', isError: false, question: question.text, ...told }
    },
  })
}

/** What stands for a question where the answer to it comes back: the same for the same words, and for no others. */
export function confirmationOf(question: string): string {
  return sha256(question).slice(0, 32)
}

function confirmedBy({ userText, answers }: Pick<ToolContext, 'userText' | 'answers'>): string | undefined {
  return answers !== null && readSpokenAnswer(userText) === 'approve' ? confirmationOf(answers) : undefined
}

/** Models leave the slash out as often as not. */
function lineOf(command: string): string {
  const line = command.trim()
  return line.startsWith('/') ? line : `/${line}`
}
