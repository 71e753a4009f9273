import { z } from 'zod'
import { sha256 } from '../../base/hash.ts'
import type { TelegramServices } from './telegram-services.ts'

const mostCommands = 100
const takenName = /^[a-z0-9_]{1,32}$/

/** Shows the commands in Telegram's own menu; asked of Telegram only where they are others than it was told last. */
export async function showCommandMenu(
  services: Pick<TelegramServices, 'api' | 'bot' | 'commands' | 'marks' | 'database' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  const { api, bot, commands, marks, database, logger } = services
  const known = commands.list().map(({ name, summary }) => ({ command: name, description: summary.slice(0, 256) }))
  const own = { command: 'new', description: 'begin a new conversation; the old one is kept' }
  const menu = [own, ...known].filter(({ command }) => takenName.test(command)).slice(0, mostCommands)
  const told = `${bot.id}:${sha256(JSON.stringify(menu))}`
  if ((await marks.get(database.read, 'menu', z.string())) === told) return
  const answer = await api.call('setMyCommands', { commands: menu }, { result: z.unknown(), signal })
  if (answer.kind === 'ok') await database.write((writer) => marks.set(writer, 'menu', told))
  else logger.warn('the menu of commands was not set on Telegram', { answer: answer.kind })
}
