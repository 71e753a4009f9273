import type { CommandHandler } from '../command.ts'
import { askForSettings } from '../tools/ask-for-settings.ts'
import { withCaps } from './with-caps.ts'

/**
 * `familiar caps secret NAME KEY`: asked for unseen, or read from standard input, and kept in the vault. Never taken from
 * the command line, where every process and the shell's history would see it.
 */
export const giveSecret: CommandHandler<{ name: string; key: string }> = async (context, input) => {
  const { output } = context
  const { name, key } = input
  const capability = await withCaps(context, (caps) => caps.show(name))
  const description = capability.permissions.secrets.find((secret) => secret.name === key)?.description ?? ''
  const asked = await askForSettings(context, [{ key, description, is_secret: true, is_required: true, default: null }])
  const kept = await withCaps(context, (caps) => caps.setSecret(name, key, asked[key] ?? ''), { talks: true })
  if (input.json) output.printJson({ name, key, ...kept })
  else if (kept.was_awaited) output.print(`${key} is kept, and the Builder of ${name} goes on.`)
  else output.print(`${key} is kept. ${name} has it from its next call on.`)
  return undefined
}
