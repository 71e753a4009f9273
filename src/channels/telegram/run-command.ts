import { z } from 'zod'
import { type CommandOutcome, parseLine } from '../../agent/commands/command.ts'
import type { Writer } from '../../storage/database.ts'
import { telegramChannel } from './sender.ts'
import type { Handling, TelegramServices } from './services.ts'
import { confirmData } from './updates.ts'

const begunSchema = z.object({
  state: z.enum(['begun', 'done']),
  line: z.string(),
  userId: z.string(),
  chatId: z.int(),
})
const confirmSchema = z.object({ line: z.string(), confirm: z.string(), userId: z.string(), chatId: z.int() })

/** A command line, from a message or from a confirmation. `id` prevents running it twice. */
interface CommandLine {
  id: string
  userId: string
  chatId: number
  line: string
  confirm?: string
}

/**
 * Runs a command once. Its start is written together with the offset: after a crash in the middle it stays started, and
 * the next start reports it, because its progress is unknown.
 */
export async function runCommand(services: TelegramServices, command: CommandLine, handling: Handling): Promise<void> {
  const isNew = await services.database.write(async (writer) => {
    const begun = await beginIn(services, writer, command)
    await handling.move(writer)
    return begun
  })
  if (!isNew) return
  services.onStep('command_begun')
  await services.background.awhile(carryOut(services, command, handling.signal))
}

/** Answers a command's question, once. False if it is no longer open, or was put to another user. */
export async function answerConfirm(
  services: TelegramServices,
  answer: { id: string; userId: string; chatId: number; isYes: boolean },
  handling: Handling,
): Promise<boolean> {
  const { marks, database } = services
  const name = `confirm:${answer.id}`
  const command = await database.write(async (writer): Promise<CommandLine | undefined> => {
    const asked = await marks.get(writer, name, confirmSchema)
    if (!asked || asked.userId !== answer.userId || asked.chatId !== answer.chatId) return undefined
    await marks.take(writer, name)
    const confirmed = { id: `${answer.id}.yes`, ...asked }
    if (answer.isYes) await beginIn(services, writer, confirmed)
    await handling.move(writer)
    return confirmed
  })
  if (!command) return false
  if (answer.isYes) await services.background.awhile(carryOut(services, command, handling.signal))
  return true
}

export async function tellInterrupted(services: TelegramServices): Promise<void> {
  const { database, marks, logger } = services
  const rows = await database.read
    .selectFrom('channel_marks')
    .select('name')
    .where('channel', '=', telegramChannel)
    .where('name', 'like', 'command:%')
    .where('value', 'like', '%"begun"%')
    .execute()
  for (const { name } of rows) {
    const begun = await marks.get(database.read, name, begunSchema)
    if (begun?.state !== 'begun') continue
    const { userId, chatId, line } = begun
    const contact = await services.contacts.find(chatId)
    const text = `I was interrupted while running ${line}. Please check whether it was done.`
    await database.write(async (writer) => {
      if (contact?.userId === userId) await services.tell(writer, { userId, chatId, key: `${name}:cut`, text })
      await marks.set(writer, name, { ...begun, state: 'done' })
    })
    logger.warn('a command from Telegram was interrupted', { command: name })
  }
  if (rows.length > 0) services.wakeOutbox()
}

async function beginIn({ marks }: TelegramServices, writer: Writer, command: CommandLine): Promise<boolean> {
  const { id, userId, chatId, line } = command
  const name = `command:${id}`
  if (await marks.get(writer, name, begunSchema)) return false
  // Only the name of the command: its arguments are not kept.
  await marks.set(writer, name, { state: 'begun', line: `/${parseLine(line)?.name ?? ''}`, userId, chatId })
  return true
}

async function carryOut(services: TelegramServices, command: CommandLine, signal: AbortSignal): Promise<void> {
  const { database, marks, logger, onStep } = services
  const { id, userId, chatId, line } = command
  const sessionId = await sessionOf(services, userId, chatId)
  const outcome = await perform(services, { ...command, sessionId }, signal).catch((error: unknown): CommandOutcome => {
    logger.error('a command from Telegram failed', { command: id, error })
    return { ok: false, text: 'Something went wrong inside Familiar; see its log.' }
  })
  // Stopped in the middle: it stays started, and the next start reports it.
  if (signal.aborted && !outcome.ok) return
  onStep('command_run')
  await database.write(async (writer) => {
    const { question } = outcome
    const isHere = outcome.goesOnIn === undefined || outcome.goesOnIn === String(chatId)
    const said = withoutColumns(outcome.text)
    const text = isHere ? said : `${said}\nThis chat continues in its current conversation.`
    const note = { userId, chatId, key: `command:${id}`, text: text === '' ? 'Done.' : text }
    if (question) await marks.set(writer, `confirm:${id}`, { line, confirm: question.confirm, userId, chatId })
    const choices = [true, false].map((isYes) => {
      return { text: isYes ? 'Yes' : 'No', data: confirmData(id, isYes) }
    })
    await services.tell(writer, question ? { ...note, buttons: choices } : note)
    await marks.set(writer, `command:${id}`, { state: 'done', line: '', userId, chatId })
  })
  services.wakeOutbox()
  onStep('command_answered')
}

async function perform(
  { commands }: TelegramServices,
  command: CommandLine & { sessionId: string | null },
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const { userId, sessionId, confirm } = command
  const run = (line: string, yes?: string) =>
    commands.run({ userId, sessionId, line, by: 'user', signal, ...(yes !== undefined && { confirm: yes }) })
  const name = parseLine(command.line)?.name
  if (name === 'start') {
    const help = await run('/help')
    return { ...help, text: `Write to me here as in any chat.\n\n${help.text}` }
  }
  if (name !== 'new') return await run(command.line, confirm)
  // As in other bots: nothing is deleted, so there is no confirmation.
  if (sessionId === null) return { ok: true, text: 'This is a new conversation.' }
  const asked = await run('/reset')
  return asked.question ? await run('/reset', asked.question.confirm) : asked
}

/** Aligned columns need a monospace font. */
function withoutColumns(text: string): string {
  return text.replaceAll(/^(\/\S.*?) {2,}(\S.*)$/gm, '$1 – $2')
}

/** The conversation of the chat; null before its first message. */
async function sessionOf({ conversations }: TelegramServices, userId: string, chatId: number): Promise<string | null> {
  const sessions = await conversations.sessions(userId)
  const contact = String(chatId)
  return sessions.find((session) => session.channel === telegramChannel && session.contact === contact)?.id ?? null
}
