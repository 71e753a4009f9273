import { resolve } from 'node:path'
import type { CommandHandler } from '../command.ts'
import { withCapsOnce } from './with-caps.ts'

/** `familiar caps export NAME DIRECTORY`: a folder that Familiar, and whoever reads Agent Skills, can take in. */
export const exportCapability: CommandHandler<{ name: string; directory: string }> = async (context, input) => {
  const { output } = context
  const exported = await withCapsOnce(context, (caps) => caps.export(input.name, resolve(input.directory)))
  if (input.json) output.printJson({ name: input.name, ...exported })
  else output.print(`${exported.directory}: ${exported.files.join(', ')}`)
  return undefined
}
