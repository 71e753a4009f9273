import type { ToolFieldReply } from '../../protocol/tool-api.ts'
import type { CommandContext } from '../command.ts'
import { interrupted, usageError } from '../command-error.ts'
import { readInput } from '../memory/read-input.ts'
import { openTerminalPrompts } from '../setup-prompts.ts'

/** Values of settings from whoever sits there, secrets unseen; from a pipe, one line for each in the order of the keys. */
export async function askForSettings(
  context: CommandContext,
  fields: readonly ToolFieldReply[],
): Promise<Record<string, string>> {
  if (fields.length === 0) return {}
  return context.stdin.isTTY ? askAtTerminal(fields) : readFromPipe(context, fields)
}

async function askAtTerminal(fields: readonly ToolFieldReply[]): Promise<Record<string, string>> {
  const prompts = await openTerminalPrompts()
  const answers: Record<string, string> = {}
  for (const { key, description, is_secret } of fields) {
    const message = description ? `${key} (${description})` : key
    const validate = (text: string) => (text.trim() === '' ? 'It is empty.' : undefined)
    const answer = is_secret ? await prompts.askSecret({ message, validate }) : await prompts.ask({ message, validate })
    if (answer === undefined) throw interrupted()
    answers[key] = answer
  }
  return answers
}

async function readFromPipe(
  context: CommandContext,
  fields: readonly ToolFieldReply[],
): Promise<Record<string, string>> {
  const lines = (await readInput(context))
    .toString('utf8')
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
  // A secret may be of many lines, such as a key in PEM, where it is all that is asked for.
  const values = fields.length === 1 ? [lines.join('\n')] : lines
  const missing = fields.find((_, at) => (values[at] ?? '') === '')
  if (missing)
    throw usageError(`There is no value for ${missing.key} on standard input.`, 'It takes one line for each.')
  return Object.fromEntries(fields.map(({ key }, at) => [key, values[at] ?? '']))
}
